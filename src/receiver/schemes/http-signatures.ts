/**
 * HTTP Message Signatures (RFC 9421) with Content-Digest (RFC 9530), algorithms `ed25519` and `hmac-sha256`.
 *
 * A signature protects only what it covers, so a receiver defines what must be covered; that always includes the body,
 * through its digest. A message may have several signatures, for example during a rotation or from gateways; one valid
 * signature is sufficient.
 */
import { type ContentDigest, parseContentDigest } from "../../core/signing/content-digest-field.ts";
import { buildSignatureBase } from "../../core/signing/signature-base.ts";
import {
  type LabelledSignature,
  parseSignatures,
  type SignatureInput,
} from "../../core/signing/signature-input.ts";
import type { SignedMessage } from "../../core/signing/signed-message.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message/message.ts";
import { utf8 } from "../providers/bytes.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";
import { misconfigured, type ToleranceOptions, toleranceOf } from "../providers/options.ts";
import { ageProblem, isRejected, type Rejected, rejected } from "../providers/reading.ts";
import { replayIdOf } from "../providers/replay-id.ts";
import { firstMatch, firstVerified } from "./first-match.ts";
import {
  type FoundKey,
  type HttpSignatureKey,
  type KeyIndex,
  prepareKeyIndex,
} from "./http-signature-keys.ts";
import { publicOriginOf, targetUriOf } from "./target-uri.ts";

/** `toleranceSeconds` defaults to 300 and applies to `created`. */
export interface HttpSignaturesOptions extends ToleranceOptions {
  readonly keys: readonly HttpSignatureKey[];
  /**
   * Scheme and host of `@target-uri` as senders use them, such as `https://hooks.example.com`. Always set it with
   * public keys. Without it the Host header is trusted, so another receiver of the same sender could forward messages
   * that were signed for itself, with its own name in that header.
   */
  readonly publicOrigin?: string | undefined;
  /**
   * Component names that a signature must cover. Default: `@method`, `@target-uri`, `content-type`, `content-digest`,
   * `idempotency-key`. `content-digest` is always required.
   */
  readonly requiredComponents?: readonly string[] | undefined;
  /** Accepts only signatures with this `tag`. Default: any. */
  readonly tag?: string | undefined;
}

const requiredByDefault = ["@method", "@target-uri", "content-type", "content-digest", "idempotency-key"];

interface Settings {
  readonly crypto: ReceiverCrypto;
  readonly toleranceSeconds: number;
  readonly publicOrigin: string | null;
  /** Quoted component identifiers. */
  readonly required: readonly string[];
  readonly tag: string | null;
}

/** Throws ReceiverError `misconfigured` for options that cannot work. The scheme signs no message id. */
export function prepareHttpSignaturesVerifier(
  crypto: ReceiverCrypto,
  options: HttpSignaturesOptions,
): MessageVerifier {
  const keyIndex = prepareKeyIndex(crypto, options.keys);
  const settings: Settings = {
    crypto,
    toleranceSeconds: toleranceOf(options),
    publicOrigin: publicOriginOf(options.publicOrigin),
    required: requiredOf(options.requiredComponents ?? requiredByDefault),
    tag: options.tag ?? null,
  };
  return {
    verify(message, { nowSeconds }) {
      const signatures = signaturesOf(message, settings);
      if (isRejected(signatures)) return signatures;
      return andThen(keyIndex(), (keys) =>
        firstVerified(signatures, (signed) => verifyOne({ settings, keys, message, signed, nowSeconds })),
      );
    },
  };
}

function requiredOf(names: readonly string[]): readonly string[] {
  return [...new Set([...names, "content-digest"])].map((name) => {
    if (!/^@?[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) {
      throw misconfigured("a required component must be a lower-case name, such as @method or content-type");
    }
    return `"${name}"`;
  });
}

function signaturesOf(message: ReceivedMessage, { tag }: Settings): readonly LabelledSignature[] | Rejected {
  const signatureInput = message.headers.get("signature-input")?.trim() ?? "";
  const signature = message.headers.get("signature")?.trim() ?? "";
  if (signatureInput === "") return rejected("missing_header", "Signature-Input is missing");
  if (signature === "") return rejected("missing_header", "Signature is missing");
  const parsed = parseSignatures({ signatureInput, signature });
  if (parsed.kind === "malformed") return rejected("malformed_header", parsed.detail);
  const ours = parsed.signatures.filter(({ input }) => tag === null || input.tag === tag);
  return ours.length > 0 ? ours : rejected("missing_header", "there is no signature with the expected tag");
}

interface Claim {
  readonly settings: Settings;
  readonly keys: KeyIndex;
  readonly message: ReceivedMessage;
  readonly signed: LabelledSignature;
  readonly nowSeconds: number;
}

/**
 * Checks from the cheapest to the most expensive. Without a known `keyid`, an attacker cannot cause any computation.
 */
function verifyOne(claim: Claim): MaybePromise<Verification> {
  const { input } = claim.signed;
  const key = input.keyid === null ? null : claim.keys(input.keyid);
  if (key === null) return rejected("unknown_key", `${input.label}: keyid does not match a known key`);
  if (input.alg !== null && input.alg !== key.algorithm) {
    return rejected(
      "wrong_key_kind",
      `${input.label}: the key is for ${key.algorithm}, not for the given alg`,
    );
  }
  const problem = coverageProblem(input, claim.settings) ?? freshnessProblem(input, claim);
  if (problem !== null) return problem;
  const field = claim.message.headers.get("content-digest");
  if (field === null) return rejected("missing_header", "Content-Digest is missing");
  const parsed = parseContentDigest(field);
  if (parsed.kind === "malformed") return rejected("malformed_header", parsed.detail);
  return andThen(mismatch(claim, parsed.digests), (digest) => {
    if (digest === null) return verifySignature(claim, key);
    return rejected(
      "body_altered",
      `the body does not have the ${digest.algorithm} digest of Content-Digest`,
    );
  });
}

function coverageProblem(input: SignatureInput, { required }: Settings): Rejected | null {
  const uncovered = required.filter((component) => !input.components.includes(component));
  if (uncovered.length === 0) return null;
  return rejected("malformed_header", `${input.label} does not cover ${uncovered.join(" ")}`);
}

function freshnessProblem(input: SignatureInput, { settings, nowSeconds }: Claim): Rejected | null {
  if (input.created === null) return rejected("malformed_header", `${input.label} has no created`);
  if (input.expires !== null && !(nowSeconds <= input.expires)) {
    return rejected("too_old", `expired ${nowSeconds - input.expires} s ago`);
  }
  return ageProblem(input.created, nowSeconds, settings.toleranceSeconds);
}

/** The first digest that does not match the body; all digests of known algorithms must match. */
function mismatch(
  { settings: { crypto }, message }: Claim,
  digests: readonly ContentDigest[],
): MaybePromise<ContentDigest | null> {
  return firstMatch(digests, ({ algorithm, digest }) => {
    const hash = algorithm === "sha-256" ? "sha256" : "sha512";
    return andThen(crypto.digest({ hash, data: message.body }), (actual) => !crypto.equal(actual, digest));
  });
}

function verifySignature(claim: Claim, { key, algorithm, producer }: FoundKey): MaybePromise<Verification> {
  const { settings, signed } = claim;
  const base = buildSignatureBase(signedMessage(claim), signed.input);
  if (base.kind === "unavailable") {
    return rejected(
      "missing_header",
      `${signed.input.label} covers ${base.component}, which has no value here`,
    );
  }
  const { crypto } = settings;
  const data = [utf8(base.text)];
  const { signature } = signed;
  const fits: MaybePromise<boolean> =
    key.kind === "ed25519"
      ? crypto.verifyEd25519({ publicKey: key.bytes, signature, data })
      : andThen(crypto.hmac({ hash: "sha256", key: key.bytes, data }), (mac) => crypto.equal(mac, signature));
  return andThen(fits, (isSigned): MaybePromise<Verification> => {
    if (!isSigned) return noMatch(claim);
    const { created: timestampSeconds, components } = signed.input;
    const scheme = `rfc9421-${algorithm}`;
    const verified = { kind: "verified", scheme, producer, messageId: null, timestampSeconds } as const;
    if (components.includes('"idempotency-key"')) return { ...verified, isKeyAuthentic: true };
    return andThen(replayIdOf(crypto, data), (replayId) => ({ ...verified, replayId }));
  });
}

function signedMessage({ message, settings }: Claim): SignedMessage {
  return {
    method: message.method,
    targetUri: targetUriOf(message, settings.publicOrigin),
    requestTarget: message.url,
    fieldLines: (name) => {
      const value = message.headers.get(name);
      return value === null ? [] : [value];
    },
  };
}

function noMatch({ signed, settings }: Claim): Verification {
  const hint = settings.publicOrigin === null ? "; behind a proxy, set publicOrigin" : "";
  const detail = `${signed.input.label} does not match its key, or a covered part was altered${hint}`;
  return rejected("no_matching_signature", detail);
}

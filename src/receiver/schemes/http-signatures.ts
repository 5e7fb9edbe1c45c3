import { encodeBase64Url } from "../../domain/base64.ts";
import { type ContentDigest, parseContentDigest } from "../../domain/signing/content-digest.ts";
import {
  buildSignatureBase,
  type LabelledSignature,
  parseSignatures,
  type SignatureInput,
  type SignedMessage,
} from "../../domain/signing/signature-base.ts";
import { andThen, type MaybePromise, type ReceiverCrypto, whenAll } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message/message.ts";
import { keyTexts, toleranceOf, type ToleranceOptions } from "../providers/options.ts";
import { ageProblem, isRejected, type Rejected, rejected, replayIdOf, utf8 } from "../providers/reading.ts";
import { firstMatch, firstVerified } from "./first-match.ts";
import { readVerificationKey, type VerificationKey } from "./key-text.ts";
import { misconfigured } from "../receiver-error.ts";

/** Keys for HTTP Message Signatures, looked up by `keyid`. */

/** One key of one producer. */
export interface HttpSignatureKey {
  /** `whpk_…` for `ed25519`, `whsec_…` for `hmac-sha256`. */
  readonly key: string;
  /**
   * `keyid` of the key's signatures. Defaults to the RFC 7638 thumbprint for a public key; required for a shared
   * secret.
   */
  readonly keyId?: string | undefined;
  /** Defaults to `default`. */
  readonly producer?: string | undefined;
}

interface FoundKey {
  readonly producer: string;
  readonly key: VerificationKey;
  /** Name in RFC 9421's registry of algorithms. */
  readonly algorithm: "ed25519" | "hmac-sha256";
}

/** Finds a key; null for an unknown `keyid`. */
type KeyIndex = (keyId: string) => FoundKey | null;

interface ReadKey extends FoundKey {
  readonly keyId: string | null;
}

const keysMax = 1024;

/**
 * Parses all keys now, and builds the index on first use: thumbprints need a hash, which may be a promise. Throws
 * ReceiverError `misconfigured`.
 */
function prepareKeyIndex(
  crypto: ReceiverCrypto,
  keys: readonly HttpSignatureKey[],
): () => MaybePromise<KeyIndex> {
  if (!Array.isArray(keys) || keys.length === 0)
    throw misconfigured(
      "keys must be a list of at least one key, such as [{ key: process.env.WEBHOOK_PUBLIC_KEY }]",
    );
  if (keys.length > keysMax) throw misconfigured(`no more than ${keysMax} keys can be given`);
  const read = keys.map(readKey);
  const names = read.flatMap(({ keyId }) => keyId ?? []);
  if (new Set(names).size !== names.length) throw misconfigured("two keys have the same keyId");
  let index: MaybePromise<KeyIndex> | null = null;
  return () => {
    index ??= makeIndex(crypto, read);
    return index;
  };
}

function readKey({ key: text, keyId: given, producer = "default" }: HttpSignatureKey): ReadKey {
  const keyId = given ?? null;
  const [keyText = ""] = keyTexts(text, "key of an entry of keys");
  const key = readVerificationKey(keyText);
  if (keyId !== null && !/^[\x20-\x7e]{1,255}$/.test(keyId)) {
    throw misconfigured("a keyId must be 1 to 255 printable ASCII characters");
  }
  if (key.kind === "ed25519") return { producer, key, keyId, algorithm: "ed25519" };
  if (keyId === null) throw misconfigured("a shared secret (whsec_) needs the keyId that its sender uses");
  return { producer, key, keyId, algorithm: "hmac-sha256" };
}

function makeIndex(crypto: ReceiverCrypto, keys: readonly ReadKey[]): MaybePromise<KeyIndex> {
  const keyIds = keys.map(({ keyId, key }) => keyId ?? thumbprint(crypto, key.bytes));
  return andThen(whenAll(keyIds), (names) => {
    const found = new Map<string, FoundKey>();
    for (const [position, key] of keys.entries()) found.set(names[position] ?? "", key);
    return (keyId: string) => found.get(keyId) ?? null;
  });
}

/** RFC 7638: the hash of the JWK's required members in the defined order. */
function thumbprint(crypto: ReceiverCrypto, publicKey: Uint8Array): MaybePromise<string> {
  const jwk = JSON.stringify({ crv: "Ed25519", kty: "OKP", x: encodeBase64Url(publicKey) });
  return andThen(crypto.digest("sha256", utf8(jwk)), encodeBase64Url);
}

/**
 * The URL of a request as its sender used it, reconstructed from the request. Behind a proxy only the application knows
 * the scheme and host, so they can be configured. Without that configuration, an absolute URL is used unchanged, and a
 * path gets the Host header, with `https` unless the host is this machine. Forwarding headers are ignored, because any
 * sender can set them.
 */
function targetUriOf(message: ReceivedMessage, publicOrigin: string | null): string {
  const { url } = message;
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url)?.[0];
  const pathAndQuery = (absolute === undefined ? url : url.slice(absolute.length)).replace(/#.*$/s, "");
  return `${publicOrigin ?? absolute ?? originFromHost(message)}${pathAndQuery}`;
}

function originFromHost({ headers }: ReceivedMessage): string {
  const host = headers.get("host")?.trim() ?? "";
  const isThisMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(host);
  return `${isThisMachine ? "http" : "https"}://${host}`;
}

/**
 * Validates the option: scheme, host, and optionally the part of the path that a proxy removes. A trailing slash is
 * dropped. Null if it was not given. Throws ReceiverError `misconfigured`.
 */
function publicOriginOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  if (typeof given === "string" && /^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/i.test(given)) {
    return given.endsWith("/") ? given.slice(0, -1) : given;
  }
  throw misconfigured("publicOrigin must be scheme and host, such as https://hooks.example.com");
}

// HTTP Message Signatures (RFC 9421) with Content-Digest (RFC 9530), algorithms `ed25519` and `hmac-sha256`.
//
// A signature protects only what it covers, so a receiver defines what must be covered; that always includes the body,
// through its digest. A message may have several signatures, for example during a rotation or from gateways; one valid
// signature is sufficient.

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
   * Component names that a signature must cover. Defaults to `@method`, `@target-uri`, `content-type`,
   * `content-digest`, `idempotency-key`. `content-digest` is always required.
   */
  readonly requiredComponents?: readonly string[] | undefined;
  /** Accepts only signatures with this `tag`. By default, any tag is accepted. */
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

/** Throws ReceiverError `misconfigured` for options that cannot work. The scheme does not sign a message id. */
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
  const parsed = parseSignatures(signatureInput, signature);
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
    return andThen(crypto.digest(hash, message.body), (actual) => !crypto.equal(actual, digest));
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
      ? crypto.verifyEd25519(key.bytes, signature, data)
      : andThen(crypto.hmac("sha256", key.bytes, data), (mac) => crypto.equal(mac, signature));
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

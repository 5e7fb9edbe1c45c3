/** Standard Webhooks: `v1` (HMAC-SHA256) and `v1a` (Ed25519) over `{id}.{timestamp}.{body}`. */
import { decodeBase64 } from "../../domain/base64.ts";
import { isSignableMessageId } from "../../domain/signing/schemes.ts";
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, Verification } from "../message/message.ts";
import { toleranceOf, type ToleranceOptions } from "../providers/options.ts";
import { headerOf, isRejected, rejected, timestampOf, utf8 } from "../providers/reading.ts";
import { type ByProducer, firstMatch, readByProducer } from "./first-match.ts";
import { readVerificationKey, type VerificationKey } from "./key-text.ts";

/** `toleranceSeconds` defaults to 300. */
export interface StandardWebhooksOptions extends ToleranceOptions {
  /** `whsec_…`, with or without the prefix, for `v1`; `whpk_…` for `v1a`. A signature with any of them is accepted. */
  readonly keys: ByProducer;
}

const signatureBytes = { v1: 32, v1a: 64 } as const;
/** More entries than any rotation needs. Limits the work that an attacker can cause. */
const signaturesMax = { v1: 32, v1a: 8 } as const;
/**
 * Each `v1a` signature may have to be tried with each public key, which takes a tenth of a millisecond or more. With
 * many keys fewer signatures are checked, but at least two: during a rotation a sender signs with the old and the new
 * key.
 */
const ed25519TrialsMax = 32;
const rotatingSignatures = 2;

interface ProducerKey {
  readonly producer: string;
  readonly value: VerificationKey;
}

interface Signatures {
  readonly v1: readonly Uint8Array[];
  readonly v1a: readonly Uint8Array[];
}

/** Message id: `Webhook-ID`. Throws ReceiverError `misconfigured` for keys that cannot verify. */
export function prepareStandardWebhooksVerifier(
  crypto: ReceiverCrypto,
  options: StandardWebhooksOptions,
): MessageVerifier {
  const keys = readByProducer(options.keys, "keys", readVerificationKey);
  const toleranceSeconds = toleranceOf(options);
  const publicKeys = keys.filter(({ value }) => value.kind === "ed25519").length;
  const v1aMax = Math.max(rotatingSignatures, Math.floor(ed25519TrialsMax / Math.max(1, publicKeys)));
  const counts = { ...signaturesMax, v1a: Math.min(signaturesMax.v1a, v1aMax) };
  return {
    verify(message, { nowSeconds }) {
      const messageId = headerOf(message, "Webhook-ID");
      if (isRejected(messageId)) return messageId;
      const time = headerOf(message, "Webhook-Timestamp");
      if (isRejected(time)) return time;
      const header = headerOf(message, "Webhook-Signature");
      if (isRejected(header)) return header;
      // If the ID could contain a period, bytes could move from the body to the ID without changing the signature.
      if (!isSignableMessageId(messageId)) {
        return rejected("bad_message_id", "Webhook-ID contains a period or other invalid characters");
      }
      const timestampSeconds = timestampOf(time, nowSeconds, toleranceSeconds);
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signatures = signaturesIn(header, counts);
      const data = [utf8(`${messageId}.${time}.`), message.body];
      const signer = firstMatch(keys, (key) => hasSigned(crypto, key.value, signatures, data));
      return andThen(signer, (key): Verification => {
        if (key === null) return unsigned(keys, signatures);
        const { producer } = key;
        return { kind: "verified", scheme: schemeOf(key.value), producer, messageId, timestampSeconds };
      });
    },
  };
}

/** Entries of other schemes and of other lengths are ignored. */
function signaturesIn(header: string, counts: Readonly<Record<"v1" | "v1a", number>>): Signatures {
  const found: { readonly v1: Uint8Array[]; readonly v1a: Uint8Array[] } = { v1: [], v1a: [] };
  for (const entry of header.split(" ")) {
    const scheme = schemeOfEntry(entry);
    if (scheme === null || found[scheme].length >= counts[scheme]) continue;
    const bytes = decodeBase64(entry.slice(scheme.length + 1));
    if (bytes?.length === signatureBytes[scheme]) found[scheme].push(bytes);
  }
  return found;
}

function schemeOfEntry(entry: string): "v1" | "v1a" | null {
  if (entry.startsWith("v1,")) return "v1";
  return entry.startsWith("v1a,") ? "v1a" : null;
}

function schemeOf(key: VerificationKey): "v1" | "v1a" {
  return key.kind === "shared" ? "v1" : "v1a";
}

function hasSigned(
  crypto: ReceiverCrypto,
  key: VerificationKey,
  signatures: Signatures,
  data: readonly Uint8Array[],
): MaybePromise<boolean> {
  if (key.kind === "ed25519") {
    const verify = (signature: Uint8Array): MaybePromise<boolean> =>
      crypto.verifyEd25519(key.bytes, signature, data);
    return andThen(firstMatch(signatures.v1a, verify), (signature) => signature !== null);
  }
  if (signatures.v1.length === 0) return false;
  return andThen(crypto.hmac("sha256", key.bytes, data), (expected) =>
    signatures.v1.some((signature) => crypto.equal(signature, expected)),
  );
}

/**
 * The rejection of a message without a valid signature. It says whether any signature was of a kind that the keys can
 * verify.
 */
function unsigned(keys: readonly ProducerKey[], signatures: Signatures): Verification {
  if (signatures.v1.length === 0 && signatures.v1a.length === 0) {
    return rejected("malformed_header", "Webhook-Signature has no v1 or v1a signature in padded base64");
  }
  if (keys.some(({ value }) => signatures[schemeOf(value)].length > 0)) {
    return rejected(
      "no_matching_signature",
      "no signature matches a key: a different key was used, or the message was altered",
    );
  }
  const detail =
    signatures.v1.length === 0
      ? "the message is signed with v1a, which needs the sender's public key (whpk_)"
      : "the message is signed with v1, which needs the shared secret (whsec_)";
  return rejected("wrong_key_kind", detail);
}

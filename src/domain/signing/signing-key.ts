/**
 * Standard Webhooks keys as text, and back.
 *
 * | Prefix | Key | Bytes before base64 |
 * |---|---|---|
 * | `whsec_` | shared secret for `v1` (HMAC-SHA256) | 24 to 64 |
 * | `whsk_` | private key for `v1a` (Ed25519) | 32 (seed), or 64 (seed, then public key) |
 * | `whpk_` | public key for `v1a` | 32 |
 *
 * Reasons and details never contain key material, because they are used in logs and API responses (TS16-78). Sources of
 * randomness are passed in; callers pass a secure one (TS16-75).
 */
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

/**
 * Minimum and maximum size of a shared secret (TS16-63, TS16-75). 64 is also the block size of SHA-256, on which
 * signing relies.
 */
const symmetricKeyBytesMin = 24;
const symmetricKeyBytesMax = 64;

/** Size of generated secrets: as strong as the hash, and short enough to paste. */
const symmetricKeyBytesGenerated = 32;
const ed25519KeyBytes = 32;

/** Shared secret, 24 to 64 bytes. */
export interface SymmetricKey {
  readonly kind: "symmetric";
  readonly bytes: Uint8Array;
}

/** Ed25519 key pair: two times 32 bytes. */
export interface AsymmetricKey {
  readonly kind: "asymmetric";
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** Ed25519 public key, 32 bytes. It can only verify. */
export interface PublicKey {
  readonly kind: "public";
  readonly bytes: Uint8Array;
}

/** A key that can sign. */
export type SigningKey = SymmetricKey | AsymmetricKey;

/** Stable codes for why a string is not a key. */
const keyProblemReasons = [
  "not_text",
  "unknown_prefix",
  "wrong_key_type",
  "not_base64",
  "too_short",
  "too_long",
  "wrong_length",
  "halves_mismatch",
] as const;
export type KeyProblemReason = (typeof keyProblemReasons)[number];

/** A refused key. `detail` is a human-readable sentence and reveals only the length of the key. */
export interface InvalidKey {
  readonly kind: "invalid";
  readonly reason: KeyProblemReason;
  readonly detail: string;
}

type Decoded = { readonly kind: "decoded"; readonly bytes: Buffer } | InvalidKey;

/** Parses a key that starts with `whsec_` or `whsk_`; no other form is accepted from users. The result is a copy. */
export function parseSecret(text: unknown): SigningKey | InvalidKey {
  if (typeof text !== "string") return invalid("not_text", "a key must be a string");
  if (text.startsWith("whsec_")) return parseSymmetric(text.slice("whsec_".length));
  if (text.startsWith("whsk_")) return parseAsymmetric(text.slice("whsk_".length));
  if (text.startsWith("whpk_")) {
    return invalid("wrong_key_type", "this is a public key (whpk_); signing needs whsec_ or whsk_");
  }
  return invalid("unknown_prefix", "a secret starts with whsec_ or whsk_");
}

/** Parses a key that starts with `whpk_` (TS16-66). */
export function parsePublicKey(text: unknown): PublicKey | InvalidKey {
  if (typeof text !== "string") return invalid("not_text", "a key must be a string");
  if (text.startsWith("whsec_") || text.startsWith("whsk_")) {
    return invalid("wrong_key_type", "this is a secret; a public key starts with whpk_");
  }
  if (!text.startsWith("whpk_")) {
    return invalid("unknown_prefix", "a public key starts with whpk_");
  }
  const decoded = decodeBase64(text.slice("whpk_".length));
  if (decoded.kind === "invalid") return decoded;
  const { bytes } = decoded;
  if (bytes.length === ed25519KeyBytes) return { kind: "public", bytes };
  return invalid("wrong_length", `a public key has 32 bytes, but this one has ${bytes.length}`);
}

/** Creates a `whsec_` key from 32 random bytes. `random` returns the given number of secure random bytes. */
export function generateSymmetricSecret(random: (bytes: number) => Uint8Array): string {
  return symmetricSecretText(random(symmetricKeyBytesGenerated));
}

/** Creates an Ed25519 key pair: the `whsk_` key contains seed and public key, and the `whpk_` key is for consumers. */
export function generateEd25519Key(random: (bytes: number) => Uint8Array): {
  readonly secret: string;
  readonly publicKey: string;
} {
  const seed = random(ed25519KeyBytes);
  const publicKey = publicKeyOfSeed(seed);
  return {
    secret: asymmetricSecretText({ kind: "asymmetric", seed, publicKey }),
    publicKey: publicKeyText(publicKey),
  };
}

/** A `whsec_` key of 24 to 64 bytes. Throws a RangeError for other lengths, which are a bug in the caller. */
export function symmetricSecretText(bytes: Uint8Array): string {
  if (bytes.length < symmetricKeyBytesMin || bytes.length > symmetricKeyBytesMax) {
    throw new RangeError(`a shared secret has 24 to 64 bytes, not ${bytes.length}`);
  }
  return `whsec_${base64(bytes)}`;
}

/** A `whsk_` key in the 64-byte form (seed, then public key), which every known implementation reads. */
export function asymmetricSecretText(key: AsymmetricKey): string {
  return `whsk_${base64(Buffer.concat([key.seed, key.publicKey]))}`;
}

/** The `whpk_` key for the 32 bytes of a public key. */
export function publicKeyText(publicKey: Uint8Array): string {
  return `whpk_${base64(publicKey)}`;
}

/** RFC 8037 public key for a JWK set. `kid` is the RFC 7638 thumbprint, so it depends only on the key. */
export interface Ed25519Jwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly use: "sig";
  readonly alg: "EdDSA";
  readonly kid: string;
}

/** The JWK of a 32-byte public key (TS16-79). */
export function publicKeyJwk(publicKey: Uint8Array): Ed25519Jwk {
  const x = Buffer.from(publicKey).toString("base64url");
  const kid = createHash("sha256")
    .update(JSON.stringify({ crv: "Ed25519", kty: "OKP", x }))
    .digest("base64url");
  return { kty: "OKP", crv: "Ed25519", x, use: "sig", alg: "EdDSA", kid };
}

// The fixed DER prefix of a raw Ed25519 key (RFC 8410), because Node does not accept raw private keys.
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");

/** Private key for `crypto.sign` from a 32-byte seed. */
export function privateKeyObject(seed: Uint8Array): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, seed]),
    format: "der",
    type: "pkcs8",
  });
}

/** Public key for `crypto.verify` from its 32 bytes. */
export function publicKeyObject(publicKey: Uint8Array): KeyObject {
  return createPublicKey({
    key: Buffer.concat([spkiPrefix, publicKey]),
    format: "der",
    type: "spki",
  });
}

function publicKeyOfSeed(seed: Uint8Array): Buffer {
  const der = createPublicKey(privateKeyObject(seed)).export({ format: "der", type: "spki" });
  return Buffer.from(der.subarray(spkiPrefix.length));
}

function parseSymmetric(encoded: string): SigningKey | InvalidKey {
  const decoded = decodeBase64(encoded);
  if (decoded.kind === "invalid") return decoded;
  const { bytes } = decoded;
  if (bytes.length < symmetricKeyBytesMin) {
    return invalid("too_short", `a shared secret has 24 to 64 bytes, but this one has ${bytes.length}`);
  }
  if (bytes.length > symmetricKeyBytesMax) {
    return invalid("too_long", `a shared secret has 24 to 64 bytes, but this one has ${bytes.length}`);
  }
  return { kind: "symmetric", bytes };
}

function parseAsymmetric(encoded: string): SigningKey | InvalidKey {
  const decoded = decodeBase64(encoded);
  if (decoded.kind === "invalid") return decoded;
  const { bytes } = decoded;
  if (bytes.length !== ed25519KeyBytes && bytes.length !== 2 * ed25519KeyBytes) {
    return invalid("wrong_length", `a private key has 32 or 64 bytes, but this one has ${bytes.length}`);
  }
  const seed = bytes.subarray(0, ed25519KeyBytes);
  const publicKey = publicKeyOfSeed(seed);
  // If the halves did not match, Posthorn would sign with one key and consumers would get a different one, so no
  // signature could be verified.
  if (bytes.length > ed25519KeyBytes && !publicKey.equals(bytes.subarray(ed25519KeyBytes))) {
    return invalid("halves_mismatch", "the second 32 bytes are not the public key of the first 32");
  }
  return { kind: "asymmetric", seed, publicKey };
}

/**
 * Accepts only canonical, padded base64. Other libraries refuse or misread other encodings. Each key must have exactly
 * one spelling; otherwise a second spelling would bypass the check that a secret is not used elsewhere (TS16-74).
 */
function decodeBase64(encoded: string): Decoded {
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") === encoded && encoded !== "") return { kind: "decoded", bytes };
  return invalid("not_base64", "the text after the prefix is not padded standard base64");
}

function invalid(reason: KeyProblemReason, detail: string): InvalidKey {
  return { kind: "invalid", reason, detail };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

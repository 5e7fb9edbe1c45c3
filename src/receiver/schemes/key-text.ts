/**
 * Parses keys in the form that senders show. Mistakes are detected here, before the first message arrives. Error
 * messages name the required kind of key and the kind that was given. They reveal nothing about a key except its
 * length.
 */
import { decodeBase64 } from "../../domain/base64.ts";
import { misconfigured } from "../receiver-error.ts";

/** Length limits of a shared secret. */
const sharedBytesMin = 24;
const sharedBytesMax = 64;
const ed25519KeyBytes = 32;

/** A key that can verify a signature. */
export type VerificationKey =
  | { readonly kind: "shared"; readonly bytes: Uint8Array }
  | { readonly kind: "ed25519"; readonly bytes: Uint8Array };

/** `whsec_…`, the same without its prefix, or `whpk_…`. Throws ReceiverError `misconfigured`. */
export function readVerificationKey(text: string): VerificationKey {
  refusePrivateKey(text);
  if (text.startsWith("whpk_")) return { kind: "ed25519", bytes: publicKeyBytes(text) };
  return { kind: "shared", bytes: sharedBytes(text) };
}

/** For schemes whose key is the text of the secret. Throws ReceiverError `misconfigured` for other keys. */
export function readSecretText(text: string): string {
  refusePrivateKey(text);
  if (!text.startsWith("whpk_")) return text;
  throw misconfigured("this is a public key (whpk_); the scheme needs the shared secret (whsec_)");
}

function refusePrivateKey(text: string): void {
  if (!text.startsWith("whsk_")) return;
  throw misconfigured("this is the sender's private key (whsk_); a receiver needs whpk_ or whsec_");
}

function sharedBytes(text: string): Uint8Array {
  const bytes = decoded(text.startsWith("whsec_") ? text.slice("whsec_".length) : text);
  if (bytes !== null && bytes.length >= sharedBytesMin && bytes.length <= sharedBytesMax) return bytes;
  throw misconfigured(
    `a shared secret is whsec_ and the base64 of 24 to 64 bytes, but this one ${whatIs(bytes)}`,
  );
}

function publicKeyBytes(text: string): Uint8Array {
  const bytes = decoded(text.slice("whpk_".length));
  if (bytes?.length === ed25519KeyBytes) return bytes;
  throw misconfigured(`a public key is whpk_ and the base64 of 32 bytes, but this one ${whatIs(bytes)}`);
}

function decoded(encoded: string): Uint8Array | null {
  return encoded === "" ? null : decodeBase64(encoded);
}

function whatIs(bytes: Uint8Array | null): string {
  return bytes === null ? "is not padded standard base64" : `has ${bytes.length}`;
}

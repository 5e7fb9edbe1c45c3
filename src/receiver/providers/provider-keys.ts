/** Decodes keys. All functions throw ReceiverError `misconfigured`, whose message never contains part of a key. */
import { decodeBase64 } from "../../domain/base64.ts";
import { base64Bytes, hexBytes } from "./reading.ts";
import { misconfigured } from "../receiver-error.ts";

const ed25519KeyBytes = 32;
/** An uncompressed P-256 point in its SPKI frame, which always has the same beginning (RFC 5480). */
const p256KeyBytes = 91;
const p256KeyStart = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";
const svixPrefix = "whsec_";
const svixKeyBytesMax = 256;

/** 64 hexadecimal digits, as in Discord's developer portal. */
export function discordKey(text: string): Uint8Array {
  const key = hexBytes(text, ed25519KeyBytes);
  if (key === null) throw misconfigured("a Discord public key must be 64 hexadecimal digits");
  return key;
}

/** Base64 (SPKI), as SendGrid's settings page shows it. */
export function sendgridKey(text: string): Uint8Array {
  const key = text.startsWith(p256KeyStart) ? base64Bytes(text, p256KeyBytes) : null;
  if (key?.length !== p256KeyBytes)
    throw misconfigured("a SendGrid public key must be base64 that begins with MFkwEwYH");
  return key;
}

/** `whsec_` and base64, or only the base64, as Svix's libraries accept it. */
export function svixKey(text: string): Uint8Array {
  const encoded = text.startsWith(svixPrefix) ? text.slice(svixPrefix.length) : text;
  const key = base64Bytes(encoded, svixKeyBytesMax);
  if (key === null) throw misconfigured("the secret must be whsec_ and padded base64");
  return key;
}

/** Any number of bytes in hexadecimal. */
export function hexKey(text: string): Uint8Array {
  const key = text.length % 2 === 0 ? hexBytes(text, text.length / 2) : null;
  if (key === null) throw misconfigured("the key must be hexadecimal digits, two for each byte");
  return key;
}

/** Any number of bytes in padded base64. */
export function base64Key(text: string): Uint8Array {
  const key = decodeBase64(text);
  if (key === null) throw misconfigured("the key must be padded base64");
  return key;
}

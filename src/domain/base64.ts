/**
 * Standard base64 without `Buffer`, for code that runs on any platform. The values are digests and signatures of a few
 * dozen bytes.
 */
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Value of each ASCII character; 64 for characters outside the alphabet. */
const values = new Uint8Array(128).fill(64);
for (let value = 0; value < 64; value++) values[alphabet.charCodeAt(value)] = value;

/** Base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const group = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    text += alphabet.charAt(group >> 18) + alphabet.charAt((group >> 12) & 63);
    text += left > 1 ? alphabet.charAt((group >> 6) & 63) : "=";
    text += left > 2 ? alphabet.charAt(group & 63) : "=";
  }
  return text;
}

/** URL-safe base64 without padding, as used by JSON Web Keys (RFC 7515). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Decodes canonical, padded base64; null for any other input. A lenient decoder would accept several spellings of one
 * signature.
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = paddingOf(text);
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let filled = 0;
  let bits = 0;
  let pending = 0;
  for (let index = 0; index < text.length - padding; index++) {
    const value = values[text.charCodeAt(index)] ?? 64;
    if (value === 64) return null;
    pending = ((pending << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[filled] = pending >> bits;
    filled += 1;
  }
  // In the canonical form, the bits after the last byte are zero.
  return (pending & ((1 << bits) - 1)) === 0 ? bytes : null;
}

function paddingOf(text: string): number {
  if (text.endsWith("==")) return 2;
  return text.endsWith("=") ? 1 : 0;
}

/**
 * Standard base64 without `Buffer`, for code that runs anywhere. The values here are digests and signatures, a few dozen
 * bytes each.
 */
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Value of each ASCII character; 64 for what is not in the alphabet. */
const values = new Uint8Array(128).fill(64);
for (let value = 0; value < 64; value++) values[alphabet.charCodeAt(value)] = value;

/** Padded base64. */
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

/** The same bytes in the URL-safe alphabet and unpadded, as JSON Web Keys have them (RFC 7515). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Bytes of canonical, padded base64; null for anything else. A lenient decoder would give one signature many texts.
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
  // Bits behind the last byte are zero in the canonical form.
  return (pending & ((1 << bits) - 1)) === 0 ? bytes : null;
}

function paddingOf(text: string): number {
  if (text.endsWith("==")) return 2;
  return text.endsWith("=") ? 1 : 0;
}

/** Converts text to bytes and back, with functions that Node, browsers and edge runtimes share. */
import { decodeBase64 } from "../../core/base64.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Invalid UTF-8 becomes replacement characters. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Null unless the text is exactly `length` bytes in hexadecimal, in either case. */
export function hexBytes(text: string, length: number): Uint8Array | null {
  if (text.length !== length * 2 || !/^[0-9a-f]*$/i.test(text)) return null;
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16);
  return bytes;
}

/**
 * Null unless the text is canonical, padded base64 of 1 to `lengthMax` bytes, so that each value has a single spelling.
 */
export function base64Bytes(text: string, lengthMax: number): Uint8Array | null {
  if (text === "" || text.length > Math.ceil(lengthMax / 3) * 4) return null;
  const bytes = decodeBase64(text);
  return bytes === null || bytes.length > lengthMax ? null : bytes;
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

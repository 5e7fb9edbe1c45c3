/** Concatenates all parts; a single part is not copied. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return ownBytes(only);
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** The same bytes. They are copied only if threads share their memory, which WebCrypto refuses. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}

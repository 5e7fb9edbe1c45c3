/** Bytes of one coordinate of P-256. */
const scalarBytes = 32;

/**
 * Converts an ECDSA signature over P-256 from DER, `SEQUENCE { INTEGER r, INTEGER s }`, to two times 32 bytes, as
 * WebCrypto expects. Null if it is not DER; such a signature is never valid.
 */
export function p1363FromDer(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  // The longest signature has 72 bytes, so every length is a single byte.
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 72) return null;
  const firstEnd = 4 + (der[3] ?? 0);
  const r = scalarOf(der.subarray(2, firstEnd));
  const s = scalarOf(der.subarray(firstEnd));
  if (r === null || s === null) return null;
  const raw = new Uint8Array(2 * scalarBytes);
  raw.set(r, scalarBytes - r.length);
  raw.set(s, 2 * scalarBytes - s.length);
  return raw;
}

/**
 * The bytes of a positive INTEGER in its shortest form, which DER requires, without the leading zero that marks the
 * sign.
 */
function scalarOf(integer: Uint8Array): Uint8Array | null {
  const value = integer.subarray(2);
  const [first = 0x80, second = 0] = value;
  if (integer[0] !== 0x02 || integer[1] !== value.length || first >= 0x80) return null;
  if (first === 0 && value.length > 1 && second < 0x80) return null;
  const scalar = first === 0 ? value.subarray(1) : value;
  return scalar.length <= scalarBytes ? scalar : null;
}

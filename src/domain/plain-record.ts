import { Buffer } from "node:buffer";

/**
 * Whether a value is a plain object with named fields. A `Map` or `Headers` has no own fields and would be read as an
 * empty object.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Size of the value in bytes when written as JSON; null if it cannot be written as JSON. */
export function jsonBytes(value: unknown): number | null {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : Buffer.byteLength(text);
  } catch {
    return null;
  }
}

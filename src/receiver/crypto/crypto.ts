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

/**
 * Returns the bytes. Copies them only if their memory is shared between threads, because WebCrypto refuses shared
 * memory.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}

/** A value or a promise of it. `node:crypto` returns values, WebCrypto returns promises. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Continues synchronously with a value; only a promise costs a turn of the event loop. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Waits for all values; synchronous if none of them is a promise. */
export function whenAll<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : (values as readonly Value[]);
}

/**
 * The cryptography that the kit needs, so that it runs on both `node:crypto` and WebCrypto. The Node implementation
 * returns values, the WebCrypto implementation returns promises. Callers await only promises: verifying 1 KiB takes a
 * few microseconds, and an unnecessary turn of the event loop would cost as much.
 */
export interface ReceiverCrypto {
  /** HMAC of `data`, as raw bytes. */
  hmac(
    hash: "sha1" | "sha256" | "sha512",
    key: Uint8Array,
    data: readonly Uint8Array[],
  ): Uint8Array | Promise<Uint8Array>;
  digest(hash: "sha256" | "sha512", data: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /**
   * Ed25519 over the concatenation of `data`; `publicKey` is 32 raw bytes. Returns false for malformed signatures too.
   */
  verifyEd25519(
    publicKey: Uint8Array,
    signature: Uint8Array,
    data: readonly Uint8Array[],
  ): boolean | Promise<boolean>;
  /** ECDSA P-256 with SHA-256; `publicKey` is SPKI DER, `signature` is DER. For providers that use it. */
  verifyEcdsaP256(
    publicKey: Uint8Array,
    signature: Uint8Array,
    data: readonly Uint8Array[],
  ): boolean | Promise<boolean>;
  /** Constant-time; false for different lengths. */
  equal(left: Uint8Array, right: Uint8Array): boolean;
}

/** Prepares each key once. A key is identified by its byte array. */
export function cached<Key extends object>(prepare: (bytes: Uint8Array) => Key): (bytes: Uint8Array) => Key {
  const prepared = new WeakMap<Uint8Array, Key>();
  return (bytes) => {
    let key = prepared.get(bytes);
    if (key === undefined) {
      key = prepare(bytes);
      prepared.set(bytes, key);
    }
    return key;
  };
}

import { ReceiverError } from "../receiver-error.ts";
import { concat, ownBytes, type ReceiverCrypto } from "./crypto.ts";

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

// The kit's cryptography based on WebCrypto, which browsers, edge runtimes, Deno, Bun and Node provide; results are
// promises.

// Not the types of node:crypto, because browser projects do not have them.
type Subtle = typeof globalThis.crypto.subtle;
type Key = Awaited<ReturnType<Subtle["importKey"]>>;
type Bytes = Uint8Array<ArrayBuffer>;

const hashNames = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" } as const;
const p256 = { name: "ECDSA", namedCurve: "P-256" } as const;

/**
 * Imported keys are cached by their byte array, so a key's bytes must not change after its first use. Verifying Ed25519
 * rejects with ReceiverError `misconfigured` if the platform does not support that algorithm.
 */
export function createWebCrypto(subtle: Subtle): ReceiverCrypto {
  const hmacKeys = {
    sha1: remembered((bytes) => importHmac(subtle, bytes, "SHA-1")),
    sha256: remembered((bytes) => importHmac(subtle, bytes, "SHA-256")),
    sha512: remembered((bytes) => importHmac(subtle, bytes, "SHA-512")),
  };
  const ed25519Key = remembered((bytes) => importEd25519(subtle, bytes));
  const ecdsaKey = remembered((bytes) => subtle.importKey("spki", bytes, p256, false, ["verify"]));
  return {
    async hmac({ hash, key, data }) {
      return new Uint8Array(await subtle.sign("HMAC", await hmacKeys[hash](key), concat(data)));
    },
    async digest({ hash, data }) {
      return new Uint8Array(await subtle.digest(hashNames[hash], ownBytes(data)));
    },
    async verifyEd25519({ publicKey, signature, data }) {
      return subtle.verify("Ed25519", await ed25519Key(publicKey), ownBytes(signature), concat(data));
    },
    async verifyEcdsaP256({ publicKey, signature, data }) {
      const raw = p1363FromDer(signature);
      if (raw === null) return false;
      const algorithm = { name: "ECDSA", hash: "SHA-256" };
      return subtle.verify(algorithm, await ecdsaKey(publicKey), raw, concat(data));
    },
    equal: constantTimeEqual,
  };
}

/** Compares every byte, so the time does not depend on where they differ. */
function constantTimeEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}

function importHmac(subtle: Subtle, bytes: Bytes, hash: string): Promise<Key> {
  return subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["sign"]);
}

async function importEd25519(subtle: Subtle, bytes: Bytes): Promise<Key> {
  try {
    return await subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  } catch (cause) {
    throw new ReceiverError("misconfigured", "this platform's WebCrypto cannot verify Ed25519 (v1a, whpk_)", {
      cause,
    });
  }
}

function remembered(make: (bytes: Bytes) => Promise<Key>): (bytes: Uint8Array) => Promise<Key> {
  const made = new WeakMap<Uint8Array, Promise<Key>>();
  return (bytes) => {
    let key = made.get(bytes);
    if (key === undefined) {
      key = make(ownBytes(bytes));
      made.set(bytes, key);
    }
    return key;
  };
}

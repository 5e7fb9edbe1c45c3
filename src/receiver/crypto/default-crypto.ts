/**
 * The kit's cryptography based on WebCrypto, and the choice between it and `node:crypto`. Browsers, edge runtimes,
 * Deno, Bun and Node provide WebCrypto, whose results are promises.
 */
import { ReceiverError } from "../receiver-error.ts";
import { cached, concat, ownBytes, type ReceiverCrypto } from "./crypto.ts";
import { createNodeCrypto, type NodeCrypto } from "./crypto-node.ts";

/** Length in bytes of one P-256 coordinate. */
const scalarBytes = 32;

/**
 * Converts an ECDSA signature over P-256 from DER, `SEQUENCE { INTEGER r, INTEGER s }`, to two 32-byte numbers, as
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

// Not the types of node:crypto, because browser projects do not have them.
type Subtle = typeof globalThis.crypto.subtle;
type Key = Awaited<ReturnType<Subtle["importKey"]>>;

const hashNames = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" } as const;
const p256 = { name: "ECDSA", namedCurve: "P-256" } as const;

/**
 * Imported keys are cached by their byte array, so a key's bytes must not change after its first use. Verifying Ed25519
 * rejects with ReceiverError `misconfigured` if the platform does not support that algorithm.
 */
export function createWebCrypto(subtle: Subtle): ReceiverCrypto {
  const hmacKeys = {
    sha1: cached((bytes) => importHmac(subtle, bytes, "SHA-1")),
    sha256: cached((bytes) => importHmac(subtle, bytes, "SHA-256")),
    sha512: cached((bytes) => importHmac(subtle, bytes, "SHA-512")),
  };
  const ed25519Key = cached((bytes) => importEd25519(subtle, bytes));
  const ecdsaKey = cached((bytes) => subtle.importKey("spki", ownBytes(bytes), p256, false, ["verify"]));
  return {
    async hmac(hash, key, data) {
      return new Uint8Array(await subtle.sign("HMAC", await hmacKeys[hash](key), concat(data)));
    },
    async digest(hash, data) {
      return new Uint8Array(await subtle.digest(hashNames[hash], ownBytes(data)));
    },
    async verifyEd25519(publicKey, signature, data) {
      return subtle.verify("Ed25519", await ed25519Key(publicKey), ownBytes(signature), concat(data));
    },
    async verifyEcdsaP256(publicKey, signature, data) {
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

function importHmac(subtle: Subtle, bytes: Uint8Array, hash: string): Promise<Key> {
  return subtle.importKey("raw", ownBytes(bytes), { name: "HMAC", hash }, false, ["sign"]);
}

async function importEd25519(subtle: Subtle, bytes: Uint8Array): Promise<Key> {
  try {
    return await subtle.importKey("raw", ownBytes(bytes), "Ed25519", false, ["verify"]);
  } catch (cause) {
    throw new ReceiverError("misconfigured", "this platform's WebCrypto cannot verify Ed25519 (v1a, whpk_)", {
      cause,
    });
  }
}

/** How Node and compatible runtimes provide built-in modules without an import that a bundler would have to resolve. */
interface MaybeNode {
  readonly getBuiltinModule?: (id: string) => unknown;
}

/**
 * The best implementation on this platform: `node:crypto` in Node 20.16 or later, Bun and Deno, WebCrypto elsewhere.
 * The kit therefore needs no build step and no conditions in its package.json.
 */
export const defaultCrypto: ReceiverCrypto = chooseCrypto();

function chooseCrypto(): ReceiverCrypto {
  const host = (globalThis as { readonly process?: MaybeNode }).process;
  const node = host?.getBuiltinModule?.("node:crypto") as NodeCrypto | undefined;
  // Some runtimes have the module, but not all of its functions.
  const isComplete = [
    node?.createHmac,
    node?.createPublicKey,
    node?.createSecretKey,
    node?.timingSafeEqual,
    node?.verify,
  ].every((part) => typeof part === "function");
  return node !== undefined && isComplete
    ? createNodeCrypto(node)
    : createWebCrypto(globalThis.crypto.subtle);
}

/** The cryptography of the kit in a few lines, at once and with promises, for tests of what is built on it. */
import { createHash, createHmac, createPublicKey, type KeyLike, timingSafeEqual, verify } from "node:crypto";
import type { ReceiverCrypto } from "../crypto.ts";

interface Claim {
  readonly signature: Uint8Array;
  readonly data: readonly Uint8Array[];
}

function isSigned(algorithm: string | null, key: () => KeyLike, { data, signature }: Claim): boolean {
  try {
    return verify(algorithm, Buffer.concat(data), key(), signature);
  } catch {
    return false;
  }
}

const spki = (der: Uint8Array) => createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" });
const ed25519Start = Buffer.from("302a300506032b6570032100", "hex");

export const plainCrypto: ReceiverCrypto = {
  hmac: ({ hash, key, data }) => createHmac(hash, key).update(Buffer.concat(data)).digest(),
  digest: ({ hash, data }) => createHash(hash).update(data).digest(),
  verifyEd25519: ({ publicKey, ...claim }) =>
    isSigned(null, () => spki(Buffer.concat([ed25519Start, publicKey])), claim),
  verifyEcdsaP256: ({ publicKey, ...claim }) => isSigned("sha256", () => spki(publicKey), claim),
  equal: (left, right) => left.length === right.length && timingSafeEqual(left, right),
};

export const promisingCrypto: ReceiverCrypto = {
  hmac: async (input) => plainCrypto.hmac(input),
  digest: async (input) => plainCrypto.digest(input),
  verifyEd25519: async (input) => plainCrypto.verifyEd25519(input),
  verifyEcdsaP256: async (input) => plainCrypto.verifyEcdsaP256(input),
  equal: (left, right) => plainCrypto.equal(left, right),
};

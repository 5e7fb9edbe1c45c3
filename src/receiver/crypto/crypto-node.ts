/** The kit's cryptography based on `node:crypto`; results are synchronous. */
import type * as node from "node:crypto";
import { cached, concat, type ReceiverCrypto } from "./crypto.ts";

/** The functions used from `node:crypto`. They are passed in, so that bundlers do not resolve Node modules. */
export type NodeCrypto = Pick<
  typeof node,
  "createHash" | "createHmac" | "createPublicKey" | "createSecretKey" | "timingSafeEqual" | "verify"
>;

// The fixed DER prefix of a raw Ed25519 public key (RFC 8410).
const spkiPrefix = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);

/** Prepared keys are cached by their byte array, so a key's bytes must not change after its first use. */
export function createNodeCrypto(builtin: NodeCrypto): ReceiverCrypto {
  const secretKey = cached((bytes) => builtin.createSecretKey(bytes));
  const ed25519Key = cached((bytes) =>
    builtin.createPublicKey({ key: concat([spkiPrefix, bytes]) as Buffer, format: "der", type: "spki" }),
  );
  const ecdsaKey = cached((bytes) =>
    builtin.createPublicKey({ key: bytes as Buffer, format: "der", type: "spki" }),
  );
  return {
    hmac(hash, key, data) {
      const hmac = builtin.createHmac(hash, secretKey(key));
      for (const part of data) hmac.update(part);
      return hmac.digest();
    },
    digest: (hash, data) => builtin.createHash(hash).update(data).digest(),
    verifyEd25519: (publicKey, signature, data) =>
      builtin.verify(null, concat(data), ed25519Key(publicKey), signature),
    verifyEcdsaP256: (publicKey, signature, data) =>
      builtin.verify("sha256", concat(data), ecdsaKey(publicKey), signature),
    equal: (left, right) => left.length === right.length && builtin.timingSafeEqual(left, right),
  };
}

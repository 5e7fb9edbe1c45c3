/**
 * The cryptography that the kit needs, so that it runs on both `node:crypto` and WebCrypto. The Node implementation
 * returns values, the WebCrypto one promises. Callers await only promises: verifying 1 KiB takes a few microseconds,
 * and an unnecessary turn of the event loop would cost as much.
 */
export interface ReceiverCrypto {
  /** HMAC of `data`, as raw bytes. */
  hmac(input: {
    readonly hash: "sha1" | "sha256" | "sha512";
    readonly key: Uint8Array;
    readonly data: readonly Uint8Array[];
  }): Uint8Array | Promise<Uint8Array>;
  digest(input: {
    readonly hash: "sha256" | "sha512";
    readonly data: Uint8Array;
  }): Uint8Array | Promise<Uint8Array>;
  /** Ed25519 over the concatenation of `data`; `publicKey` is 32 raw bytes. Also false for malformed signatures. */
  verifyEd25519(input: {
    readonly publicKey: Uint8Array;
    readonly signature: Uint8Array;
    readonly data: readonly Uint8Array[];
  }): boolean | Promise<boolean>;
  /** ECDSA P-256 with SHA-256; `publicKey` is SPKI DER, `signature` is DER. For providers that use it. */
  verifyEcdsaP256(input: {
    readonly publicKey: Uint8Array;
    readonly signature: Uint8Array;
    readonly data: readonly Uint8Array[];
  }): boolean | Promise<boolean>;
  /** Constant-time; false for different lengths. */
  equal(left: Uint8Array, right: Uint8Array): boolean;
}

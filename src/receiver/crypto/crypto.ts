/**
 * What the kit needs of cryptography, so that it runs on `node:crypto` and on WebCrypto alike. The Node implementation
 * answers at once, the WebCrypto one with promises; callers await only what is a promise, because a verification of
 * 1 KiB costs a few microseconds and a needless turn of the event loop would cost as much.
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
  /** Ed25519 over the concatenation of `data`; `publicKey` is 32 raw bytes. False also for malformed signatures. */
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

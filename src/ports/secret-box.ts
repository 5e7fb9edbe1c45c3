/**
 * Encrypts secrets at rest. Every ciphertext names its master key, so a master key can be replaced while old
 * ciphertexts stay readable (POSTHORN_MASTER_KEY_PREVIOUS).
 */
export interface SecretBox {
  /** AES-256-GCM. `context` (such as the webhook's ID) is authenticated, so ciphertexts cannot be swapped. */
  seal(plaintext: string, context: string): Uint8Array;
  /** Throws `SecretUnreadableError` if no known key decrypts it. */
  open(ciphertext: Uint8Array, context: string): string;
  /** Keyed digest for equality checks. Does not depend on the master key. */
  digest(plaintext: string): string;
}

/** The ciphertext was encrypted with an unknown master key, or it has been altered. */
export class SecretUnreadableError extends Error {
  override readonly name = "SecretUnreadableError";
}

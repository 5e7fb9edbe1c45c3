/**
 * Encrypts secrets at rest. Every ciphertext names the key that made it, so that a master key can be replaced while
 * old ciphertexts stay readable (POSTHORN_MASTER_KEY_PREVIOUS).
 */
export interface SecretBox {
  /** AES-256-GCM; `context` (for example the webhook's id) is authenticated, so ciphertexts cannot be swapped. */
  seal(input: { readonly plaintext: string; readonly context: string }): Uint8Array;
  /** Throws `SecretUnreadableError` when no known key opens it. */
  open(input: { readonly ciphertext: Uint8Array; readonly context: string }): string;
  /** Keyed digest for equality checks; the same for every key generation. */
  digest(plaintext: string): string;
}

/** The ciphertext was made with a master key that is not known, or it was altered. */
export class SecretUnreadableError extends Error {
  override readonly name = "SecretUnreadableError";
}

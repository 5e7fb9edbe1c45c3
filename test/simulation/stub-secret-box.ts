import type { SecretBox } from "../../src/ports/secret-box.ts";

/**
 * Stores secrets in readable form: encryption has separate tests and would only cost time here. The keys themselves are
 * real.
 */
export const stubSecretBox: SecretBox = {
  seal: (plaintext, context) => Buffer.from(`${context}\n${plaintext}`),
  open: (ciphertext, context) => {
    const [sealedFor, plaintext] = Buffer.from(ciphertext).toString().split("\n");
    if (sealedFor !== context || plaintext === undefined)
      throw new Error("a secret was opened for somebody else");
    return plaintext;
  },
  digest: (plaintext) => `digest of ${plaintext}`,
};

export function openStubSecret(ciphertext: Uint8Array): string {
  return Buffer.from(ciphertext).toString().split("\n")[1] ?? "";
}

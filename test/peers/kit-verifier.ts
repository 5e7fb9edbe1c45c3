import assert from "node:assert/strict";
import { parseSecret, publicKeyText } from "../../src/domain/signing/signing-key.ts";
import { receivedHeaders } from "../../src/receiver/message/message.ts";
import { standardWebhooks } from "../../src/receiver/verifiers.ts";

/**
 * The reason why the receiver kit rejects a message with `Webhook-Signature` under this key, or null if the key signed
 * the message.
 */
export function rejectionBy(
  key: string,
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
  nowSeconds: number,
  toleranceSeconds: number,
): string | null {
  const message = { method: "POST", url: "/", headers: receivedHeaders(Object.entries(headers)), body };
  const result = standardWebhooks({ keys: key, toleranceSeconds }).verify(message, { nowSeconds });
  assert.ok(!(result instanceof Promise), "the kit is synchronous on Node");
  return result.kind === "rejected" ? result.detail : null;
}

/** The receiver's key for a sender's secret: a shared secret is unchanged; for a private key it is the public half. */
export function verifyingKey(secret: string): string {
  const key = parseSecret(secret);
  assert.ok(key.kind !== "invalid", "an invalid secret");
  return key.kind === "asymmetric" ? publicKeyText(key.publicKey) : secret;
}

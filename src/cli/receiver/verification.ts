import { parsePublicKey, parseSecret } from "../../core/signing/signing-key.ts";
import { prepareVerifier } from "../../core/signing/standard-webhooks.ts";
import type { VerificationKey, VerificationResult } from "../../core/signing/standard-webhooks.ts";
import { UsageError } from "../failures.ts";
import type { ReceivedDelivery } from "./local-receiver.ts";

const toleranceSeconds = 300;

/** Checks the signature of a delivery; null when there is no secret to check it with. */
export type Check = (delivery: ReceivedDelivery) => VerificationResult | null;

/** From `whsec_…`, `whsk_…` and `whpk_…` texts; several during a rotation. */
export function createCheck(secrets: readonly string[]): Check {
  if (secrets.length === 0) return () => null;
  const verify = prepareVerifier(secrets.map(keyOf));
  return ({ headers, body, receivedAt }) =>
    verify({ headers, body, nowSeconds: Math.floor(receivedAt.getTime() / 1_000), toleranceSeconds });
}

function keyOf(text: string): VerificationKey {
  const key = text.startsWith("whpk_") ? parsePublicKey(text) : parseSecret(text);
  // Only what is wrong, never the text: it may be nearly a secret.
  if (key.kind === "invalid") throw new UsageError(`--secret: ${key.detail}`);
  return key.kind === "asymmetric" ? { kind: "public", bytes: key.publicKey } : key;
}

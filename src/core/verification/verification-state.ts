import {
  type VerificationMethod,
  type Webhook,
  type WebhookVerification,
  webhookDefaults,
} from "../webhook.ts";

/** The result of a verification. `detail` is one sentence for the owner, without secrets. */
export type VerificationOutcome =
  | { readonly kind: "granted"; readonly detail: string; readonly allowedRatePerMinute: number | null }
  /** The receiver does not want the events, or has not proved its identity. */
  | { readonly kind: "refused"; readonly detail: string }
  /** No result yet: a callback, or a DNS record, may still come. */
  | { readonly kind: "waiting"; readonly detail: string }
  /** The receiver could not be reached. An earlier permission remains. */
  | { readonly kind: "unreachable"; readonly detail: string };

/** CEW-4-4: the rate for a receiver that does not support the handshake, if its owner chose `slow`. */
const slowRatePerMinute = 1;

/** The owner's choices, before the receiver was asked. */
export interface VerificationChoice {
  readonly method: VerificationMethod;
  readonly requestedRatePerMinute: number | null;
  readonly whenUnsupported: "refuse" | "slow";
}

/** A verification that has not started. */
export function pendingVerification(choice: VerificationChoice): WebhookVerification {
  if (choice.method === "none") return webhookDefaults.verification;
  return { ...webhookDefaults.verification, ...choice, state: "pending", detail: "not asked yet" };
}

/** Whether the verification permits sending events. */
export function isPermitted(verification: WebhookVerification): boolean {
  const { method, state, whenUnsupported, allowedRatePerMinute } = verification;
  if (method === "none" || state === "granted") return true;
  return state === "pending" && whenUnsupported === "slow" && allowedRatePerMinute !== null;
}

/** The webhook with the result of its verification. */
export function afterVerification(webhook: Webhook, outcome: VerificationOutcome, now: number): Webhook {
  const verification = { ...webhook.verification, detail: outcome.detail, ...moved(webhook, outcome, now) };
  if (outcome.kind === "granted" || outcome.kind === "refused") {
    return settled(
      { ...webhook, verification: { ...verification, tokenDigest: null, tokenExpiresAt: null } },
      now,
    );
  }
  return settled({ ...webhook, verification }, now);
}

function moved(
  { verification }: Webhook,
  outcome: VerificationOutcome,
  now: number,
): Pick<WebhookVerification, "state" | "grantedAt" | "allowedRatePerMinute"> {
  if (outcome.kind === "granted") {
    return { state: "granted", grantedAt: now, allowedRatePerMinute: outcome.allowedRatePerMinute };
  }
  if (outcome.kind === "unreachable") {
    const { state, grantedAt, allowedRatePerMinute } = verification;
    return { state, grantedAt, allowedRatePerMinute };
  }
  const slow = outcome.kind === "waiting" && verification.whenUnsupported === "slow";
  return {
    state: outcome.kind === "refused" ? "refused" : "pending",
    grantedAt: null,
    allowedRatePerMinute: slow ? slowRatePerMinute : null,
  };
}

/**
 * The webhook with the status that its verification allows: `unverified` without permission, `active` again with it.
 */
export function settled(webhook: Webhook, now: number): Webhook {
  const permitted = isPermitted(webhook.verification);
  if (webhook.status === "active" && !permitted) {
    return { ...webhook, status: "unverified", statusReason: "verification", statusChangedAt: now };
  }
  if (webhook.status === "unverified" && permitted) {
    return { ...webhook, status: "active", statusReason: null, statusChangedAt: now };
  }
  return webhook;
}

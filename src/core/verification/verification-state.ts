import {
  type VerificationMethod,
  type Webhook,
  type WebhookVerification,
  webhookDefaults,
} from "../webhook.ts";

/** What a verification came to. `detail` is one sentence for the owner, without anything secret. */
export type VerificationOutcome =
  | { readonly kind: "granted"; readonly detail: string; readonly allowedRatePerMinute: number | null }
  /** The receiver does not want it, or has not proved itself. */
  | { readonly kind: "refused"; readonly detail: string }
  /** Nothing yet: a callback, or a DNS record, may still come. */
  | { readonly kind: "waiting"; readonly detail: string }
  /** Nobody could be asked: says nothing about the receiver, so an earlier permission stays. */
  | { readonly kind: "unreachable"; readonly detail: string };

/** CEW-4-4: what a receiver gets that does not know the handshake, where its owner chose `slow`. */
const slowRatePerMinute = 1;

/** What an owner chose, before anybody was asked. */
export interface VerificationChoice {
  readonly method: VerificationMethod;
  readonly requestedRatePerMinute: number | null;
  readonly whenUnsupported: "refuse" | "slow";
}

/** A verification that has to begin. */
export function pendingVerification(choice: VerificationChoice): WebhookVerification {
  if (choice.method === "none") return webhookDefaults.verification;
  return { ...webhookDefaults.verification, ...choice, state: "pending", detail: "not asked yet" };
}

/** True when events may be sent as far as the verification is concerned (C-32). */
export function isPermitted(verification: WebhookVerification): boolean {
  const { method, state, whenUnsupported, allowedRatePerMinute } = verification;
  if (method === "none" || state === "granted") return true;
  return state === "pending" && whenUnsupported === "slow" && allowedRatePerMinute !== null;
}

/** The webhook after its verification came to something. */
export function afterVerification(
  webhook: Webhook,
  change: { readonly outcome: VerificationOutcome; readonly now: number },
): Webhook {
  const { outcome, now } = change;
  const verification = { ...webhook.verification, detail: outcome.detail, ...moved(webhook, change) };
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
  { outcome, now }: { readonly outcome: VerificationOutcome; readonly now: number },
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

/** The webhook with the status that its verification allows: no permission, no events; and back when it comes. */
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

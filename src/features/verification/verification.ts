import {
  type VerificationMethod,
  type Webhook,
  webhookDefaults,
  type WebhookVerification,
} from "../../domain/webhook.ts";

/** The echo challenge of a registration (WDS-170): its message, and the check of the response. */

/** Type of the message with the challenge. It is a system event that applications cannot publish. */
const challengeType = "posthorn.webhook.verification";

export function challengeBody(challenge: string): string {
  return JSON.stringify({ type: challengeType, challenge });
}

/**
 * Accepts the challenge as the whole text, or as the field `challenge` of a JSON object. Surrounding white space is
 * ignored.
 */
export function isEcho(body: string, challenge: string): boolean {
  const text = body.trim();
  if (text === challenge) return true;
  try {
    const value: unknown = JSON.parse(text);
    if (value === challenge) return true;
    return (
      typeof value === "object" && value !== null && "challenge" in value && value.challenge === challenge
    );
  } catch {
    return false;
  }
}

// Proof of domain ownership by a TXT record (TS16-125): its name and its value.

export interface DnsRecord {
  readonly name: string;
  readonly value: string;
}

/** The record for a host. It has a separate name, to avoid conflicts with other records. */
export function dnsRecord(hostname: string, token: string): DnsRecord {
  return { name: `_posthorn-challenge.${hostname}`, value: `posthorn-verification=${token}` };
}

/**
 * Whether a host can have DNS records. Only domain names have them; IP addresses do not. `hostname` is the property of
 * a `URL`.
 */
export function hasRecords(hostname: string): boolean {
  return !hostname.startsWith("[") && !/^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

// Evaluates the fields of the permission handshake of "HTTP 1.1 Web Hooks for Event Delivery" (CEW-4). The result says
// what a response to the OPTIONS request, or a call to the callback URL, permits.

/** Requests per minute that a receiver grants; null for no limit. */
type AllowedRate =
  | { readonly kind: "rate"; readonly perMinute: number | null }
  | { readonly kind: "invalid" };

/** The maximum rate of a webhook; a higher granted rate is reduced to it. */
const ratePerMinuteMax = 1_000_000;
const rateDigitsMax = 30;

/** Parses an allowed rate. CEW-4.2.2-3 permits only `*` or a positive integer. */
export function parseAllowedRate(text: string): AllowedRate {
  const value = text.trim();
  if (value === "*") return { kind: "rate", perMinute: null };
  if (!/^\d+$/.test(value) || value.length > rateDigitsMax) return { kind: "invalid" };
  const perMinute = Number(value);
  return perMinute > 0
    ? { kind: "rate", perMinute: Math.min(perMinute, ratePerMinuteMax) }
    : { kind: "invalid" };
}

/** The handshake request and its response. */
interface HandshakeExchange {
  readonly requestOrigin: string;
  readonly requestedRatePerMinute: number | null;
  readonly status: number;
  /** `WebHook-Allowed-Origin` and `WebHook-Allowed-Rate`, if present. */
  readonly allowedOrigin: string | undefined;
  readonly allowedRate: string | undefined;
}

type HandshakeVerdict =
  | { readonly kind: "granted"; readonly allowedRatePerMinute: number | null }
  /** The receiver supports the handshake but does not permit, or its response is not reliable. */
  | { readonly kind: "refused"; readonly detail: string }
  /** The response has no handshake fields: not supported, or permission will come through the callback (CEW-4.2-2). */
  | { readonly kind: "unanswered"; readonly detail: string }
  /** A transient failure, which says nothing about permission. */
  | { readonly kind: "failed"; readonly detail: string };

/**
 * Evaluates a response. Only the headers give permission, regardless of the 2xx or 4xx status (CEW-4.2-3). A server
 * that does not support OPTIONS may return 405 together with the fields that its application set, and a server that
 * returns 200 to everything has permitted nothing. A redirect is never the target's own response, and 5xx is a
 * transient failure, so neither counts as permission. Without `WebHook-Allowed-Rate`, the requested rate applies
 * (CEW-4.2.2-1, CEW-4.2.2-2).
 */
export function judgeHandshake(exchange: HandshakeExchange): HandshakeVerdict {
  const { status, allowedOrigin, allowedRate, requestOrigin } = exchange;
  if (status >= 500) return { kind: "failed", detail: `the receiver answered OPTIONS with ${status}` };
  if (status >= 300 && status < 400) {
    const detail = `the receiver answered OPTIONS with ${status}; a redirect is not followed and permits nothing`;
    return { kind: "refused", detail };
  }
  if (allowedOrigin === undefined) {
    const detail = `the receiver answered OPTIONS with ${status}, without WebHook-Allowed-Origin`;
    return { kind: "unanswered", detail };
  }
  const origin = allowedOrigin.trim();
  if (origin !== "*" && origin !== requestOrigin) {
    return { kind: "refused", detail: `WebHook-Allowed-Origin is neither * nor ${requestOrigin}` };
  }
  return judgeRate(allowedRate, exchange.requestedRatePerMinute);
}

/** The rate of a permission: the granted rate, or the requested rate if none was granted. */
export function judgeRate(
  allowedRate: string | undefined,
  requestedRatePerMinute: number | null,
): Extract<HandshakeVerdict, { readonly kind: "granted" | "refused" }> {
  if (allowedRate === undefined) return { kind: "granted", allowedRatePerMinute: requestedRatePerMinute };
  const rate = parseAllowedRate(allowedRate);
  if (rate.kind === "invalid") {
    return { kind: "refused", detail: "WebHook-Allowed-Rate is neither * nor a positive whole number" };
  }
  return { kind: "granted", allowedRatePerMinute: rate.perMinute };
}

/** The result of a verification. `detail` is one sentence for the owner, without secrets. */
export type VerificationOutcome =
  | { readonly kind: "granted"; readonly detail: string; readonly allowedRatePerMinute: number | null }
  /** The receiver does not want the events, or has not proved its identity. */
  | { readonly kind: "refused"; readonly detail: string }
  /** No result yet: a callback, or a DNS record, may still come. */
  | { readonly kind: "waiting"; readonly detail: string }
  /** The receiver could not be reached. An earlier permission remains. */
  | { readonly kind: "unreachable"; readonly detail: string };

/** CEW-4-4: the rate for a receiver that does not support the handshake, if the webhook's owner chose `slow`. */
const slowRatePerMinute = 1;

/** The verification settings that the owner chose, before the receiver is contacted. */
export interface VerificationChoice {
  readonly method: VerificationMethod;
  readonly requestedRatePerMinute: number | null;
  readonly whenUnsupported: "refuse" | "slow";
}

/** A verification that has not started. */
export function pendingVerification(choice: VerificationChoice): WebhookVerification {
  if (choice.method === "none") return webhookDefaults.verification;
  return { ...webhookDefaults.verification, ...choice, state: "pending", detail: "not requested yet" };
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
 * The webhook with the status that its verification allows: `unverified` without permission, `active` again once
 * permission is given.
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

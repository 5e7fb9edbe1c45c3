import type {
  CircuitBreakerConfig,
  PayloadFormatName,
  RateLimitConfig,
  RetrySchedule,
  SignatureSchemeName,
} from "./profile.ts";

/** WDS-61. `strict` keeps one delivery in flight per webhook, `per_event_type` one per webhook and event type. */
export const orderingGuarantees = ["none", "per_event_type", "strict"] as const;
export type OrderingGuarantee = (typeof orderingGuarantees)[number];

/**
 * `suspended` and `disabled` are set by the rules of the profile, `disabled` also by the owner; `unverified` waits until
 * its receiver has shown that it wants the events (C-32). All three stop sending; events published meanwhile are
 * recorded as `skipped` deliveries and can be recovered (C-46).
 */
export const webhookStatuses = ["active", "suspended", "disabled", "unverified"] as const;
export type WebhookStatus = (typeof webhookStatuses)[number];

/** How a receiver shows that it wants the events: echo challenge, CloudEvents handshake, DNS record (C-32). */
export const verificationMethods = ["none", "challenge", "cloudevents", "dns"] as const;
export type VerificationMethod = (typeof verificationMethods)[number];

/**
 * What a receiver hears of the trace that an event was published in: nothing, `traceparent` where the publisher sent one,
 * `tracestate` as well, or a trace of the event's own where the publisher sent none.
 */
export const tracePolicies = ["off", "forward", "forward_with_state", "always"] as const;
export type TracePolicy = (typeof tracePolicies)[number];

/** Where a webhook stands with its verification. Times are Unix milliseconds. */
export interface WebhookVerification {
  readonly method: VerificationMethod;
  readonly state: "none" | "pending" | "granted" | "refused";
  /** One sentence for the owner: what was asked and what came back. */
  readonly detail: string | null;
  /** Keyed digest of the callback key or the DNS token; the plain text is shown or sent once. */
  readonly tokenDigest: string | null;
  readonly tokenExpiresAt: number | null;
  readonly grantedAt: number | null;
  /** CEW-4.1.4-1: requests per minute that we ask for; null asks for none. */
  readonly requestedRatePerMinute: number | null;
  /** CEW-4.2.2: requests per minute that the receiver grants; null is no limit. */
  readonly allowedRatePerMinute: number | null;
  /** A target that does not know the handshake: not served at all, or served slowly (CEW-4-4). */
  readonly whenUnsupported: "refuse" | "slow";
}

/** OAuth 2.0 client credentials (RFC 6749, 4.4). The client secret is kept among the webhook's secrets. */
export interface OAuth2Client {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope: string | null;
  readonly audience: string | null;
  readonly authentication: "basic" | "body";
}

/** What owner and receiver agreed on beside the profile; readable by both through the API (EDS-9.2-2). */
export interface WebhookAgreements {
  /** 207 counts as accepted (EDS-9.2.1-4). */
  readonly acceptMultiStatus: boolean;
  /** A 308 changes the stored URL after it was validated like a new one (EDS-9.2.4-3, C-9). */
  readonly followPermanentRedirect: boolean;
  /** The receiver enforces Idempotency-Key, so its 409 means "still running" and is transient (C-8). */
  readonly idempotencyEnforced: boolean;
}

/**
 * A subscription. Times are Unix milliseconds. `null` in an override means "as the profile says"; the effective
 * values come from `resolvePolicy` in delivery-policy.ts.
 */
export interface Webhook {
  readonly id: string;
  readonly tenantId: string;
  readonly ownerId: string | null;
  readonly url: string;
  /** Event types, prefixes ending in `.*`, or `*`. Never empty (TS16-116). */
  readonly events: readonly string[];
  readonly description: string;
  readonly status: WebhookStatus;
  /** Why it is not active: `owner`, `gone`, `persistent_failure`, `exhausted`, `consecutive_terminal`. */
  readonly statusReason: string | null;
  readonly statusChangedAt: number;
  readonly profile: string;
  readonly schemes: readonly SignatureSchemeName[] | null;
  /** One of the profile's formats. */
  readonly payloadFormat: PayloadFormatName | null;
  /** Where the bearer token goes; `query` is `access_token` of RFC 6750, 2.3 (CEW-3.2). */
  readonly bearerTokenIn: "header" | "query";
  readonly oauth2: OAuth2Client | null;
  /** HTTP/2 where the receiver offers it (EDS-9.9-1). */
  readonly http2: boolean;
  /** Sends the header sets of both families side by side while a receiver moves from one to the other (SW-26). */
  readonly migrationHeaders: boolean;
  readonly traceContext: TracePolicy;
  readonly agreements: WebhookAgreements;
  readonly verification: WebhookVerification;
  readonly retry: WebhookRetryOverrides;
  readonly circuitBreaker: Partial<CircuitBreakerConfig>;
  readonly rateLimit: RateLimitConfig | null;
  readonly ordering: OrderingGuarantee;
  /** Custom request headers; reserved names are refused (C-28). */
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Somebody holds it back: what is published goes on being kept for it. May be over; see `pauseAt`. */
  readonly pause: WebhookPause | null;
  /** Counts the changes of its configuration and its keys, from 1. */
  readonly revision: number;
}

/** A pause by hand. Times are Unix milliseconds. */
export interface WebhookPause {
  readonly since: number;
  /** When it ends by itself; null when only `resume` ends it. */
  readonly until: number | null;
  /** What who paused it said about it. */
  readonly reason: string | null;
}

/** The pause that is in force at a time. */
export function pauseAt({ pause }: Pick<Webhook, "pause">, now: number): WebhookPause | null {
  return pause === null || (pause.until !== null && pause.until <= now) ? null : pause;
}

/** What a webhook has when nothing was said about it, and what documents of earlier versions lack. */
export const webhookDefaults = {
  payloadFormat: null,
  bearerTokenIn: "header",
  oauth2: null,
  http2: false,
  migrationHeaders: false,
  traceContext: "forward",
  agreements: { acceptMultiStatus: false, followPermanentRedirect: false, idempotencyEnforced: false },
  verification: {
    method: "none",
    state: "none",
    detail: null,
    tokenDigest: null,
    tokenExpiresAt: null,
    grantedAt: null,
    requestedRatePerMinute: null,
    allowedRatePerMinute: null,
    whenUnsupported: "refuse",
  },
  pause: null,
  revision: 1,
} as const satisfies Partial<Webhook>;

/**
 * When something that was changed before is changed now: never earlier than the last time, which a clock that is ahead may
 * have dated. Other processes take what is dated earlier for older, and would pass over it.
 */
export function changedAt(before: { readonly updatedAt: number }, now: number): number {
  return Math.max(now, before.updatedAt);
}

/** A webhook as a store kept it, completed with the fields that came after it was written. */
export function webhookFromDocument(document: unknown): Webhook {
  return { ...webhookDefaults, ...(document as Webhook) };
}

export interface WebhookRetryOverrides {
  readonly schedule: RetrySchedule | null;
  readonly ageMsMax: number | null;
  readonly timeoutMs: number | null;
  readonly timeoutGrowthFactor: number | null;
}

/** Which deliveries of a webhook are kept in order and share one place in line. */
export interface LaneKey {
  readonly webhookId: string;
  readonly ordering: OrderingGuarantee;
  /** Set only for `per_event_type`. */
  readonly eventType: string | null;
}

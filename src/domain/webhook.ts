import type {
  CircuitBreakerConfig,
  PayloadFormatName,
  RateLimitConfig,
  RetrySchedule,
  SignatureSchemeName,
} from "./profile.ts";

/** `strict` allows one delivery in flight per webhook, `per_event_type` one per webhook and event type (WDS-61). */
export const orderingGuarantees = ["none", "per_event_type", "strict"] as const;
export type OrderingGuarantee = (typeof orderingGuarantees)[number];

/**
 * `suspended` and `disabled` are set by the rules of the profile; an owner can also set `disabled`. `unverified` lasts
 * until the receiver has proved that it wants the events. In all three states nothing is sent. Events published in the
 * meantime are recorded as `skipped` deliveries and can be recovered.
 */
export const webhookStatuses = ["active", "suspended", "disabled", "unverified"] as const;
export type WebhookStatus = (typeof webhookStatuses)[number];

/** How a receiver proves that it wants the events: echo challenge, CloudEvents handshake, DNS record. */
export const verificationMethods = ["none", "challenge", "cloudevents", "dns"] as const;
export type VerificationMethod = (typeof verificationMethods)[number];

/**
 * How much of an event's trace the receiver gets: nothing; `traceparent` if the publisher sent one; `traceparent` and
 * `tracestate`; or a new trace if the publisher sent none.
 */
export const tracePolicies = ["off", "forward", "forward_with_state", "always"] as const;
export type TracePolicy = (typeof tracePolicies)[number];

/** The state of a webhook's verification. Times are Unix milliseconds. */
export interface WebhookVerification {
  readonly method: VerificationMethod;
  readonly state: "none" | "pending" | "granted" | "refused";
  /** One sentence for the owner: what was sent, and what the receiver responded. */
  readonly detail: string | null;
  /** Keyed digest of the callback key or the DNS token. The plain text is shown or sent only once. */
  readonly tokenDigest: string | null;
  readonly tokenExpiresAt: number | null;
  readonly grantedAt: number | null;
  /** The rate to request from the receiver, in requests per minute (CEW-4.1.4-1); null to request none. */
  readonly requestedRatePerMinute: number | null;
  /** Requests per minute that the receiver grants (CEW-4.2.2); null for no limit. */
  readonly allowedRatePerMinute: number | null;
  /** What to do if the target does not support the handshake: send nothing, or send slowly (CEW-4-4). */
  readonly whenUnsupported: "refuse" | "slow";
}

/** OAuth 2.0 client credentials (RFC 6749, section 4.4). The client secret is stored with the webhook's secrets. */
export interface OAuth2Client {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope: string | null;
  readonly audience: string | null;
  readonly authentication: "basic" | "body";
}

/** Agreements between owner and receiver that change the profile; both can read them through the API (EDS-9.2-2). */
export interface WebhookAgreements {
  /** Whether 207 counts as accepted (EDS-9.2.1-4). */
  readonly acceptMultiStatus: boolean;
  /** Whether a 308 changes the stored URL, after validation like that of a new URL (EDS-9.2.4-3). */
  readonly followPermanentRedirect: boolean;
  /** Whether the receiver enforces Idempotency-Key, so that its 409 means "still running" and is transient. */
  readonly idempotencyEnforced: boolean;
}

/**
 * A subscription. Times are Unix milliseconds. If an override is `null`, the profile's value applies; `resolvePolicy`
 * in delivery-policy.ts computes the effective values.
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
  /** Why the webhook is not active: `owner`, `gone`, `persistent_failure`, `exhausted`, `consecutive_terminal`. */
  readonly statusReason: string | null;
  readonly statusChangedAt: number;
  readonly profile: string;
  readonly schemes: readonly SignatureSchemeName[] | null;
  /** One of the payload formats of the profile. */
  readonly payloadFormat: PayloadFormatName | null;
  /** Where the bearer token is sent. `query` means the parameter `access_token` of RFC 6750, section 2.3 (CEW-3.2). */
  readonly bearerTokenIn: "header" | "query";
  readonly oauth2: OAuth2Client | null;
  /** Whether to use HTTP/2 if the receiver offers it (EDS-9.9-1). */
  readonly http2: boolean;
  /** Whether to send the headers of both families while a receiver migrates from one to the other. */
  readonly migrationHeaders: boolean;
  readonly traceContext: TracePolicy;
  readonly agreements: WebhookAgreements;
  readonly verification: WebhookVerification;
  readonly retry: WebhookRetryOverrides;
  readonly circuitBreaker: Partial<CircuitBreakerConfig>;
  readonly rateLimit: RateLimitConfig | null;
  readonly ordering: OrderingGuarantee;
  /** Custom request headers; reserved names are refused. */
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * A manual pause. Events that are published during the pause are still stored for the webhook. The pause may already
   * have ended; see `pauseAt`.
   */
  readonly pause: WebhookPause | null;
  /** Counts changes to the configuration and the keys, starting at 1. */
  readonly revision: number;
}

/** A manual pause. Times are Unix milliseconds. */
export interface WebhookPause {
  readonly since: number;
  /** When the pause ends automatically; null if only `resume` ends it. */
  readonly until: number | null;
  /** The reason given for the pause. */
  readonly reason: string | null;
}

/** The pause that is in effect at the given time; null if there is none. */
export function pauseAt({ pause }: Pick<Webhook, "pause">, now: number): WebhookPause | null {
  return pause === null || (pause.until !== null && pause.until <= now) ? null : pause;
}

/** Values of a new webhook. */
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
 * The timestamp of a change. Never earlier than that of the previous change, which may come from a clock that was
 * ahead. Other processes would treat an earlier timestamp as older and ignore the change.
 */
export function changedAt(updatedAt: number, now: number): number {
  return Math.max(now, updatedAt);
}

export interface WebhookRetryOverrides {
  readonly schedule: RetrySchedule | null;
  readonly ageMsMax: number | null;
  readonly timeoutMs: number | null;
  readonly timeoutGrowthFactor: number | null;
}

/** Identifies a lane: those deliveries of a webhook that are kept in order and share one queue position. */
export interface LaneKey {
  readonly webhookId: string;
  readonly ordering: OrderingGuarantee;
  /** Set only for `per_event_type`. */
  readonly eventType: string | null;
}

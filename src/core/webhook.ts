import type { CircuitBreakerConfig, RateLimitConfig, RetrySchedule, SignatureSchemeName } from "./profile.ts";

/** WDS-61. `strict` keeps one delivery in flight per webhook, `per_event_type` one per webhook and event type. */
export const orderingGuarantees = ["none", "per_event_type", "strict"] as const;
export type OrderingGuarantee = (typeof orderingGuarantees)[number];

/**
 * `suspended` and `disabled` are set by the rules of the profile, `disabled` also by the owner. Both stop sending;
 * events published meanwhile are recorded as `skipped` deliveries and can be recovered (C-46).
 */
export type WebhookStatus = "active" | "suspended" | "disabled";

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
  readonly retry: WebhookRetryOverrides;
  readonly circuitBreaker: Partial<CircuitBreakerConfig>;
  readonly rateLimit: RateLimitConfig | null;
  readonly ordering: OrderingGuarantee;
  /** Custom request headers; reserved names are refused (C-28). */
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  readonly updatedAt: number;
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

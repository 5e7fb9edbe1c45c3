import type { VerificationMethod } from "./webhook.ts";
import type { Attention, FailureCategory, Outcome } from "./classify.ts";

/**
 * A delivery profile as data: everything that differs between the published webhook formats.
 *
 * The engine never checks which profile a webhook has; it reads these fields. `GET /v1/profiles/{name}` returns the
 * same object, so that both parties can read what each status means (EDS-9.2-2).
 */
export interface Profile {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly classification: ClassificationTable;
  readonly schedule: RetrySchedule;
  /** Minimum delay before a retry after a failure of this category (WDS-118 to 121), applied after jitter. */
  readonly retryDelayFloorsMs: Readonly<Partial<Record<FailureCategory, number>>>;
  /** A delivery older than this is dead-lettered as `expired`. */
  readonly ageMsMax: number;
  /** Maximum requests after failures of a category, regardless of the schedule (WDS-128). */
  readonly attemptsMaxByCategory: Readonly<Partial<Record<FailureCategory, number>>>;
  /**
   * `terminal`: a failure after the time in a `Sunset` header is final (EDS-9.2.3-16). `ignored`: the header is not
   * read.
   */
  readonly sunset: "terminal" | "ignored";
  readonly timeoutMs: number;
  /** The timeout of attempt k is `timeoutMs * growth^(k-1)`, up to three times `timeoutMs` (WDS-123). */
  readonly timeoutGrowthFactor: number;
  readonly pauses: PauseRules;
  readonly disable: DisableRules;
  readonly circuitBreaker: CircuitBreakerConfig;
  /** Statuses that say nothing about the endpoint's health, so the circuit breaker does not count them. */
  readonly circuitBreakerIgnoresStatuses: readonly number[];
  /** Used if a webhook sets no limit itself; null means unlimited. */
  readonly rateLimit: RateLimitConfig | null;
  /** The schemes of a webhook that does not choose any itself. */
  readonly signatureSchemes: readonly SignatureSchemeName[];
  readonly signatureSchemesAllowed: readonly SignatureSchemeName[];
  /** The first format is the default; a webhook may choose a different one. */
  readonly payloadFormats: readonly [PayloadFormatName, ...PayloadFormatName[]];
  /** Whether an event whose `data` has no members is dead-lettered as `empty_data` instead of being sent (TS16-48). */
  readonly emptyDataRefused: boolean;
  /**
   * Headers that differ between attempts or webhooks, in the order in which they are sent. Credentials and custom
   * headers follow.
   */
  readonly headers: readonly ProfileHeader[];
  /** Also sent while a webhook migrates from one header family to the other. */
  readonly migrationHeaders: readonly ProfileHeader[];
  readonly registration: RegistrationRules;
}

/**
 * `v1` and `v1a` go into `Webhook-Signature`, `x-webhook-v1` into `X-Webhook-Signature`, the RFC 9421 schemes into
 * `Signature`, with `Signature-Input` and `Content-Digest`.
 */
export const signatureSchemeNames = [
  "v1a",
  "v1",
  "x-webhook-v1",
  "rfc9421-ed25519",
  "rfc9421-hmac-sha256",
] as const;
export type SignatureSchemeName = (typeof signatureSchemeNames)[number];

/** One header of a profile: the source of its value, or the value itself. */
export type ProfileHeader =
  | { readonly name: string; readonly value: HeaderValueSource }
  | { readonly name: string; readonly literal: string };

/**
 * `idempotency_key` is the event's ID as a structured string. `publisher_key` is the publisher's own key, unchanged. A
 * signature is omitted if none of the webhook's schemes creates it. `content_format` means the `ce-*` headers of a
 * binary CloudEvent; it is empty for other formats.
 */
export const headerValueSources = [
  "content_type",
  "content_format",
  "user_agent",
  "event_id",
  "idempotency_key",
  "publisher_key",
  "timestamp_unix",
  "timestamp_iso",
  "webhook_id",
  "event_type",
  "delivery_id",
  "attempt_number",
  "request_origin",
  "webhook_signature",
  "x_webhook_signature",
  "content_digest",
  "signature_input",
  "signature",
] as const;
export type HeaderValueSource = (typeof headerValueSources)[number];

/** Requirements that a webhook with this profile must meet before it receives deliveries. */
export interface RegistrationRules {
  /** How the receiver proves that it wants events, unless the webhook sets a different method. */
  readonly verification: VerificationMethod;
  /** Whether verification is required and cannot be disabled. */
  readonly verificationRequired: boolean;
  /** Whether a bearer token or an OAuth 2.0 client is required (CEW-3-1). */
  readonly bearerTokenRequired: boolean;
  /** Whether a 308 may change the stored URL if owner and receiver agreed on it (EDS-9.2.4-3). */
  readonly permanentRedirectAllowed: boolean;
}

/** How an event becomes a body; see payload-formats.ts. Stored data depends on the order: append new ones at the end. */
export const payloadFormats = [
  "standard",
  "data",
  "x-webhook",
  "cloudevents-structured",
  "cloudevents-binary",
  "standard-thin",
] as const;
export type PayloadFormatName = (typeof payloadFormats)[number];

/** How statuses map to outcomes: exact status first, then the class (`2` for 2xx), then the fallback. */
export interface ClassificationTable {
  readonly statuses: Readonly<Record<number, StatusRule>>;
  readonly classes: Readonly<Record<number, StatusRule>>;
  readonly fallback: StatusRule;
  /**
   * How a response with incomplete framing is classified: as transient with unknown receiver state, or by its status
   * line.
   */
  readonly incompleteResponse: "transient" | "by_status";
  readonly failures: Readonly<Record<"timeout" | "network" | "dns" | "ssl" | "protocol", StatusRule>>;
}

export interface StatusRule {
  readonly outcome: Outcome;
  /** Absent if accepted. */
  readonly category?: FailureCategory;
  readonly attention?: Attention;
  /** Whether the request may have been processed despite the status, as with 408 and 504 (EDS-9.2.2). */
  readonly receiverStateUnknown?: true;
  /** The code of a transient outcome, if the profile's document defines one. */
  readonly reason?: string;
}

/** Delays between requests. Both forms have a limited number of attempts (EDS-11.8-1). */
export type RetrySchedule =
  | {
      readonly kind: "list";
      /** Delay before attempt k+1 after attempt k, so the total is `delaysMs.length + 1` requests. */
      readonly delaysMs: readonly number[];
      readonly jitter: Jitter;
    }
  | {
      readonly kind: "exponential";
      readonly attemptsMax: number;
      readonly baseDelayMs: number;
      readonly multiplier: number;
      readonly delayMsMax: number;
      readonly jitter: Jitter;
    };

/**
 * Multiplies a delay by a uniform random number in [from, to]: `{1, 1.2}` additive, `{0, 1}` full, `{0.75, 1.25}` ±25
 * %.
 */
export interface Jitter {
  readonly from: number;
  readonly to: number;
}

/** Rules for failures that pause the whole endpoint instead of only their delivery. */
export interface PauseRules {
  /** Statuses for which Retry-After pauses every delivery of the webhook. */
  readonly retryAfterStatuses: readonly number[];
  /** Minimum pause by category, with or without Retry-After: `{ rate_limit: 60000, timeout: 60000 }`. */
  readonly categoriesMs: Readonly<Partial<Record<FailureCategory, number>>>;
  /** Minimum pause when the connection ended without a response (TS16-101); 0 for none. */
  readonly unansweredMs: number;
  /** Statuses after which the endpoint is throttled, and the duration (TS16-91). */
  readonly throttleStatusesMs: Readonly<Record<number, number>>;
}

/** Rules for disabling a webhook until a person enables it again. */
export interface DisableRules {
  /** Statuses that suspend the webhook immediately. */
  readonly suspendStatuses: readonly number[];
  /** A webhook suspended for this long becomes `disabled`. */
  readonly suspendedToDisabledMs: number;
  /** The webhook is disabled once it has received only these statuses for this long. */
  readonly persistentStatuses: readonly number[];
  readonly persistentMs: number;
  /** This many consecutive terminal outcomes suspend the webhook; 0 means never. */
  readonly consecutiveTerminalMax: number;
  /**
   * When an exhausted delivery disables the webhook: `never`, `always`, or only if no attempt was accepted since its
   * first attempt (`without_success`).
   */
  readonly onExhausted: "never" | "always" | "without_success";
  /**
   * Additional condition: the webhook must have failed for this long without an accepted attempt, because schedules may
   * end within seconds.
   */
  readonly exhaustedMsMin: number;
}

export interface CircuitBreakerConfig {
  readonly enabled: boolean;
  readonly errorThresholdPercentage: number;
  readonly minimumThroughput: number;
  readonly windowSizeMs: number;
  readonly sleepWindowMs: number;
  readonly halfOpenMaxCalls: number;
}

export interface RateLimitConfig {
  readonly requestsPerMinute: number;
  readonly burst: number;
}

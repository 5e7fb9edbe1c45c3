import type { Profile } from "../profile.ts";
import {
  dayMs,
  messageSignatureHeaders,
  minuteMs,
  secondMs,
  standard,
  standardHeaders,
  xWebhookHeaders,
} from "./standard.ts";

/**
 * CloudEvents over HTTP web hooks (CEW): permission before the first delivery, a bearer token with each, the granted
 * rate as limit, and `410` as the end. Outcomes and schedule follow `standard`, because the document does not define
 * them.
 */
export const cloudEvents: Profile = {
  ...standard,
  name: "cloudevents",
  title: "CloudEvents",
  description:
    "CloudEvents in structured or binary mode, sent only to receivers that gave permission, with a bearer token.",
  payloadFormats: ["cloudevents-structured", "cloudevents-binary"],
  headers: [
    ...standardHeaders,
    { name: "ce-*", value: "content_format" },
    { name: "WebHook-Request-Origin", value: "request_origin" },
  ],
  migrationHeaders: [],
  registration: {
    verification: "cloudevents",
    verificationRequired: true,
    bearerTokenRequired: true,
    permanentRedirectAllowed: false,
  },
};

/**
 * The event delivery draft as written (EDS): its outcome tables, full jitter, opaque bytes of any media type, RFC 9421
 * signatures. A status that the draft calls terminal ends the delivery at once, even where `standard` would retry.
 */
export const eventDelivery: Profile = {
  name: "event-delivery",
  title: "Event Delivery Semantics",
  description:
    "The Internet-Draft as written: client errors end a delivery, any media type, HTTP message signatures.",
  classification: {
    statuses: {
      207: { outcome: "transient", category: "protocol", attention: "notify" },
      408: { outcome: "transient", category: "timeout", receiverStateUnknown: true },
      410: { outcome: "terminal", category: "client_error", attention: "notify" },
      413: { outcome: "terminal", category: "payload_too_large" },
      421: { outcome: "transient", category: "client_error" },
      425: { outcome: "transient", category: "client_error" },
      429: { outcome: "transient", category: "rate_limit" },
      451: { outcome: "terminal", category: "client_error", attention: "escalate" },
      504: { outcome: "transient", category: "server_error", receiverStateUnknown: true },
    },
    classes: {
      2: { outcome: "accepted" },
      // The draft does not classify 3xx. Redirects are not followed, and the owner is notified.
      3: { outcome: "transient", category: "redirect", attention: "notify" },
      4: { outcome: "terminal", category: "client_error" },
      5: { outcome: "transient", category: "server_error" },
    },
    fallback: { outcome: "transient", category: "protocol" },
    incompleteResponse: "transient",
    failures: {
      timeout: { outcome: "transient", category: "timeout" },
      network: { outcome: "transient", category: "network" },
      dns: { outcome: "transient", category: "dns" },
      ssl: { outcome: "transient", category: "ssl", attention: "notify" },
      protocol: { outcome: "transient", category: "protocol" },
    },
  },
  // EDS-9.6-4. The maximum age ends a delivery after a day; the count is the second bound that EDS-11.8-1 requires
  // (about 295 are expected).
  schedule: {
    kind: "exponential",
    attemptsMax: 500,
    baseDelayMs: secondMs,
    multiplier: 2,
    delayMsMax: 10 * minuteMs,
    jitter: { from: 0, to: 1 },
  },
  retryDelayFloorsMs: {},
  attemptsMaxByCategory: {},
  ageMsMax: dayMs,
  sunset: "terminal",
  timeoutMs: 30 * secondMs,
  timeoutGrowthFactor: 1,
  // The draft describes deliveries, not endpoints; the circuit breaker protects those.
  pauses: { retryAfterStatuses: [], categoriesMs: {}, unansweredMs: 0, throttleStatusesMs: {} },
  disable: {
    suspendStatuses: [410],
    suspendedToDisabledMs: dayMs,
    persistentStatuses: [],
    persistentMs: dayMs,
    consecutiveTerminalMax: 20,
    onExhausted: "never",
    exhaustedMsMin: 0,
  },
  circuitBreaker: {
    enabled: true,
    errorThresholdPercentage: 50,
    minimumThroughput: 10,
    windowSizeMs: minuteMs,
    sleepWindowMs: 30 * secondMs,
    halfOpenMaxCalls: 3,
  },
  circuitBreakerIgnoresStatuses: [400, 413, 414, 415, 422, 431],
  rateLimit: null,
  signatureSchemes: ["rfc9421-ed25519"],
  signatureSchemesAllowed: ["rfc9421-ed25519", "rfc9421-hmac-sha256"],
  payloadFormats: ["data"],
  emptyDataRefused: false,
  headers: [
    { name: "Content-Type", value: "content_type" },
    { name: "User-Agent", value: "user_agent" },
    { name: "Idempotency-Key", value: "idempotency_key" },
    ...messageSignatureHeaders,
  ],
  migrationHeaders: [],
  registration: {
    verification: "none",
    verificationRequired: false,
    bearerTokenRequired: false,
    permanentRedirectAllowed: true,
  },
};

/**
 * TS-16a as written: every response but a 2xx is retried over the ten-step schedule, 404 and 410 end the webhook only
 * after a day, and an exhausted delivery disables it until its owner enables it again.
 */
export const ts16a: Profile = {
  ...standard,
  name: "ts-16a",
  title: "TS-16a",
  description:
    "The technical standard as written: retries everything but a 2xx for three days, then disables the webhook.",
  classification: {
    statuses: {
      404: { outcome: "transient", category: "client_error", attention: "notify" },
      408: { outcome: "transient", category: "timeout", attention: "warn", receiverStateUnknown: true },
      410: { outcome: "transient", category: "client_error", attention: "notify" },
      413: { outcome: "transient", category: "payload_too_large", attention: "warn" },
      429: { outcome: "transient", category: "rate_limit" },
      504: { outcome: "transient", category: "server_error", receiverStateUnknown: true },
    },
    classes: {
      2: { outcome: "accepted" },
      // TS16-96, 97: handled like a 500 and never followed. TS16-98: the owner must update the URL.
      3: { outcome: "transient", category: "redirect", attention: "notify" },
      4: { outcome: "transient", category: "client_error", attention: "warn" },
      5: { outcome: "transient", category: "server_error" },
    },
    fallback: { outcome: "transient", category: "protocol" },
    incompleteResponse: "by_status",
    failures: standard.classification.failures,
  },
  pauses: {
    retryAfterStatuses: [429],
    categoriesMs: { rate_limit: minuteMs, timeout: minuteMs },
    unansweredMs: minuteMs,
    throttleStatusesMs: { 502: 5 * secondMs, 504: 5 * secondMs },
  },
  disable: {
    suspendStatuses: [],
    suspendedToDisabledMs: dayMs,
    persistentStatuses: [404, 410],
    persistentMs: dayMs,
    consecutiveTerminalMax: 0,
    onExhausted: "always",
    exhaustedMsMin: 0,
  },
  // TS16-58 strongly recommends offering only the asymmetric scheme.
  signatureSchemes: ["v1a"],
  signatureSchemesAllowed: ["v1a", "v1"],
  emptyDataRefused: true,
  headers: standardHeaders.filter(({ name }) => !/^(?:Content-Digest|Signature)/.test(name)),
  migrationHeaders: xWebhookHeaders,
};

/** WDS-133. */
const unknownError = { outcome: "transient", reason: "unknown_error" } as const;

/**
 * "Webhook Delivery System with Retries" as written (WDS): `X-Webhook-*` headers, the eight-field body, five attempts
 * within a minute or two, never disabled automatically. Its arithmetic is corrected: attempts include the first
 * request, a delivery is exhausted right after the last one, and jitter never exceeds the maximum delay.
 */
export const xWebhook: Profile = {
  ...standard,
  name: "x-webhook",
  title: "X-Webhook",
  description:
    "X-Webhook-* headers with a t=,v1= signature and the eight-field body; five attempts, 100 requests a minute.",
  classification: {
    // WDS-125 to 133: nine statuses are final, everything else is retried cautiously.
    statuses: {
      400: { outcome: "terminal", category: "client_error" },
      401: { outcome: "terminal", category: "client_error" },
      403: { outcome: "terminal", category: "client_error" },
      404: { outcome: "terminal", category: "client_error" },
      408: { ...unknownError, category: "timeout", receiverStateUnknown: true },
      410: { outcome: "terminal", category: "client_error" },
      413: { outcome: "terminal", category: "payload_too_large" },
      414: { outcome: "terminal", category: "client_error" },
      415: { outcome: "terminal", category: "client_error" },
      429: { outcome: "transient", category: "rate_limit" },
      451: { outcome: "terminal", category: "client_error" },
      504: { outcome: "transient", category: "server_error", receiverStateUnknown: true },
    },
    classes: {
      2: { outcome: "accepted" },
      3: { ...unknownError, category: "redirect", attention: "notify" },
      4: { ...unknownError, category: "client_error" },
      5: { outcome: "transient", category: "server_error" },
    },
    fallback: { ...unknownError, category: "protocol" },
    incompleteResponse: "by_status",
    // WDS-127, 128: one kind of failure per category; the error message of an attempt gives details.
    failures: {
      ...standard.classification.failures,
      network: { outcome: "transient", category: "network", reason: "retryable_network_connection_failed" },
      dns: { outcome: "transient", category: "dns", reason: "retryable_network_dns_failure" },
      ssl: { outcome: "transient", category: "ssl", reason: "ssl_error", attention: "notify" },
      protocol: { ...unknownError, category: "protocol" },
    },
  },
  // WDS-46 to 49, 117, 122.
  schedule: {
    kind: "exponential",
    attemptsMax: 5,
    baseDelayMs: secondMs,
    multiplier: 2,
    delayMsMax: 5 * minuteMs,
    jitter: { from: 0.75, to: 1.25 },
  },
  attemptsMaxByCategory: { ssl: 3 },
  pauses: { retryAfterStatuses: [], categoriesMs: {}, unansweredMs: 0, throttleStatusesMs: {} },
  disable: {
    suspendStatuses: [],
    suspendedToDisabledMs: dayMs,
    persistentStatuses: [],
    persistentMs: dayMs,
    consecutiveTerminalMax: 0,
    onExhausted: "never",
    exhaustedMsMin: 0,
  },
  // Every failure counts, including those that the payload caused.
  circuitBreakerIgnoresStatuses: [],
  rateLimit: { requestsPerMinute: 100, burst: 20 },
  signatureSchemes: ["x-webhook-v1"],
  signatureSchemesAllowed: ["x-webhook-v1", "rfc9421-ed25519", "rfc9421-hmac-sha256"],
  payloadFormats: ["x-webhook"],
  headers: [
    { name: "Content-Type", value: "content_type" },
    ...xWebhookHeaders,
    { name: "User-Agent", literal: "WebhookService/1.0" },
    { name: "Idempotency-Key", value: "idempotency_key" },
    ...messageSignatureHeaders,
  ],
  migrationHeaders: standardHeaders.filter(({ name }) => name.startsWith("Webhook-")),
};

/** All published profiles, the default first. `GET /v1/profiles` lists them in this order. */
export const profiles: readonly Profile[] = [standard, eventDelivery, ts16a, cloudEvents, xWebhook];

const profilesByName: ReadonlyMap<string, Profile> = new Map(
  profiles.map((profile) => [profile.name, profile]),
);

/** The profile with exactly this name, or undefined. */
export function findProfile(name: string): Profile | undefined {
  return profilesByName.get(name);
}

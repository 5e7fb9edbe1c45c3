import type { Profile, ProfileHeader } from "../profile.ts";

/** Time units for the profiles, in milliseconds. */
export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** RFC 9421 with RFC 9530; sent only if a webhook signs with one of its algorithms. */
export const messageSignatureHeaders: readonly ProfileHeader[] = [
  { name: "Content-Digest", value: "content_digest" },
  { name: "Signature-Input", value: "signature_input" },
  { name: "Signature", value: "signature" },
];

/** Standard Webhooks with the key of EDS-9.4-1 (TS16-28). No header carries payload data (TS16-39). */
export const standardHeaders: readonly ProfileHeader[] = [
  { name: "Content-Type", value: "content_type" },
  { name: "User-Agent", value: "user_agent" },
  { name: "Webhook-ID", value: "event_id" },
  { name: "Webhook-Timestamp", value: "timestamp_unix" },
  { name: "Webhook-Signature", value: "webhook_signature" },
  { name: "Idempotency-Key", value: "idempotency_key" },
  ...messageSignatureHeaders,
];

export const xWebhookHeaders: readonly ProfileHeader[] = [
  { name: "X-Webhook-ID", value: "webhook_id" },
  { name: "X-Webhook-Signature", value: "x_webhook_signature" },
  { name: "X-Webhook-Event", value: "event_type" },
  { name: "X-Webhook-Delivery", value: "delivery_id" },
  { name: "X-Webhook-Attempt", value: "attempt_number" },
  { name: "X-Webhook-Timestamp", value: "timestamp_iso" },
  { name: "X-Idempotency-Key", value: "publisher_key" },
];

/**
 * The default profile: the wire format of Standard Webhooks with the semantics of the event delivery draft.
 *
 * A status that depends on the payload (400, 413, 414, 415, 422, 431) will not change, so the delivery is dead-lettered
 * immediately. A status that depends on the endpoint (401, 403, 404, 405, 409, ...) is often fixed within hours after a
 * bad deployment, and losing events would be worse than nine extra bounded requests. That is stricter than TS16-95 and
 * more patient than EDS-9.2.3, which EDS-9.2-2 allows because this object is published.
 *
 * Sources: TS16-99, TS16-106, WDS-52 to 57, WDS-118 to 120.
 */
export const standard: Profile = {
  name: "standard",
  title: "Standard",
  description:
    "Standard Webhooks wire format; retries for about three days; patient with endpoints, strict with payloads.",
  classification: {
    statuses: {
      207: { outcome: "transient", category: "protocol", attention: "notify" },
      400: { outcome: "terminal", category: "client_error" },
      401: { outcome: "transient", category: "client_error", attention: "notify" },
      403: { outcome: "transient", category: "client_error", attention: "notify" },
      404: { outcome: "transient", category: "client_error", attention: "notify" },
      408: { outcome: "transient", category: "timeout", receiverStateUnknown: true },
      409: { outcome: "transient", category: "client_error" },
      410: { outcome: "terminal", category: "client_error", attention: "notify" },
      413: { outcome: "terminal", category: "payload_too_large" },
      414: { outcome: "terminal", category: "client_error" },
      415: { outcome: "terminal", category: "client_error" },
      421: { outcome: "transient", category: "client_error" },
      422: { outcome: "terminal", category: "client_error" },
      425: { outcome: "transient", category: "client_error" },
      429: { outcome: "transient", category: "rate_limit" },
      431: { outcome: "terminal", category: "client_error" },
      451: { outcome: "terminal", category: "client_error", attention: "escalate" },
      504: { outcome: "transient", category: "server_error", receiverStateUnknown: true },
    },
    classes: {
      2: { outcome: "accepted" },
      3: { outcome: "transient", category: "redirect", attention: "notify" },
      4: { outcome: "transient", category: "client_error", attention: "warn" },
      5: { outcome: "transient", category: "server_error" },
    },
    // Includes 1xx: only a final status counts, so a response that ends with an interim status is broken.
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
  // Ten requests over 75:35:05 (TS16-106). Additive jitter never shortens the listed delays.
  schedule: {
    kind: "list",
    delaysMs: [
      5 * secondMs,
      5 * minuteMs,
      30 * minuteMs,
      2 * hourMs,
      5 * hourMs,
      10 * hourMs,
      14 * hourMs,
      20 * hourMs,
      24 * hourMs,
    ],
    jitter: { from: 1, to: 1.2 },
  },
  retryDelayFloorsMs: { rate_limit: 60 * secondMs, dns: 5 * secondMs, timeout: 2 * secondMs },
  attemptsMaxByCategory: {},
  ageMsMax: 5 * dayMs,
  sunset: "ignored",
  timeoutMs: 30 * secondMs,
  timeoutGrowthFactor: 1,
  pauses: {
    retryAfterStatuses: [429, 503],
    categoriesMs: { rate_limit: 60 * secondMs, timeout: 60 * secondMs },
    unansweredMs: 0,
    // TS16-91 does not give a number. Five seconds are enough for a gateway to restart, and match the first delay of
    // the schedule.
    throttleStatusesMs: { 502: 5 * secondMs, 504: 5 * secondMs },
  },
  disable: {
    suspendStatuses: [410],
    suspendedToDisabledMs: dayMs,
    persistentStatuses: [404],
    persistentMs: dayMs,
    consecutiveTerminalMax: 20,
    onExhausted: "without_success",
    exhaustedMsMin: dayMs,
  },
  circuitBreaker: {
    enabled: true,
    errorThresholdPercentage: 50,
    minimumThroughput: 10,
    windowSizeMs: 60 * secondMs,
    sleepWindowMs: 30 * secondMs,
    halfOpenMaxCalls: 3,
  },
  // Statuses caused by the payload. 451 is not in the list, so it counts as a failure, although it concerns neither the
  // endpoint's health nor the payload.
  circuitBreakerIgnoresStatuses: [400, 413, 414, 415, 422, 431],
  rateLimit: null,
  signatureSchemes: ["v1a", "v1"],
  signatureSchemesAllowed: ["v1a", "v1", "rfc9421-ed25519", "rfc9421-hmac-sha256"],
  payloadFormats: ["standard", "standard-thin"],
  emptyDataRefused: false,
  headers: standardHeaders,
  migrationHeaders: xWebhookHeaders,
  registration: {
    verification: "none",
    verificationRequired: false,
    bearerTokenRequired: false,
    permanentRedirectAllowed: false,
  },
};

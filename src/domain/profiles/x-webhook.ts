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

/** The result for a failure that no other rule covers (WDS-133). */
const unknownError = { outcome: "transient", reason: "unknown_error" } as const;

/**
 * "Webhook Delivery System with Retries" as written (WDS): `X-Webhook-*` headers, the eight-field body, five attempts
 * within a minute or two, and no automatic disabling. Its arithmetic is corrected: the number of attempts includes the
 * first request, a delivery is exhausted right after the last one, and jitter never exceeds the maximum delay.
 */
export const xWebhook: Profile = {
  ...standard,
  name: "x-webhook",
  title: "X-Webhook",
  description:
    "X-Webhook-* headers with a t=,v1= signature and the eight-field body; five attempts, 100 requests a minute.",
  classification: {
    // Nine statuses are final; everything else is retried, within limits (WDS-125 to 133).
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
    // All failures of a category have the same reason; the error message of an attempt gives details (WDS-127, 128).
    failures: {
      ...standard.classification.failures,
      network: { outcome: "transient", category: "network", reason: "retryable_network_connection_failed" },
      dns: { outcome: "transient", category: "dns", reason: "retryable_network_dns_failure" },
      ssl: { outcome: "transient", category: "ssl", reason: "ssl_error", attention: "notify" },
      protocol: { ...unknownError, category: "protocol" },
    },
  },
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
  // Counts every failure, including those that the payload caused.
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

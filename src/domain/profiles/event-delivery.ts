import type { Profile } from "../profile.ts";
import { dayMs, messageSignatureHeaders, minuteMs, secondMs } from "./standard.ts";

/**
 * The event delivery draft as written (EDS): its outcome tables, full jitter, opaque bytes of any media type, RFC 9421
 * signatures. A status that the draft calls terminal ends the delivery immediately, even where `standard` would retry.
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
      // The draft does not classify 3xx statuses. Redirects are not followed, and the owner is notified.
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
  // The maximum age ends a delivery after a day. The count is the second limit that EDS-11.8-1 requires (about 295
  // requests are expected). See EDS-9.6-4.
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
  // The draft describes deliveries, not endpoints; the circuit breaker protects the endpoints.
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

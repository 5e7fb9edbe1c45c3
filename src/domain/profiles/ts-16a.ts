import type { Profile } from "../profile.ts";
import { dayMs, minuteMs, secondMs, standard, standardHeaders, xWebhookHeaders } from "./standard.ts";

/**
 * TS-16a as written: every response other than a 2xx is retried according to the ten-step schedule, 404 and 410 disable
 * the webhook only after a day, and an exhausted delivery disables it until its owner enables it again.
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
      // A 3xx is handled like a 500 and never followed (TS16-96, 97). The owner must update the URL (TS16-98).
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

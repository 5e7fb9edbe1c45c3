import { attemptTimeoutMsMax, timeoutGrowthMax } from "../delivery-policy.ts";
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../retry-schedule.ts";
import { decimal, integer, list } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";

/** Payloads are kept this long by default (C-44). */
const ageMsMax = 30 * 86_400_000;

/** For one request. Shorter is an accident: many receivers need longer for their first TLS handshake. */
export const timeoutBounds = { min: 100, max: attemptTimeoutMsMax };

const delay = integer({ min: 0, max: scheduleDelayMsMax });

/** `retry_config`: either the exponential fields of WDS-46 to 51, or a list of delays. */
export const retryFields = {
  maxAttempts: integer({
    min: 1,
    max: scheduleAttemptsMax,
    doc: "Requests in all, the first one included.",
  }),
  baseDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "Delay before the second request." }),
  maxDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "No delay is longer." }),
  backoffMultiplier: decimal({ min: 1, max: 100, doc: "Each delay is so many times the one before." }),
  timeoutMs: integer({ ...timeoutBounds, doc: "For one whole request." }),
  timeoutGrowthFactor: decimal({
    min: 1,
    max: timeoutGrowthMax,
    doc: "The timeout grows by this with each attempt, to at most three times.",
  }),
  scheduleMs: list(delay, {
    // The first request needs no delay.
    countMax: scheduleAttemptsMax - 1,
    doc: "Delays between requests, instead of the exponential fields.",
    examples: [[5_000, 60_000, 600_000]],
  }),
  maxAgeMs: integer({ min: 1_000, max: ageMsMax, doc: "A delivery older than this is dead-lettered." }),
} satisfies Fields;
export type RetryInput = InputOf<typeof retryFields>;

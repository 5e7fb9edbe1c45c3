import { attemptTimeoutMsMax, timeoutGrowthMax } from "../delivery-policy.ts";
import { scheduleAttemptsMax, scheduleDelayMsMax } from "../retry-schedule.ts";
import { decimal, integer, list } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";

/** Payloads are kept this long by default. */
const ageMsMax = 30 * 86_400_000;

/** For one request. A shorter timeout is likely a mistake: many receivers need longer for their first TLS handshake. */
export const timeoutBounds = { min: 100, max: attemptTimeoutMsMax };

const delay = integer({ min: 0, max: scheduleDelayMsMax });

/** `retry_config`: either the exponential fields of WDS-46 to 51, or a list of delays. */
export const retryFields = {
  maxAttempts: integer({
    min: 1,
    max: scheduleAttemptsMax,
    doc: "Total number of requests, including the first.",
  }),
  baseDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "Delay before the second request." }),
  maxDelayMs: integer({ min: 1, max: scheduleDelayMsMax, doc: "Upper bound of every delay." }),
  backoffMultiplier: decimal({ min: 1, max: 100, doc: "Factor between consecutive delays." }),
  timeoutMs: integer({ ...timeoutBounds, doc: "Timeout of one whole request." }),
  timeoutGrowthFactor: decimal({
    min: 1,
    max: timeoutGrowthMax,
    doc: "Factor by which the timeout grows with each attempt, up to three times the initial timeout.",
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

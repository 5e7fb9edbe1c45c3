import { apiPath } from "../../core/fields/field.ts";
import { retryFields, type RetryInput } from "../../core/fields/webhook-retry.ts";
import type { RetrySchedule } from "../../core/profile.ts";
import { listJitter } from "../../core/delivery-policy.ts";
import { validateSchedule } from "../../core/retry-schedule.ts";
import type { WebhookRetryOverrides } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import type { ProblemList } from "../problem-list.ts";

/** No overrides: the profile applies. */
export const noRetryOverrides: WebhookRetryOverrides = {
  schedule: null,
  ageMsMax: null,
  timeoutMs: null,
  timeoutGrowthFactor: null,
};

/** Defaults of the exponential form (WDS-46 to 49, 122). */
const exponentialDefaults = {
  kind: "exponential",
  attemptsMax: 5,
  baseDelayMs: 1_000,
  multiplier: 2,
  delayMsMax: 300_000,
  jitter: { from: 0.75, to: 1.25 },
} as const satisfies RetrySchedule;

/** Exponential fields of the input, with their names in a schedule. */
const exponentialFields = {
  maxAttempts: "attemptsMax",
  baseDelayMs: "baseDelayMs",
  maxDelayMs: "delayMsMax",
  backoffMultiplier: "multiplier",
} as const satisfies Partial<Record<keyof RetryInput, string>>;
const exponentialNames = Object.keys(exponentialFields) as readonly (keyof typeof exponentialFields)[];

/** Merges `retry_config` and `timeout_ms` into the current values. `null` resets to the profile. */
export function mergeRetry(
  base: WebhookRetryOverrides,
  input: Pick<WebhookInput, "retry" | "timeoutMs">,
  problems: ProblemList,
): WebhookRetryOverrides {
  const { retry, timeoutMs } = input;
  if (typeof timeoutMs === "number" && (retry?.timeoutMs ?? timeoutMs) !== timeoutMs) {
    problems.add({ field: "timeout_ms", message: "contradicts retry_config.timeout_ms; give one of them" });
  }
  const merged = mergeRetryConfig(base, retry, problems);
  return timeoutMs === undefined ? merged : { ...merged, timeoutMs };
}

function mergeRetryConfig(
  base: WebhookRetryOverrides,
  retry: RetryInput | null | undefined,
  problems: ProblemList,
): WebhookRetryOverrides {
  if (retry === undefined) return base;
  if (retry === null) return noRetryOverrides;
  return {
    schedule: mergeSchedule(base.schedule, retry, problems),
    ageMsMax: retry.maxAgeMs ?? base.ageMsMax,
    timeoutMs: retry.timeoutMs ?? base.timeoutMs,
    timeoutGrowthFactor: retry.timeoutGrowthFactor ?? base.timeoutGrowthFactor,
  };
}

/** A single exponential field selects the exponential form; `schedule_ms` selects the list. */
function mergeSchedule(
  base: RetrySchedule | null,
  retry: RetryInput,
  problems: ProblemList,
): RetrySchedule | null {
  const asked = exponentialNames.filter((name) => retry[name] !== undefined);
  if (retry.scheduleMs !== undefined) {
    const fields = asked.map((name) => `retry_config.${apiPath(name, retryFields[name])}`);
    problems.contradiction(fields, "cannot be combined with retry_config.schedule_ms");
    return checked({ kind: "list", delaysMs: retry.scheduleMs, jitter: listJitter }, problems);
  }
  if (asked.length === 0) return base;
  const start = base?.kind === "exponential" ? base : exponentialDefaults;
  const changes = Object.fromEntries(asked.map((name) => [exponentialFields[name], retry[name]]));
  return checked({ ...start, ...changes }, problems);
}

/** The parts are already validated individually; this validates their total duration. */
function checked(schedule: RetrySchedule, problems: ProblemList): RetrySchedule {
  for (const { problem } of validateSchedule(schedule)) {
    problems.add({ field: "retry_config", message: problem });
  }
  return schedule;
}

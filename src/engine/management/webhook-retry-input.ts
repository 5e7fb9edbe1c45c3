import { attemptTimeoutMsMax } from "../../core/delivery-policy.ts";
import type { RetrySchedule } from "../../core/profile.ts";
import { validateSchedule } from "../../core/retry-schedule.ts";
import type { WebhookRetryOverrides } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { isRecord, type ProblemList } from "./problem-list.ts";

/** Nothing overridden: as the profile says. */
export const noRetryOverrides: WebhookRetryOverrides = {
  schedule: null,
  ageMsMax: null,
  timeoutMs: null,
  timeoutGrowthFactor: null,
};

/** Shorter is an accident: many receivers need longer for their first TLS handshake. */
const timeoutMsMin = 100;
const timeoutGrowthMax = 3;
const ageMsMin = 1_000;
/** Payloads are kept this long by default (C-44). */
const ageMsMax = 30 * 86_400_000;

/** What a webhook that asks for the exponential form gets where it says nothing (WDS-46 to 49, 122). */
const exponentialDefaults = {
  kind: "exponential",
  attemptsMax: 5,
  baseDelayMs: 1_000,
  multiplier: 2,
  delayMsMax: 300_000,
  jitter: { from: 0.75, to: 1.25 },
} as const satisfies RetrySchedule;

/** A list of delays is spread like the schedule of the default profile: never earlier than written (C-2). */
const listJitter = { from: 1, to: 1.2 };

/** Exponential fields of the input, with their names in a schedule. */
const exponentialFields = {
  maxAttempts: "attemptsMax",
  baseDelayMs: "baseDelayMs",
  maxDelayMs: "delayMsMax",
  backoffMultiplier: "multiplier",
} as const;

/** Fields of a schedule, with their paths in the API. */
const schedulePaths: ReadonlyMap<string, string> = new Map([
  ["attemptsMax", "max_attempts"],
  ["baseDelayMs", "base_delay_ms"],
  ["delayMsMax", "max_delay_ms"],
  ["multiplier", "backoff_multiplier"],
  ["delaysMs", "schedule_ms"],
]);

/** Merges `retry_config` and `timeout_ms` into what is set. `null` goes back to the profile. */
export function mergeRetry(
  base: WebhookRetryOverrides,
  change: { readonly input: WebhookInput; readonly problems: ProblemList },
): WebhookRetryOverrides {
  const { input, problems } = change;
  const merged = mergeRetryConfig(base, { retry: input.retry, problems });
  if (input.timeoutMs === undefined) return merged;
  if (input.timeoutMs === null) return { ...merged, timeoutMs: null };
  if (input.retry?.timeoutMs !== undefined && input.retry.timeoutMs !== input.timeoutMs) {
    problems.add({ field: "timeout_ms", message: "contradicts retry_config.timeout_ms; give one of them" });
  }
  return { ...merged, timeoutMs: readTimeout("timeout_ms", { value: input.timeoutMs, problems }) };
}

function mergeRetryConfig(
  base: WebhookRetryOverrides,
  change: { readonly retry: unknown; readonly problems: ProblemList },
): WebhookRetryOverrides {
  const { retry, problems } = change;
  if (retry === undefined) return base;
  if (retry === null) return noRetryOverrides;
  if (!isRecord(retry)) {
    problems.add({ field: "retry_config", message: "must be an object, or null" });
    return base;
  }
  const { maxAgeMs, timeoutMs, timeoutGrowthFactor } = retry;
  const age = { value: maxAgeMs, min: ageMsMin, max: ageMsMax, whole: true };
  const growth = { value: timeoutGrowthFactor, min: 1, max: timeoutGrowthMax, whole: false };
  return {
    schedule: readSchedule(base.schedule, { retry, problems }),
    ageMsMax: maxAgeMs === undefined ? base.ageMsMax : problems.number("retry_config.max_age_ms", age),
    timeoutMs:
      timeoutMs === undefined
        ? base.timeoutMs
        : readTimeout("retry_config.timeout_ms", { value: timeoutMs, problems }),
    timeoutGrowthFactor:
      timeoutGrowthFactor === undefined
        ? base.timeoutGrowthFactor
        : problems.number("retry_config.timeout_growth_factor", growth),
  };
}

function readTimeout(
  field: string,
  from: { readonly value: unknown; readonly problems: ProblemList },
): number | null {
  return from.problems.number(field, {
    value: from.value,
    min: timeoutMsMin,
    max: attemptTimeoutMsMax,
    whole: true,
  });
}

/** One exponential field is enough to choose the exponential form; `schedule_ms` chooses the list. */
function readSchedule(
  base: RetrySchedule | null,
  change: { readonly retry: Readonly<Record<string, unknown>>; readonly problems: ProblemList },
): RetrySchedule | null {
  const { retry, problems } = change;
  const asked = Object.entries(exponentialFields).filter(([name]) => retry[name] !== undefined);
  if (retry["scheduleMs"] !== undefined) {
    if (asked.length > 0) {
      const message =
        "cannot be combined with max_attempts, base_delay_ms, max_delay_ms or backoff_multiplier";
      problems.add({ field: "retry_config.schedule_ms", message });
    }
    return checked({ kind: "list", delaysMs: retry["scheduleMs"], jitter: listJitter }, problems);
  }
  if (asked.length === 0) return base;
  const start = base?.kind === "exponential" ? base : exponentialDefaults;
  return checked(
    { ...start, ...Object.fromEntries(asked.map(([name, field]) => [field, retry[name]])) },
    problems,
  );
}

function checked(candidate: unknown, problems: ProblemList): RetrySchedule | null {
  const found = validateSchedule(candidate);
  for (const { field, problem } of found) problems.add({ field: pathOf(field), message: problem });
  // Sound when nothing was found; otherwise the whole change is refused.
  return found.length === 0 ? (candidate as RetrySchedule) : null;
}

/** `delaysMs[2]` is `retry_config.schedule_ms[2]`. */
function pathOf(field: string): string {
  if (field === "") return "retry_config";
  const [name = "", index] = field.split("[");
  return `retry_config.${schedulePaths.get(name) ?? name}${index === undefined ? "" : `[${index}`}`;
}

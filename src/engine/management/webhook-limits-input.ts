import type { CircuitBreakerConfig, RateLimitConfig } from "../../core/profile.ts";
import type { Webhook } from "../../core/webhook.ts";
import { isRecord, type NumberRange, type ProblemList } from "./problem-list.ts";

const breakerRanges: Readonly<Record<string, Omit<NumberRange, "value"> & { readonly path: string }>> = {
  errorThresholdPercentage: { path: "error_threshold_percentage", min: 1, max: 100, whole: false },
  minimumThroughput: { path: "minimum_throughput", min: 1, max: 1_000_000, whole: true },
  windowSizeMs: { path: "window_size_ms", min: 1_000, max: 3_600_000, whole: true },
  sleepWindowMs: { path: "sleep_window_ms", min: 100, max: 86_400_000, whole: true },
  halfOpenMaxCalls: { path: "half_open_max_calls", min: 1, max: 100, whole: true },
};

/** `null` goes back to the profile; of an object each absent field keeps its value. */
export function mergeCircuitBreaker(
  base: Webhook["circuitBreaker"],
  { change, problems }: { readonly change: unknown; readonly problems: ProblemList },
): Partial<CircuitBreakerConfig> {
  if (change === undefined) return base;
  if (change === null) return {};
  if (!isRecord(change)) {
    problems.add({ field: "circuit_breaker_config", message: "must be an object, or null" });
    return base;
  }
  const merged: Record<string, unknown> = { ...base };
  if (change["enabled"] !== undefined) {
    merged["enabled"] = change["enabled"];
    if (typeof change["enabled"] !== "boolean") {
      problems.add({ field: "circuit_breaker_config.enabled", message: "must be true or false" });
    }
  }
  for (const [name, { path, ...range }] of Object.entries(breakerRanges)) {
    const value = change[name];
    if (value !== undefined)
      merged[name] = problems.number(`circuit_breaker_config.${path}`, { ...range, value });
  }
  return merged;
}

const rateMax = 1_000_000;
/** WDS-60: where only the rate is given. */
const burstDefault = 20;

/** `null` goes back to the profile. */
export function mergeRateLimit(
  base: RateLimitConfig | null,
  { change, problems }: { readonly change: unknown; readonly problems: ProblemList },
): RateLimitConfig | null {
  if (change === undefined) return base;
  if (change === null) return null;
  if (!isRecord(change)) {
    problems.add({ field: "rate_limit", message: "must be an object, or null" });
    return base;
  }
  const requestsPerMinute = change["requestsPerMinute"] ?? base?.requestsPerMinute;
  const burst = change["burst"] ?? base?.burst ?? burstDefault;
  const range = { min: 1, max: rateMax, whole: true };
  const limit = {
    requestsPerMinute: problems.number("rate_limit.requests_per_minute", {
      ...range,
      value: requestsPerMinute,
    }),
    burst: problems.number("rate_limit.burst", { ...range, value: burst }),
  };
  return limit.requestsPerMinute === null || limit.burst === null ? null : (limit as RateLimitConfig);
}

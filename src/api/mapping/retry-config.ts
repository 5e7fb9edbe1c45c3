import { attemptsMax } from "../../core/retry-schedule.ts";
import type { WebhookRetryOverrides } from "../../core/webhook.ts";

/** `retry_config` in force, or the overrides of a webhook with null for values of its profile. */
export function retryConfigJson({
  schedule,
  timeoutMs,
  timeoutGrowthFactor,
  ageMsMax,
}: WebhookRetryOverrides): Record<string, unknown> {
  const exponential = schedule?.kind === "exponential" ? schedule : null;
  return {
    max_attempts: schedule && attemptsMax(schedule),
    base_delay_ms: exponential?.baseDelayMs ?? null,
    max_delay_ms: exponential?.delayMsMax ?? null,
    backoff_multiplier: exponential?.multiplier ?? null,
    timeout_ms: timeoutMs,
    timeout_growth_factor: timeoutGrowthFactor,
    schedule_ms: schedule?.kind === "list" ? schedule.delaysMs : null,
    max_age_ms: ageMsMax,
  };
}

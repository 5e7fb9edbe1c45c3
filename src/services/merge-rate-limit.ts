import { defaultOf } from "../core/fields/field.ts";
import { rateLimitFields, type RateLimitInput } from "../core/fields/tenant.ts";
import type { RateLimitConfig } from "../core/profile.ts";

/** `null` removes the limit; an omitted burst keeps its value. */
export function mergeRateLimit(
  base: RateLimitConfig | null,
  change: RateLimitInput | null | undefined,
): RateLimitConfig | null {
  if (change === undefined) return base;
  return change && { ...change, burst: change.burst ?? base?.burst ?? defaultOf(rateLimitFields.burst) };
}

import type { Counts } from "./counts.ts";
import { type DistributionName, distributionSpan, keys } from "./keys.ts";

/**
 * Distributions of durations. Each class is a fifth longer than the one before, so a value read from a class is off by
 * no more than a tenth, and class counts add up over buckets, webhooks and processes. The first class is everything
 * below a millisecond.
 */
const growth = 1.2;
const logOfGrowth = Math.log(growth);
const placeMax = distributionSpan - 1;

/** The class of a duration in milliseconds. */
export function placeOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(placeMax, 1 + Math.floor(Math.log(ms) / logOfGrowth));
}

/** A duration in the middle of a class, in milliseconds. */
export function timeAt(place: number): number {
  return place === 0 ? 0.5 : growth ** (place - 0.5);
}

/** The duration that the given share stays below (nearest rank), in milliseconds; null if nothing was counted. */
export function percentile(counts: Counts, name: DistributionName, share: number): number | null {
  const from = keys[name];
  const places = counts.within(from, from + distributionSpan);
  const all = places.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [key, count] of places) {
    below += count;
    if (below >= all * share) return timeAt(key - from);
  }
  return null;
}

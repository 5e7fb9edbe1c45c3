import type { Counts } from "./counts.ts";
import { type DistributionName, distributionSpan, keys } from "./keys.ts";

/**
 * Distributions of times: places that grow by a fifth, so that what is read from a place is wrong by a tenth at most, and
 * counts of places add up over buckets, webhooks and processes. The first place is everything below a millisecond.
 */
const growth = 1.2;
const logOfGrowth = Math.log(growth);
const placeMax = distributionSpan - 1;

/** The place of a time in milliseconds. */
export function placeOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(placeMax, 1 + Math.floor(Math.log(ms) / logOfGrowth));
}

/** A time in the middle of a place, milliseconds. */
export function timeAt(place: number): number {
  return place === 0 ? 0.5 : growth ** (place - 0.5);
}

/** The time that a share of all stays below (nearest rank), milliseconds; null where nothing was counted. */
export function percentile(
  counts: Counts,
  { name, share }: { readonly name: DistributionName; readonly share: number },
): number | null {
  const from = keys[name];
  const places = counts.within({ from, to: from + distributionSpan });
  const all = places.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [key, count] of places) {
    below += count;
    if (below >= all * share) return timeAt(key - from);
  }
  return null;
}

/**
 * The queue position is the place of a waiting delivery in its lane, one number so that one index serves all lanes
 * (column `rank`). Ordered lanes go by publish order, whatever the priority or due time, and a delivery that was retried after
 * its end goes behind what waited then (`order_position`). Others go by priority, then due time.
 */
export const tierSpan = 2 ** 48;
export const queuePositionMax = 3 * tierSpan - 1;

export interface Place {
  /** Its stored order position; its publish position before the first retry. */
  readonly order: number;
  readonly priority: number;
  readonly dueAt: number;
}

export function queuePositionIn(lane: { readonly ordered: boolean }, place: Place): number {
  return lane.ordered ? place.order : place.priority * tierSpan + withinTier(place.dueAt);
}

/** A time as an offset within its tier; absurd ones must not leak into the tier of another priority. */
export function withinTier(timeMs: number): number {
  return Math.min(Math.max(timeMs, 0), tierSpan - 1);
}

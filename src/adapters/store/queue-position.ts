/**
 * The queue position orders the waiting deliveries of a lane. It is a single number, so that one index serves all lanes
 * (column `rank`). Ordered lanes use the publish order, whatever the priority or due time; a delivery that was retried
 * after its end goes behind all that waited then (`order_position`). Other lanes use priority, then due time.
 */
export const tierSpan = 2 ** 48;
export const queuePositionMax = 3 * tierSpan - 1;

export interface Place {
  /** Its stored order position; before the first retry, its publish position. */
  readonly order: number;
  readonly priority: number;
  readonly dueAt: number;
}

export function queuePositionIn(lane: { readonly ordered: boolean }, place: Place): number {
  return lane.ordered ? place.order : place.priority * tierSpan + withinTier(place.dueAt);
}

/** A time as an offset within its tier, clamped so that absurd times cannot reach the tier of another priority. */
export function withinTier(timeMs: number): number {
  return Math.min(Math.max(timeMs, 0), tierSpan - 1);
}

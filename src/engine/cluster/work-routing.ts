import type { LaneKey } from "../../core/webhook.ts";
import type { PendingLane } from "../../ports/store/ownership.ts";
import type { WorkHint, WorkQueue } from "../../ports/work-queue.ts";

/**
 * Notifies the worker that should serve these lanes: the owner of the webhook if there is one, otherwise any worker
 * of the pool. False if something was not carried. An unusable pool queue does not hold back hints for other pools.
 */
export function routeWork(
  queue: Pick<WorkQueue, "send" | "notify">,
  pending: readonly PendingLane[],
): boolean {
  const hintsOf = new Map<string, WorkHint[]>();
  const lanesOf = new Map<number, LaneKey[]>();
  for (const { lane, worker, pool, priority } of pending) {
    if (worker === null) listOf(hintsOf, pool).push({ lane, pool, priority });
    else listOf(lanesOf, worker).push(lane);
  }
  let isCarried = true;
  for (const hints of hintsOf.values()) isCarried = queue.send(hints) && isCarried;
  for (const [worker, lanes] of lanesOf) isCarried = queue.notify({ worker, lanes }) && isCarried;
  return isCarried;
}

function listOf<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

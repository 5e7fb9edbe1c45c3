import type { LaneKey } from "../../core/webhook.ts";
import type { PendingLane } from "../../ports/store/ownership.ts";
import type { WorkHint, WorkQueue } from "../../ports/work-queue.ts";

/**
 * Notifies the worker that should look into these lanes: the owner of the webhook where there is one, else any worker
 * of the pool. False when something was not carried: a pool whose queues cannot be used does not keep back hints of
 * others.
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

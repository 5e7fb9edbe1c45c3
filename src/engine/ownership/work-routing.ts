import type { LaneKey } from "../../core/webhook.ts";
import type { LaneLeft } from "../../ports/store/ownership.ts";
import type { WorkNotice, WorkQueue } from "../../ports/work-queue.ts";

/**
 * Tells who should look into these lanes: the owner of the webhook where there is one, else whoever gets the notice.
 * False when something was not carried: one pool whose queues cannot be used does not keep back the notices of others.
 */
export function routeWork(queue: Pick<WorkQueue, "send" | "tell">, left: readonly LaneLeft[]): boolean {
  const noticesOf = new Map<string, WorkNotice[]>();
  const lanesOf = new Map<number, LaneKey[]>();
  for (const { lane, worker, pool, priority } of left) {
    if (worker === null) listOf(noticesOf, pool).push({ lane, pool, priority });
    else listOf(lanesOf, worker).push(lane);
  }
  let isCarried = true;
  for (const notices of noticesOf.values()) isCarried = queue.send(notices) && isCarried;
  for (const [worker, lanes] of lanesOf) isCarried = queue.tell({ worker, lanes }) && isCarried;
  return isCarried;
}

function listOf<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

import { priorities } from "../../../core/delivery.ts";
import type { WorkNotice } from "../../../ports/work-queue.ts";

/**
 * Notices that wait to be sent: for the end of the turn, or until the queues of their pool are declared. A lane is in it
 * once for each pool, with the highest priority that was asked for, because one notice makes a worker empty the lane.
 */
export class Outbox {
  readonly #pools = new Map<string, Map<string, WorkNotice>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  add(notice: WorkNotice): void {
    const lanes = this.#pools.get(notice.pool) ?? new Map<string, WorkNotice>();
    this.#pools.set(notice.pool, lanes);
    const { webhookId, ordering, eventType } = notice.lane;
    const key = `${webhookId} ${ordering} ${eventType ?? ""}`;
    const known = lanes.get(key);
    if (known === undefined) this.#size += 1;
    if (known === undefined || rank(notice) < rank(known)) lanes.set(key, notice);
  }

  /** Removes and returns what waits for a pool. */
  take(pool: string): readonly WorkNotice[] {
    const lanes = this.#pools.get(pool);
    if (lanes === undefined) return [];
    this.#pools.delete(pool);
    this.#size -= lanes.size;
    return [...lanes.values()];
  }

  /** Returns how many there were. */
  clear(): number {
    const size = this.#size;
    this.#pools.clear();
    this.#size = 0;
    return size;
  }
}

function rank({ priority }: WorkNotice): number {
  return priorities.indexOf(priority);
}

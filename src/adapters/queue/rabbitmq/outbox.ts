import { priorities } from "../../../core/delivery.ts";
import type { WorkHint } from "../../../ports/work-queue.ts";

/**
 * Hints waiting to be sent: until the end of the turn, or until the queues of their pool are declared. A lane is stored
 * once per pool with its highest requested priority, because one hint makes a worker empty the lane.
 */
export class Outbox {
  readonly #pools = new Map<string, Map<string, WorkHint>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  add(hint: WorkHint): void {
    const lanes = this.#pools.get(hint.pool) ?? new Map<string, WorkHint>();
    this.#pools.set(hint.pool, lanes);
    const { webhookId, ordering, eventType } = hint.lane;
    const key = `${webhookId} ${ordering} ${eventType ?? ""}`;
    const known = lanes.get(key);
    if (known === undefined) this.#size += 1;
    if (known === undefined || urgency(hint) < urgency(known)) lanes.set(key, hint);
  }

  /** Removes and returns the waiting hints of a pool. */
  take(pool: string): readonly WorkHint[] {
    const lanes = this.#pools.get(pool);
    if (lanes === undefined) return [];
    this.#pools.delete(pool);
    this.#size -= lanes.size;
    return [...lanes.values()];
  }

  /** Returns the number of removed hints. */
  clear(): number {
    const size = this.#size;
    this.#pools.clear();
    this.#size = 0;
    return size;
  }
}

function urgency({ priority }: WorkHint): number {
  return priorities.indexOf(priority);
}

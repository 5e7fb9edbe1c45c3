import type { LaneKey } from "../../core/webhook.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { WorkHint, WorkQueue } from "../../ports/work-queue.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import { routeWork } from "./work-routing.ts";

export interface QueuedWorkOptions {
  readonly queue: WorkQueue;
  readonly store: Pick<OwnershipStore, "pendingLanes">;
  readonly pool: string;
  /** The number of this worker; null if it has none. */
  readonly worker: () => number | null;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  /** The lane of an owned endpoint may have waiting deliveries. */
  readonly lookInto: (lane: Lane) => void;
  /** Resolves once this worker has tried to acquire the webhook. */
  readonly acquire: (webhookId: string) => Promise<void>;
  /** Whether this worker recently acquired the webhook and could not serve it because it was deleted. */
  readonly isUnservable: (webhookId: string) => boolean;
  readonly missed: () => void;
}

/**
 * A worker's end of the queue. A hint is done when a worker serves its lane: this worker, which acquires the webhook,
 * or the owner, which is notified. A hint is not kept until the work is done, because the database holds the
 * progress, and the webhooks of a dead owner go to other workers.
 */
export class QueuedWork {
  readonly #options: QueuedWorkOptions;

  constructor(options: QueuedWorkOptions) {
    this.#options = options;
  }

  start(): void {
    const { queue, pool, missed } = this.#options;
    queue.consume({
      pool,
      missed,
      handle: (hint) => this.#handle(hint),
      notified: (lanes) => {
        for (const lane of lanes) void this.#notified(lane);
      },
    });
  }

  /**
   * Checks in this order whether the lane is served here, can be acquired, or is served by another worker, because
   * the first check is free.
   */
  async #handle({ lane }: Pick<WorkHint, "lane">): Promise<"done" | "pass_on"> {
    const { acquire, isUnservable } = this.#options;
    if (this.#serves(lane)) return "done";
    try {
      await acquire(lane.webhookId);
      // A deleted webhook sends nothing. Upkeep cancels its deliveries; until then the reannouncer repeats the hint.
      if (this.#serves(lane) || isUnservable(lane.webhookId)) return "done";
      return await this.#leaveToOthers(lane);
    } catch {
      // The store is unavailable. Another worker may reach it, or this one a little later (WDS-204).
      return "pass_on";
    }
  }

  /** Looks up the lane's owner. Requeues the hint only if another worker of the pool may acquire the webhook. */
  async #leaveToOthers(lane: LaneKey): Promise<"done" | "pass_on"> {
    const { store, queue, pool, worker: self } = this.#options;
    const [pending] = await store.pendingLanes([lane]);
    if (pending === undefined) return "done";
    // This worker is about to release it, and the release announces the lane. Requeuing the hint until then would be
    // pointless.
    if (pending.worker !== null && pending.worker === self()) return "done";
    // This worker already has its share.
    if (pending.worker === null && pending.pool === pool) return "pass_on";
    return routeWork(queue, [pending]) ? "done" : "pass_on";
  }

  /**
   * Handles a lane that another process believes to be served here. Such a message cannot be requeued like a hint, so
   * a lane that is not served here is announced to the pool. Its priority is unknown, and only affects how soon the
   * hint is handled.
   */
  async #notified(lane: LaneKey): Promise<void> {
    if ((await this.#handle({ lane })) === "done") return;
    const { pool, queue } = this.#options;
    queue.send([{ lane, pool, priority: "normal" }]);
  }

  #serves(key: LaneKey): boolean {
    const endpoint = this.#options.endpoint(key.webhookId);
    if (endpoint?.owned !== true) return false;
    this.#options.lookInto(endpoint.lane(key));
    return true;
  }
}

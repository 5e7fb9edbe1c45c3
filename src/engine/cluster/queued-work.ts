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
  /** The number of this worker; null while it has none. */
  readonly worker: () => number | null;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  /** Deliveries may wait in the lane of an endpoint that is owned. */
  readonly lookInto: (lane: Lane) => void;
  /** Resolves once this worker has tried to acquire the webhook. */
  readonly acquire: (webhookId: string) => Promise<void>;
  /** Whether this worker acquired the webhook a moment ago and could not serve it, because it was deleted. */
  readonly isUnservable: (webhookId: string) => boolean;
  readonly missed: () => void;
}

/**
 * A worker's end of the queue. A hint is done when some worker serves its lane: this worker, which acquires the
 * webhook, or the owner, which is notified. No worker keeps a hint until the work is done: the database holds the
 * progress, and the webhooks of a dead owner go to others.
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

  /** Served here, acquired now, or another worker's: in this order, because the first costs nothing to find out. */
  async #handle({ lane }: Pick<WorkHint, "lane">): Promise<"done" | "pass_on"> {
    const { acquire, isUnservable } = this.#options;
    if (this.#serves(lane)) return "done";
    try {
      await acquire(lane.webhookId);
      // A deleted webhook sends nothing; upkeep cancels its deliveries, and until then the reannouncer repeats the
      // hint.
      if (this.#serves(lane) || isUnservable(lane.webhookId)) return "done";
      return await this.#leaveToOthers(lane);
    } catch {
      // The store is away. Another worker may reach it, or this one a little later (WDS-204).
      return "pass_on";
    }
  }

  /** Looks up the lane's owner. Requeues the hint only if another worker of the pool may acquire the webhook. */
  async #leaveToOthers(lane: LaneKey): Promise<"done" | "pass_on"> {
    const { store, queue, pool, worker: self } = this.#options;
    const [pending] = await store.pendingLanes([lane]);
    if (pending === undefined) return "done";
    // This worker is about to release it, and the release announces the lane. Until then a hint would only go round.
    if (pending.worker !== null && pending.worker === self()) return "done";
    // This worker has its share.
    if (pending.worker === null && pending.pool === pool) return "pass_on";
    return routeWork(queue, [pending]) ? "done" : "pass_on";
  }

  /**
   * A lane that another process believes to be served here. Such a message cannot be passed on like a hint, so a lane
   * that is not served here is announced to the pool. Its priority is not known, and only decides how soon the hint is
   * handled.
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

import type { LaneKey } from "../../core/webhook.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { WorkNotice, WorkQueue } from "../../ports/work-queue.ts";
import type { Endpoint } from "../endpoint.ts";
import type { Lane } from "../lane.ts";
import { routeWork } from "./work-routing.ts";

export interface QueuedWorkOptions {
  readonly queue: WorkQueue;
  readonly store: Pick<OwnershipStore, "left">;
  readonly pool: string;
  /** The number of this worker; null while it has none. */
  readonly worker: () => number | null;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  /** Deliveries may wait in the lane of an endpoint that is owned. */
  readonly lookInto: (lane: Lane) => void;
  /** Resolves once this worker has tried to take the webhook. */
  readonly take: (webhookId: string) => Promise<void>;
  /** Whether it got the webhook a moment ago and could not serve it, because it was deleted. */
  readonly isStranger: (webhookId: string) => boolean;
  readonly missed: () => void;
}

/**
 * A worker's end of the queue. A notice is done with when somebody serves its lane: this worker, which takes the webhook
 * for that, or the owner, which is told. Nobody is asked to keep a notice until the work is done: how far it has come
 * stands in the database, and an owner that dies leaves its webhooks to others.
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
      handle: (notice) => this.#handle(notice),
      told: (lanes) => {
        for (const lane of lanes) void this.#told(lane);
      },
    });
  }

  /** Served here, taken now, or somebody else's: in this order, because the first costs nothing to find out. */
  async #handle({ lane }: Pick<WorkNotice, "lane">): Promise<"done" | "pass_on"> {
    const { take, isStranger } = this.#options;
    if (this.#serves(lane)) return "done";
    try {
      await take(lane.webhookId);
      // Of a deleted webhook nothing is sent; upkeep cancels what waits, and until then the sweeper names it again.
      if (this.#serves(lane) || isStranger(lane.webhookId)) return "done";
      return await this.#leaveToOthers(lane);
    } catch {
      // The store is away. Another worker may reach it, or this one a little later (WDS-204).
      return "pass_on";
    }
  }

  /** Asks the store whose the lane is by now. Only what this worker may not take, but others of its pool may, goes round. */
  async #leaveToOthers(lane: LaneKey): Promise<"done" | "pass_on"> {
    const { store, queue, pool, worker: self } = this.#options;
    const [left] = await store.left([lane]);
    if (left === undefined) return "done";
    // About to be given back here, and announced with that. Until then a word about it would only go round.
    if (left.worker !== null && left.worker === self()) return "done";
    // This worker has its share.
    if (left.worker === null && left.pool === pool) return "pass_on";
    return routeWork(queue, [left]) ? "done" : "pass_on";
  }

  /**
   * A lane that somebody believes to be served here. What is told cannot be passed on like a notice, so one that is not is
   * announced to the pool; its priority is not known here, and only decides how soon the notice is taken.
   */
  async #told(lane: LaneKey): Promise<void> {
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

import type { LaneKey } from "../../domain/webhook.ts";
import { Loop } from "../../ports/clock.ts";
import type { OwnershipStore, PendingLane } from "../../ports/store/ownership.ts";
import type { WorkHint, WorkQueue } from "../../ports/work-queue.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { EngineContext } from "../engine-options.ts";

/**
 * Sends hints to the worker that should serve these lanes: the owner of the webhook if there is one, otherwise any
 * worker of the pool. Returns false if a hint was not delivered to the queue. An unusable pool queue does not hold back
 * hints for other pools.
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
  for (const [worker, lanes] of lanesOf) isCarried = queue.notify(worker, lanes) && isCarried;
  return isCarried;
}

function listOf<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

/**
 * Announces lanes again that no worker serves: those whose hints the queue lost, and those of dead workers. They
 * are read from the database.
 *
 * If hints are waiting in the queue, workers are busy or missing, and more hints would only accumulate. The lanes
 * of a pool are therefore announced again when its queue is empty. Otherwise they are announced at long intervals,
 * because the waiting hints may be for other lanes.
 */
export class Reannouncer {
  readonly #context: Pick<EngineContext, "clock" | "random" | "telemetry">;
  readonly #queue: WorkQueue;
  readonly #store: Pick<OwnershipStore, "unownedLanes">;
  readonly #isLeader: () => Promise<boolean>;
  readonly #loop: Loop;
  /** When the lanes of all pools, including pools with waiting hints, were last announced again. */
  #wholeAtMs = Number.NEGATIVE_INFINITY;

  /** `isLeader`: whether this process is the scheduler that announces; only one does at a time. */
  constructor(
    context: Pick<EngineContext, "clock" | "random" | "telemetry">,
    queue: WorkQueue,
    store: Pick<OwnershipStore, "unownedLanes">,
    isLeader: () => Promise<boolean>,
  ) {
    const { clock, random, telemetry } = context;
    this.#context = context;
    this.#queue = queue;
    this.#store = store;
    this.#isLeader = isLeader;
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      pauseMs: (tookMs) => Math.max(roundMs, restFactor * tookMs) * (0.75 + random.uniform() / 2),
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "searching for unowned work failed; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round(): Promise<void> {
    // While the queue is unavailable, workers poll the store.
    if (this.#queue.isConnected && (await this.#isLeader())) await this.#reannounce();
  }

  async #reannounce(): Promise<void> {
    const queue = this.#queue;
    const { clock, telemetry } = this.#context;
    const { waiting } = await queue.depth();
    const isWhole = clock.monotonicMs() - this.#wholeAtMs >= wholeMs;
    if (isWhole) this.#wholeAtMs = clock.monotonicMs();
    const full = new Set(waiting.filter(({ hints }) => hints > 0).map(({ pool }) => pool));
    const isDue = ({ pool }: PendingLane): boolean => isWhole || !full.has(pool);
    let announced = 0;
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page = await this.#store.unownedLanes(after, pageLanes);
      const pending = page.lanes.filter(isDue);
      // A single pool's queue may have refused hints; the next round retries.
      if (routeWork(queue, pending)) announced += pending.length;
      else if (!queue.isConnected) break;
      if (page.next === null) break;
      after = page.next;
    }
    if (announced > 0) telemetry.log.debug({ lanes: announced }, "announced unowned work again");
  }
}

/** Maximum delay of work whose hint was lost. Each round is a statement over lane names, run by one process. */
const roundMs = 2_000;
/**
 * Interval for pools whose queue is never empty. Their workers may just be busy, but work whose hint was lost must not
 * wait long.
 */
const wholeMs = 60_000;
/** Limits the scan to about a fifth of the time, so that many lanes do not overload the store. */
const restFactor = 4;
/** Keeps statements short, because deliveries use the same connections. */
const pageLanes = 500;

interface QueuedWorkOptions {
  readonly queue: WorkQueue;
  readonly store: Pick<OwnershipStore, "pendingLanes">;
  readonly pool: string;
  /** The number of this worker; null if it has none. */
  readonly worker: () => number | null;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  /** Called when the lane of an owned endpoint may have waiting deliveries. */
  readonly lookInto: (lane: Lane) => void;
  /** Resolves once this worker has tried to acquire the webhook. */
  readonly acquire: (webhookId: string) => Promise<void>;
  /** Whether this worker recently acquired the webhook and could not serve it because it was deleted. */
  readonly isUnservable: (webhookId: string) => boolean;
  readonly missed: () => void;
}

/**
 * A worker's end of the queue. A hint is acknowledged when its lane is served: by this worker, which acquires the
 * webhook, or by the owner, which is notified. It is not kept until the deliveries are settled, because the database
 * holds the progress, and other workers acquire the webhooks of a dead owner.
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
   * Checks whether the lane is served here, can be acquired, or is served by another worker. The order matters because
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
      // The store is unavailable. Requeue the hint: another worker may reach the store, or this worker a little later
      // (WDS-204).
      return "pass_on";
    }
  }

  /** Looks up the lane's owner. Requeues the hint only if another worker of the pool may acquire the webhook. */
  async #leaveToOthers(lane: LaneKey): Promise<"done" | "pass_on"> {
    const { store, queue, pool, worker: self } = this.#options;
    const [pending] = await store.pendingLanes([lane]);
    if (pending === undefined) return "done";
    // This worker is about to release the webhook, and the release announces the lane. Requeuing the hint until then
    // would be pointless.
    if (pending.worker !== null && pending.worker === self()) return "done";
    // This worker already has its share of webhooks.
    if (pending.worker === null && pending.pool === pool) return "pass_on";
    return routeWork(queue, [pending]) ? "done" : "pass_on";
  }

  /**
   * Handles a hint from a process that considers this worker the owner of the lane. Such a hint cannot be requeued, so
   * a lane that is not served here is announced to the pool. Its priority is unknown, but this affects only how soon
   * the hint is handled.
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

import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { PendingLane, OwnershipStore } from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { WorkQueue } from "../../ports/work-queue.ts";
import { routeWork } from "./work-routing.ts";

export interface ReannouncerOptions {
  readonly queue: WorkQueue;
  readonly store: Pick<OwnershipStore, "unownedLanes">;
  /** One of several schedulers announces at a time. */
  readonly isLeader: () => Promise<boolean>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/**
 * Announces lanes again that no worker serves: those whose hints the queue lost, and those of dead workers. The
 * database knows them.
 *
 * If hints are waiting in the queue, workers are busy or missing, and more hints would only pile up. So the lanes of
 * a pool are announced again when its queue is empty, and otherwise at long intervals, because the waiting hints may
 * be for other lanes.
 */
export class Reannouncer {
  readonly #options: ReannouncerOptions;
  readonly #loop: Loop;
  /** When the lanes of all pools were last announced again, including pools with waiting hints. */
  #wholeAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReannouncerOptions) {
    const { clock, random, telemetry } = options;
    this.#options = options;
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      pauseMs: (tookMs) => Math.max(roundMs, restFactor * tookMs) * (0.75 + random.uniform() / 2),
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "looking for unowned work failed; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round(): Promise<void> {
    const { queue, isLeader } = this.#options;
    // While the queue is unavailable, workers poll the store.
    if (queue.isConnected && (await isLeader())) await this.#reannounce();
  }

  async #reannounce(): Promise<void> {
    const { queue, store, clock, telemetry } = this.#options;
    const { waiting } = await queue.depth();
    const isWhole = clock.monotonicMs() - this.#wholeAtMs >= wholeMs;
    if (isWhole) this.#wholeAtMs = clock.monotonicMs();
    const full = new Set(waiting.filter(({ hints }) => hints > 0).map(({ pool }) => pool));
    const isDue = ({ pool }: PendingLane): boolean => isWhole || !full.has(pool);
    let announced = 0;
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page = await store.unownedLanes({ after, limit: pageLanes });
      const pending = page.lanes.filter(isDue);
      // The queue of a single pool may have refused; the next round retries.
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
/** A queue that is never empty may belong to busy workers, whose lost hints must not be delayed for long. */
const wholeMs = 60_000;
/** Limits the scan to about a fifth of the time, so that many lanes do not overload the store. */
const restFactor = 4;
/** Keeps statements short, because deliveries need the same connections. */
const pageLanes = 500;

import type { Clock, Timer } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { LaneLeft, OwnershipStore } from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { WorkQueue } from "../../ports/work-queue.ts";
import { routeWork } from "./work-routing.ts";

export interface SweeperOptions {
  readonly queue: WorkQueue;
  readonly store: Pick<OwnershipStore, "unserved">;
  /** Of several schedulers one sweeps at a time. */
  readonly leads: () => Promise<boolean>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/**
 * Announces again what nobody serves: what the queue lost, and what a dead worker leaves. The database says what that is.
 *
 * Where notices wait in the queue, workers are busy or missing, and more notices would only pile up; so a pool is swept
 * when its queue is empty, and else once in a while, because what waits may not be what was lost.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  /** When all pools were last swept, also those in whose queues notices wait. */
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#later(sweepMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #later(delayMs: number): void {
    if (this.#stopped) return;
    const { clock, random } = this.#options;
    this.#timer = clock.schedule(delayMs * (0.75 + random.uniform() / 2), () => {
      const startedMs = clock.monotonicMs();
      this.#running = this.#round().finally(() => {
        this.#later(Math.max(sweepMs, restFactor * (clock.monotonicMs() - startedMs)));
      });
    });
  }

  async #round(): Promise<void> {
    const { queue, leads, telemetry } = this.#options;
    // While the queue is away, workers look by themselves.
    if (!queue.isConnected) return;
    try {
      if (await leads()) await this.#sweep();
    } catch (error) {
      telemetry.log.warn({ err: String(error) }, "work that nobody serves was not looked for; trying again");
    }
  }

  async #sweep(): Promise<void> {
    const { queue, store, clock, telemetry } = this.#options;
    const { waiting } = await queue.depth();
    const isWhole = clock.monotonicMs() - this.#wholeAtMs >= wholeMs;
    if (isWhole) this.#wholeAtMs = clock.monotonicMs();
    const full = new Set(waiting.filter(({ notices }) => notices > 0).map(({ pool }) => pool));
    const isDue = ({ pool }: LaneLeft): boolean => isWhole || !full.has(pool);
    let announced = 0;
    for (let after: string | null = null; !this.#stopped; ) {
      const page = await store.unserved({ after, limit: pageLanes });
      const left = page.left.filter(isDue);
      // What is not carried may be that of one pool; the next round tries again.
      if (routeWork(queue, left)) announced += left.length;
      else if (!queue.isConnected) break;
      if (page.next === null) break;
      after = page.next;
    }
    if (announced > 0) telemetry.log.debug({ lanes: announced }, "announced work again that nobody served");
  }
}

/** How late work is that the queue lost. Each round is a statement over names of lanes, and one process does it. */
const sweepMs = 2_000;
/** A queue that is never empty may belong to busy workers, who must not wait for long for a notice that was lost. */
const wholeMs = 60_000;
/** Looking over very many lanes must not become all that the store does: about a fifth of the time. */
const restFactor = 4;
/** So that no statement is long: deliveries need the same connections. */
const pageLanes = 500;

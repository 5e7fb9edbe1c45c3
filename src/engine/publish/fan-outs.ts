import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { EngineContext } from "../engine-options.ts";

/**
 * Writes the deliveries of large events that did not fit into the first transaction, one part at a time. Between parts,
 * other commits and the event loop get their turn. Upkeep resumes fan-outs that a dead process left unfinished.
 */
export class FanOuts {
  readonly #context: Pick<EngineContext, "store" | "clock" | "telemetry">;
  readonly #directory: Directory;
  readonly #dispatcher: Dispatcher;
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(
    context: Pick<EngineContext, "store" | "clock" | "telemetry">,
    directory: Directory,
    dispatcher: Dispatcher,
  ) {
    this.#context = context;
    this.#directory = directory;
    this.#dispatcher = dispatcher;
  }

  /** Writes the missing deliveries. Called when an event was committed without all of its deliveries. */
  kick(): void {
    this.run().catch((error: unknown) =>
      this.#context.telemetry.log.warn(
        { err: String(error) },
        "writing deliveries of an event failed; upkeep will continue",
      ),
    );
  }

  /** Writes parts until all deliveries are written. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Stops after the part that is being written. The next process that leads upkeep writes the remaining parts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { store, clock } = this.#context;
    while (!this.#isStopped) {
      const startedMs = clock.monotonicMs();
      const part = await store.deliveries.fanOut();
      if (part === null) return;
      for (const { lane: key, priority, state, dueAt } of part.deliveries) {
        const endpoint = this.#directory.get(key.webhookId);
        if (endpoint === undefined || state !== "pending") continue;
        const lane = endpoint.lane(key);
        this.#dispatcher.stored(lane, lane.tier(priority), dueAt);
      }
      const tookMs = clock.monotonicMs() - startedMs;
      await new Promise<void>((resolve) => void clock.schedule(Math.min(tookMs, restMsMax), resolve));
    }
  }
}

/**
 * Maximum pause between parts. A pause is as long as the previous part took, so that other work gets at least half of
 * the time.
 */
const restMsMax = 250;

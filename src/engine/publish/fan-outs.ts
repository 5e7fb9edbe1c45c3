import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { EngineContext } from "../engine-options.ts";

/**
 * Writes the deliveries of large events that did not fit into the first transaction, part by part. Between parts, it
 * yields to other commits and to the event loop. Upkeep finds the parts left by a dead process.
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

  /** Writes parts until none is left. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Finishes the part that is being written; the next process that leads upkeep writes the rest. */
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

/** The pause is as long as the part took, so that other work gets at least half of the time. */
const restMsMax = 250;

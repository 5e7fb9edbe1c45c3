import type { Clock, Timer } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

/**
 * Asks a store that may go away whether it is there, so that a process which writes nothing just now knows too.
 * A question without an answer counts like a refusal.
 */
export class StoreProbe {
  readonly #store: Pick<Store, "ping">;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #answeredMs: number;
  #isAsking = false;
  #stopped = false;

  constructor(store: Pick<Store, "ping">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#answeredMs = clock.monotonicMs();
  }

  /** The store answered a moment ago. */
  get healthy(): boolean {
    return this.#clock.monotonicMs() - this.#answeredMs < silentMsMax;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.schedule(probeMs, () => {
      void this.#ask();
      this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      await this.#store.ping();
      this.#answeredMs = this.#clock.monotonicMs();
    } catch {
      // `healthy` tells.
    } finally {
      this.#isAsking = false;
    }
  }
}

const probeMs = 1_000;
const silentMsMax = 4_000;

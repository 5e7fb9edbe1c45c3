import type { Clock } from "../ports/clock.ts";
import { StoreUnavailableError, type Store, type StoreTrouble } from "../ports/store.ts";
import { Loop } from "../ports/timing/loop.ts";

/**
 * Pings a store, so that a process that is not writing notices an outage too. A missing reply counts as an outage
 * after some seconds; an error with a known cause counts at once.
 */
export class StoreProbe {
  readonly #store: Pick<Store, "ping">;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #answeredMs: number;
  #known: StoreTrouble | null = null;

  constructor(store: Pick<Store, "ping">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#answeredMs = clock.monotonicMs();
    this.#loop = new Loop({
      clock,
      round: () => this.#ask(),
      pauseMs: () => probeMs,
      failed: (error) => {
        this.#known = knownTrouble(error);
      },
    });
  }

  /** Null if the store replied recently and accepts writes. */
  get trouble(): StoreTrouble | null {
    if (this.#known !== null) return this.#known;
    return this.#clock.monotonicMs() - this.#answeredMs < silentMsMax ? null : "away";
  }

  start(): void {
    this.#loop.start();
  }

  /** Does not wait for a running ping, whose result no longer matters. */
  stop(): void {
    void this.#loop.stop();
  }

  async #ask(): Promise<void> {
    await this.#store.ping();
    this.#answeredMs = this.#clock.monotonicMs();
    this.#known = null;
  }
}

function knownTrouble(error: unknown): StoreTrouble | null {
  return error instanceof StoreUnavailableError && error.trouble !== "away" ? error.trouble : null;
}

const probeMs = 1_000;
const silentMsMax = 4_000;

import type { Clock } from "../ports/clock.ts";
import { StoreUnavailableError, type Store, type StoreTrouble } from "../ports/store.ts";
import { Loop } from "../ports/timing/loop.ts";

/**
 * Asks a store whether it is there, so that a process which writes nothing just now knows too. A question without an
 * answer counts like a refusal; a refusal that says why counts at once.
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

  /** Null when the store answered a moment ago, and nothing speaks against writing. */
  get trouble(): StoreTrouble | null {
    if (this.#known !== null) return this.#known;
    return this.#clock.monotonicMs() - this.#answeredMs < silentMsMax ? null : "away";
  }

  start(): void {
    this.#loop.start();
  }

  /** An answer that is still under way changes nothing any more, so nobody waits for it. */
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

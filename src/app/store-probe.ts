import type { Clock, Timer } from "../ports/clock.ts";
import { StoreUnavailableError, type Store, type StoreTrouble } from "../ports/store.ts";

/**
 * Asks a store whether it is there, so that a process which writes nothing just now knows too. A question without an
 * answer counts like a refusal; a refusal that says why counts at once.
 */
export class StoreProbe {
  readonly #store: Pick<Store, "ping">;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #answeredMs: number;
  #known: StoreTrouble | null = null;
  #isAsking = false;
  #stopped = false;

  constructor(store: Pick<Store, "ping">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#answeredMs = clock.monotonicMs();
  }

  /** Null when the store answered a moment ago, and nothing speaks against writing. */
  get trouble(): StoreTrouble | null {
    if (this.#known !== null) return this.#known;
    return this.#clock.monotonicMs() - this.#answeredMs < silentMsMax ? null : "away";
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
      this.#known = null;
    } catch (error) {
      this.#known = knownTrouble(error);
    } finally {
      this.#isAsking = false;
    }
  }
}

function knownTrouble(error: unknown): StoreTrouble | null {
  return error instanceof StoreUnavailableError && error.trouble !== "away" ? error.trouble : null;
}

const probeMs = 1_000;
const silentMsMax = 4_000;

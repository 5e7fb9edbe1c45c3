export interface PlacesLimits {
  readonly totalMax: number;
  readonly perKeyMax: number;
}

/** `waitMs` says when who found no place is asked to come back. */
export type Place =
  | { readonly kind: "taken"; free(): void }
  | { readonly kind: "full"; readonly waitMs: number };

/** Who holds places under one key, and until when those that found none were asked to wait. */
interface Holder {
  taken: number;
  returnsAt: number;
}

const waitMsMin = 1_000;
const waitMsMax = 60_000;
/** Ten a second come back under one key. */
const returnGapMs = 100;

/**
 * Places of requests whose senders wait: so many in all and under one key, so that one destination that hangs holds up
 * nobody else (G18). Who finds none is asked to come back a little later than the last one was: senders that hear the same
 * time return in the same moment, again and again, and everybody else waits behind them.
 */
export class Places {
  readonly #limits: PlacesLimits;
  readonly #holders = new Map<string, Holder>();
  #total = 0;

  constructor(limits: PlacesLimits) {
    this.#limits = limits;
  }

  /** Places that are taken now. */
  get total(): number {
    return this.#total;
  }

  take(key: string, now: number): Place {
    const { totalMax, perKeyMax } = this.#limits;
    const holder = this.#holders.get(key);
    if (holder !== undefined && holder.taken >= perKeyMax)
      return { kind: "full", waitMs: laterThanTheLast(holder, now) };
    if (this.#total >= totalMax) return { kind: "full", waitMs: waitMsMin };
    this.#total += 1;
    if (holder === undefined) this.#holders.set(key, { taken: 1, returnsAt: 0 });
    else holder.taken += 1;
    return { kind: "taken", free: () => this.#free(key) };
  }

  #free(key: string): void {
    const holder = this.#holders.get(key);
    if (holder === undefined) return;
    this.#total -= 1;
    holder.taken -= 1;
    if (holder.taken === 0) this.#holders.delete(key);
  }
}

/** The wall clock may be set back: nobody is asked to wait longer than the longest wait. */
function laterThanTheLast(holder: Holder, now: number): number {
  const waitMs = Math.min(Math.max(waitMsMin, holder.returnsAt + returnGapMs - now), waitMsMax);
  holder.returnsAt = now + waitMs;
  return waitMs;
}

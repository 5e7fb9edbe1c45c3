export interface PlacesLimits {
  readonly totalMax: number;
  readonly perKeyMax: number;
}

/** Ends a request; `now` as when it began. Only the first call counts. */
export type FreePlace = (now: number) => void;

/**
 * Places of requests whose senders wait: so many in all and under one key, so that one destination that hangs holds up
 * nobody else (G18). Times are Unix milliseconds.
 */
export class Places {
  readonly #perKeyMax: number;
  readonly #all: Crowd;
  readonly #byKey = new Map<string, Crowd>();

  constructor({ totalMax, perKeyMax }: PlacesLimits) {
    this.#all = new Crowd(totalMax);
    this.#perKeyMax = perKeyMax;
  }

  /** Places that are taken now. */
  get total(): number {
    return this.#all.taken;
  }

  /** Null when there is none. */
  take(key: string, now: number): FreePlace | null {
    const own = this.#byKey.get(key) ?? new Crowd(this.#perKeyMax);
    if (own.isFull || this.#all.isFull) return null;
    this.#byKey.set(key, own);
    own.taken += 1;
    this.#all.taken += 1;
    let isFree = false;
    return (at) => {
      if (isFree) return;
      isFree = true;
      own.free(at - now);
      this.#all.free(at - now);
      if (own.taken === 0) this.#byKey.delete(key);
    };
  }

  /**
   * When to ask a sender to come back that found no place; each call is for one more of them, a little later than the one
   * before. Senders that hear the same time return in the same moment, again and again, and everybody else waits behind them.
   */
  returnsInMs(key: string, now: number): number {
    const own = this.#byKey.get(key);
    return (own?.isFull === true ? own : this.#all).returnsInMs(now);
  }
}

const waitMsMin = 1_000;
const waitMsMax = 60_000;
/** Ten a second come back where a destination hangs, or nobody knows yet how quickly it answers. */
const gapMsMax = 100;
/** Of what one more request says about how long they take. */
const newestShare = 0.2;

/** Those who hold places, and those who were asked to come back. */
class Crowd {
  readonly #max: number;
  taken = 0;
  /** When the last one comes back. */
  #returnsAt = 0;
  /** How long a place is held, a mean that forgets; null before the first was freed. */
  #heldMs: number | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.taken >= this.#max;
  }

  /** The wall clock may be set back while a place is held. */
  free(clockedMs: number): void {
    this.taken -= 1;
    const heldMs = Math.max(0, clockedMs);
    this.#heldMs = this.#heldMs === null ? heldMs : this.#heldMs + newestShare * (heldMs - this.#heldMs);
  }

  /** The wall clock may be set back: nobody is asked to wait longer than the longest wait. */
  returnsInMs(now: number): number {
    const gapMs = Math.min(this.#heldMs === null ? gapMsMax : this.#heldMs / this.#max, gapMsMax);
    const waitMs = Math.min(Math.max(waitMsMin, this.#returnsAt + gapMs - now), waitMsMax);
    this.#returnsAt = now + waitMs;
    return waitMs;
  }
}

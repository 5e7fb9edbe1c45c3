/** Both of one pause, before chance takes something off. */
export interface BackoffBounds {
  readonly delayMsMin: number;
  readonly delayMsMax: number;
}

/** Enough for every bound, and finite times zero is zero. */
const doublingsMax = 50;

/**
 * The pause after so many others in a row: each twice as long as the one before. Of that a random half to all, so that
 * those who failed together do not come back together; all of it where no chance is given.
 */
export function backoffMs(
  { delayMsMin, delayMsMax }: BackoffBounds,
  { pauses, random = 1 }: { readonly pauses: number; readonly random?: number | undefined },
): number {
  const ceilingMs = Math.min(delayMsMax, delayMsMin * 2 ** Math.min(pauses, doublingsMax));
  return ceilingMs * (0.5 + random / 2);
}

/** Pauses between attempts at one thing. */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #pauses = 0;

  constructor(bounds: BackoffBounds) {
    this.#bounds = bounds;
  }

  /** How long to wait now. `random` is uniform in [0, 1). */
  nextMs(random?: number): number {
    const delayMs = backoffMs(this.#bounds, { pauses: this.#pauses, random });
    this.#pauses += 1;
    return delayMs;
  }

  /** An attempt succeeded: the next pause is a short one. */
  reset(): void {
    this.#pauses = 0;
  }
}

/** Bounds of a single pause. */
export interface BackoffBounds {
  readonly delayMsMin: number;
  readonly delayMsMax: number;
}

/** Enough doublings for every bound, and still finite, so that multiplying by zero gives zero. */
const doublingsMax = 50;

/**
 * The length of the next pause; each is twice as long as the one before. With `random`, the result is between half and
 * all of that, so that clients that failed together do not retry together. Without it, the result is the full length.
 */
export function backoffMs(
  { delayMsMin, delayMsMax }: BackoffBounds,
  pauses: number,
  random: number | undefined = 1,
): number {
  const ceilingMs = Math.min(delayMsMax, delayMsMin * 2 ** Math.min(pauses, doublingsMax));
  return ceilingMs * (0.5 + random / 2);
}

/** Growing pauses between attempts. */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #pauses = 0;

  constructor(bounds: BackoffBounds) {
    this.#bounds = bounds;
  }

  /** How long to wait before the next attempt. `random` is uniform in [0, 1). */
  nextMs(random?: number): number {
    const delayMs = backoffMs(this.#bounds, this.#pauses, random);
    this.#pauses += 1;
    return delayMs;
  }

  /** Call after a success: the next pause is the shortest again. */
  reset(): void {
    this.#pauses = 0;
  }
}

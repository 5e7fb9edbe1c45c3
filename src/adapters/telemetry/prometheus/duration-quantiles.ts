/**
 * Quantiles of durations over the last minutes, in constant memory and a few nanoseconds per observation.
 *
 * Buckets grow by 5 %, so the error of a quantile is 2.5 % or less. Two generations of buckets alternate: readings
 * cover between one and two periods, old observations fade, and nothing is copied on the hot path.
 */
export class DurationQuantiles {
  readonly #periodMs: number;
  #current = new Uint32Array(bucketCount);
  #previous = new Uint32Array(bucketCount);
  #startedAt: number;
  count = 0;
  sumMs = 0;

  constructor(periodMs: number, now: number) {
    this.#periodMs = periodMs;
    this.#startedAt = now;
  }

  observe(durationMs: number): void {
    this.count += 1;
    this.sumMs += durationMs;
    const bucket = durationMs > lowestMs ? Math.ceil(Math.log(durationMs / lowestMs) * perFactor) : 0;
    const index = bucket < bucketCount ? bucket : bucketCount - 1;
    this.#current[index] = (this.#current[index] ?? 0) + 1;
  }

  /** Called occasionally, at least once per reading; `now` is monotonic. */
  fade(now: number): void {
    const elapsedMs = now - this.#startedAt;
    if (elapsedMs < this.#periodMs) return;
    const emptied = this.#previous.fill(0);
    this.#previous = this.#current;
    this.#current = emptied;
    if (elapsedMs >= 2 * this.#periodMs) this.#previous.fill(0);
    this.#startedAt = now;
  }

  /** Milliseconds; NaN without observations, which is Prometheus's value for no data. */
  quantile(share: number): number {
    let total = 0;
    for (let index = 0; index < bucketCount; index += 1) total += this.#at(index);
    if (total === 0) return Number.NaN;
    let remaining = Math.ceil(share * total);
    for (let index = 0; index < bucketCount; index += 1) {
      remaining -= this.#at(index);
      if (remaining <= 0) return middleOf(index);
    }
    return middleOf(bucketCount - 1);
  }

  #at(index: number): number {
    return (this.#current[index] ?? 0) + (this.#previous[index] ?? 0);
  }
}

const lowestMs = 0.05;
const growth = 1.05;
const perFactor = 1 / Math.log(growth);
/** Up to 20 minutes, far beyond the longest request. */
const bucketCount = 350;

function middleOf(index: number): number {
  return lowestMs * growth ** (index - 0.5);
}

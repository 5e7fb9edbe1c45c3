import type { Sample } from "./sample.ts";

/** A histogram with fixed upper bounds, counted in an array and converted to samples on scraping. */
export class Buckets {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  /** Ascending upper bounds. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.#count += 1;
    this.#sum += value;
    const bounds = this.#bounds;
    for (let index = 0; index < bounds.length; index += 1) {
      if (value <= (bounds[index] as number)) {
        this.#counts[index] = (this.#counts[index] as number) + 1;
        return;
      }
    }
  }

  samples(name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, index): Sample => {
      below += this.#counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: "+Inf", ...labels }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ];
  }
}

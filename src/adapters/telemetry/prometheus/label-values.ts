/**
 * Bounds the values of a label that users choose: each value is a time series, and a publisher that makes up names
 * must not grow the memory of this process or of Prometheus without end.
 */
export class LabelValues {
  readonly #known = new Set<string>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** The value itself while there is room, then `other`. A value that was admitted stays. */
  admit(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#countMax) return otherValue;
    this.#known.add(value);
    return value;
  }
}

/** Stands for every value beyond the bound. */
export const otherValue = "other";

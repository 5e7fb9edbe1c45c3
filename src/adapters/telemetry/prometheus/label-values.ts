/**
 * Bounds the values of a label that users choose: each value is a time series, and a publisher that makes up names
 * must not grow the memory of this process or of Prometheus without end.
 */
export class LabelValues {
  readonly #known = new Set<string>();
  /** How many each tenant brought; no more tenants than values. */
  readonly #admitted = new Map<string, number>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /**
   * The value itself while there is room, then `other`. A value that was admitted stays. Where tenants choose the values, one
   * of them admits no more than are left for the others: half of all, the next half of the rest, and so on.
   */
  admit(value: string, tenantId?: string): string {
    if (this.#known.has(value)) return value;
    const own = tenantId === undefined ? 0 : (this.#admitted.get(tenantId) ?? 0);
    const left = this.#countMax - this.#known.size;
    if (left <= 0 || (tenantId !== undefined && own >= left)) return otherValue;
    this.#known.add(value);
    if (tenantId !== undefined) this.#admitted.set(tenantId, own + 1);
    return value;
  }
}

/** Stands for every value beyond the bound. */
export const otherValue = "other";

/**
 * Limits the values of a label that users choose. Each value is a time series, and a publisher that invents names must
 * not grow the memory of this process or of Prometheus without limit.
 */
export class LabelValues {
  readonly #known = new Set<string>();
  /** Number of values per tenant; there are no more tenants than values. */
  readonly #admitted = new Map<string, number>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /**
   * Returns the value while there is space, then `other`. An admitted value stays. If tenants choose the values, each
   * may admit no more than remain for the others: the first one half of all, the next one half of the rest, and so on.
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

/** Replaces every value beyond the limit. */
export const otherValue = "other";

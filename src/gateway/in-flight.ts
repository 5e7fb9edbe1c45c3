export interface InFlightLimits {
  readonly totalMax: number;
  readonly perSourceMax: number;
}

/** Requests whose senders wait: so many in all and of one source, so that one destination that hangs holds up nobody else (G18). */
export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #bySource = new Map<string, number>();
  #total = 0;

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Null where there is no place. */
  take(sourceId: string): { free(): void } | null {
    const { totalMax, perSourceMax } = this.#limits;
    const own = this.#bySource.get(sourceId) ?? 0;
    if (this.#total >= totalMax || own >= perSourceMax) return null;
    this.#total += 1;
    this.#bySource.set(sourceId, own + 1);
    return { free: () => this.#free(sourceId) };
  }

  #free(sourceId: string): void {
    this.#total -= 1;
    const left = (this.#bySource.get(sourceId) ?? 1) - 1;
    if (left === 0) this.#bySource.delete(sourceId);
    else this.#bySource.set(sourceId, left);
  }
}

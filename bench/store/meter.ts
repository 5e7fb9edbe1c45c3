/** Adds up what pieces of work cost: wall clock and processor time of this process. */
export class Meter {
  #wallMs = 0;
  #cpuUs = 0;
  #units = 0;
  #slowestMs = 0;

  /** `units` may follow from the result. */
  async add<Result>(
    units: number | ((result: Result) => number),
    work: () => Promise<Result>,
  ): Promise<Result> {
    const cpu = process.cpuUsage();
    const begun = performance.now();
    const result = await work();
    const tookMs = performance.now() - begun;
    const used = process.cpuUsage(cpu);
    this.#wallMs += tookMs;
    this.#slowestMs = Math.max(this.#slowestMs, tookMs);
    this.#cpuUs += used.user + used.system;
    this.#units += typeof units === "number" ? units : units(result);
    return result;
  }

  get perSecond(): number {
    return (this.#units * 1_000) / this.#wallMs;
  }

  /** Microseconds of wall clock a unit. */
  get us(): number {
    return (this.#wallMs * 1_000) / this.#units;
  }

  /** Microseconds of processor time a unit, in this process. */
  get cpuUs(): number {
    return this.#cpuUs / this.#units;
  }

  get units(): number {
    return this.#units;
  }

  get slowestMs(): number {
    return this.#slowestMs;
  }
}

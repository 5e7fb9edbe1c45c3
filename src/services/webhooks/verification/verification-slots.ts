const allMax = 32;
const tenantMax = 8;

/**
 * How many receivers may be asked at once. A receiver that never answers holds a socket until its timeout, and who may
 * edit webhooks could otherwise keep as many busy as there are.
 */
export class VerificationSlots {
  readonly #byTenant = new Map<string, number>();
  #taken = 0;

  /** The result of the work; null when there is no room now. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result | null> {
    const own = this.#byTenant.get(tenantId) ?? 0;
    if (this.#taken >= allMax || own >= tenantMax) return null;
    this.#add(tenantId, 1);
    try {
      return await work();
    } finally {
      this.#add(tenantId, -1);
    }
  }

  #add(tenantId: string, count: number): void {
    const own = (this.#byTenant.get(tenantId) ?? 0) + count;
    this.#taken += count;
    if (own === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, own);
  }
}

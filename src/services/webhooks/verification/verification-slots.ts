import type { WaitingSlots } from "../../../core/request-slots.ts";
import { Places } from "../../../core/sender-places.ts";
import type { Clock } from "../../../ports/clock.ts";

/** Concurrent requests that have run for less than a second. */
const activeMax = 32;
/** Concurrent requests of one tenant. */
const tenantMax = 8;

/**
 * Limits concurrent verification requests. A receiver that never responds holds a socket until its timeout. After a
 * second, the request counts as waiting, so that it does not block other tenants.
 */
export class VerificationSlots {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #places: Places;

  constructor(waitingSlots: WaitingSlots, clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#places = new Places({ totalMax: activeMax, perKeyMax: tenantMax }, waitingSlots);
  }

  /** The result of the work; null if no slot is free. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result | null> {
    const owner = { tenantId, key: `verification ${tenantId}` };
    const free = this.#places.take(owner, 0, this.#clock.monotonicMs());
    if (free === null) return null;
    try {
      return await work();
    } finally {
      free(this.#clock.monotonicMs());
    }
  }
}

import type { WaitingSlots } from "../../../core/request-slots.ts";
import { Places } from "../../../core/sender-places.ts";
import type { Clock } from "../../../ports/clock.ts";

/** Receivers that are asked at once and have not waited for a second yet. */
const activeMax = 32;
/** All of one tenant. */
const tenantMax = 8;

/**
 * How many receivers may be asked at once. A receiver that never answers holds a socket until its timeout, so it counts
 * among the waiting requests after a second and keeps out no other tenant.
 */
export class VerificationSlots {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #places: Places;

  constructor(waitingSlots: WaitingSlots, clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#places = new Places({ totalMax: activeMax, perKeyMax: tenantMax }, waitingSlots);
  }

  /** The result of the work; null when there is no slot now. */
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

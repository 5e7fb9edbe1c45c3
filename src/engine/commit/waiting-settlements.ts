import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, Settlement, SettlementResult } from "../../ports/store/deliveries.ts";
import { Alarm } from "../../ports/timing/alarm.ts";

export interface PendingSettlement {
  readonly settlement: Settlement;
  /** Of what it is. */
  readonly delivery: Pick<ClaimedDelivery, "tenantId" | "webhookId" | "body">;
  /** Something goes on only when it is written: it does not wait for company. */
  readonly isAwaited: boolean;
  readonly done: (result: SettlementResult) => void;
}

/**
 * Settlements that wait for a transaction. A settlement by itself makes none: a few of them wait for the next publish, or
 * for `waitMsMax`, unless something waits for one of them. So at some hundred events a second an event costs one
 * transaction instead of two. What a crash forgets by that, the receiver gets again.
 */
export class WaitingSettlements {
  readonly #patience: Alarm;
  readonly #waitMsMax: number;
  readonly #waited: () => void;
  #all: PendingSettlement[] = [];
  #isDue = false;

  /** `waited` is called when the oldest has waited for long enough. */
  constructor(clock: Clock, wait: { readonly waitMsMax: number; readonly waited: () => void }) {
    this.#patience = new Alarm(clock);
    this.#waitMsMax = wait.waitMsMax;
    this.#waited = wait.waited;
  }

  get length(): number {
    return this.#all.length;
  }

  /** They are worth a transaction of their own. */
  get isDue(): boolean {
    return this.#isDue;
  }

  push(pending: PendingSettlement): void {
    this.#all.push(pending);
    if (pending.isAwaited || this.#all.length >= manySettlements || this.#waitMsMax === 0) this.#isDue = true;
    if (!this.#isDue && !this.#patience.isSet) this.#patience.set(this.#waitMsMax, this.#becomeDue);
  }

  /** The oldest. What is left of so many is written soon anyway. */
  take(countMax: number): PendingSettlement[] {
    this.#isDue = false;
    this.#patience.cancel();
    return this.#all.splice(0, countMax);
  }

  /** What could not be written; somebody else sees to it that it is tried again. */
  putBack(taken: readonly PendingSettlement[]): void {
    this.#all = [...taken, ...this.#all];
  }

  /** Nobody is called any more. */
  rest(): void {
    this.#patience.cancel();
  }

  readonly #becomeDue = (): void => {
    this.#isDue = true;
    this.#waited();
  };
}

/** So many share a transaction well enough. */
const manySettlements = 32;

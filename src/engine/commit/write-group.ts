import { errorOf } from "../../domain/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  ClaimedDelivery,
  CommitBatch,
  PublishCommand,
  Settlement,
  SettlementResult,
} from "../../ports/store/deliveries.ts";
import { Alarm } from "../../ports/timing/alarm.ts";
import type { PendingPublish, PendingRequeue, PendingRetry } from "./commit-group.ts";

export interface PendingSettlement {
  readonly settlement: Settlement;
  /** The delivery that it settles. */
  readonly delivery: Pick<ClaimedDelivery, "tenantId" | "webhookId" | "body">;
  /** The caller is blocked on this write, so commit at once. */
  readonly isAwaited: boolean;
  readonly done: (result: SettlementResult) => void;
}

/**
 * Settlements that wait for a transaction. A few settlements do not start a transaction: they wait for the next
 * publish, or for `waitMsMax`, unless something is blocked on one of them. So at some hundred events a second, an
 * event costs one transaction instead of two. A crash may lose waiting settlements; the receiver then gets these
 * deliveries again.
 */
export class WaitingSettlements {
  readonly #patience: Alarm;
  readonly #waitMsMax: number;
  readonly #waited: () => void;
  #all: PendingSettlement[] = [];
  #isDue = false;

  /** `waited` is called when the oldest settlement has waited long enough. */
  constructor(clock: Clock, waitMsMax: number, waited: () => void) {
    this.#patience = new Alarm(clock);
    this.#waitMsMax = waitMsMax;
    this.#waited = waited;
  }

  get length(): number {
    return this.#all.length;
  }

  /** There are enough settlements to start a transaction. */
  get isDue(): boolean {
    return this.#isDue;
  }

  push(pending: PendingSettlement): void {
    this.#all.push(pending);
    if (pending.isAwaited || this.#all.length >= manySettlements || this.#waitMsMax === 0) this.#isDue = true;
    if (!this.#isDue && !this.#patience.isSet) this.#patience.set(this.#waitMsMax, this.#becomeDue);
  }

  /** Takes the oldest settlements. If there are more, another transaction follows soon. */
  take(countMax: number): PendingSettlement[] {
    this.#isDue = false;
    this.#patience.cancel();
    return this.#all.splice(0, countMax);
  }

  /** Returns settlements that could not be written; the caller schedules the retry. */
  putBack(taken: readonly PendingSettlement[]): void {
    this.#all = [...taken, ...this.#all];
  }

  /** Stops the timer. */
  rest(): void {
    this.#patience.cancel();
  }

  readonly #becomeDue = (): void => {
    this.#isDue = true;
    this.#waited();
  };
}

/** This many settlements justify a separate transaction. */
const manySettlements = 32;

/** The content of one transaction, with its callers. */
export interface Group {
  readonly publishes: PendingPublish[];
  readonly requeues: PendingRequeue[];
  readonly retries: PendingRetry[];
  readonly settlements: PendingSettlement[];
  readonly batch: CommitBatch;
}

/** Splits a group into single commands. */
export function* singles(group: Group): Iterable<Group> {
  const nothing = { publishes: [], requeues: [], retries: [], settlements: [] };
  const empty: CommitBatch = { ...nothing, webhookStates: [] };
  const { webhookStates, operationalEvents = [] } = group.batch;
  if (webhookStates.length > 0) yield { ...nothing, batch: { ...empty, webhookStates } };
  for (const event of operationalEvents)
    yield { ...nothing, batch: { ...empty, operationalEvents: [event] } };
  for (const [index, pending] of group.publishes.entries()) {
    const publishes = group.batch.publishes.slice(index, index + 1);
    yield { ...nothing, publishes: [pending], batch: { ...empty, publishes } };
  }
  for (const pending of group.requeues) {
    yield { ...nothing, requeues: [pending], batch: { ...empty, requeues: [pending.command] } };
  }
  for (const pending of group.retries) {
    yield { ...nothing, retries: [pending], batch: { ...empty, retries: [pending.retry] } };
  }
  for (const pending of group.settlements) {
    yield { ...nothing, settlements: [pending], batch: { ...empty, settlements: [pending.settlement] } };
  }
}

/** The commands that can be composed; the callers of the others get the error. */
export function composed(taken: readonly PendingPublish[]): {
  readonly publishes: PendingPublish[];
  readonly commands: PublishCommand[];
} {
  const publishes: PendingPublish[] = [];
  const commands: PublishCommand[] = [];
  for (const pending of taken) {
    try {
      commands.push(pending.compose());
      publishes.push(pending);
    } catch (error) {
      pending.done(errorOf(error));
    }
  }
  return { publishes, commands };
}

import { errorOf } from "../../domain/thrown.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type {
  ClaimedDelivery,
  CommitBatch,
  CommitResult,
  PublishCommand,
  Settlement,
  SettlementResult,
  WebhookRuntimeState,
} from "../../ports/store/deliveries.ts";
import type { OperationalEvents } from "../endpoint/webhook-lifecycle.ts";
import type { PendingPublish, PendingRequeue, PendingRetry } from "./commit-group.ts";
import type { CommitStatistics } from "./commit-statistics.ts";
import type { ProblemWatch } from "./problem-watch.ts";

export interface PendingSettlement {
  readonly settlement: Settlement;
  /** The delivery that the settlement ends. */
  readonly delivery: Pick<ClaimedDelivery, "tenantId" | "webhookId" | "body">;
  /** Whether the caller is blocked on this write, which must then be committed immediately. */
  readonly isAwaited: boolean;
  readonly done: (result: SettlementResult) => void;
}

/**
 * Settlements that wait for a transaction. A few settlements do not start a transaction: they wait for the next
 * publish, or for `waitMsMax`, unless something is blocked on one of them. At a few hundred events per second, an event
 * therefore costs one transaction instead of two. A crash may lose waiting settlements; the receiver then gets these
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

  /** Whether there are enough settlements to start a transaction. */
  get isDue(): boolean {
    return this.#isDue;
  }

  push(pending: PendingSettlement): void {
    this.#all.push(pending);
    this.#see(pending.isAwaited);
  }

  /** Schedules a transaction: soon if the settlements justify one, and in `waitMsMax` otherwise. */
  #see(isAwaited: boolean): void {
    if (isAwaited || this.#all.length >= manySettlements || this.#waitMsMax === 0) this.#isDue = true;
    if (!this.#isDue && !this.#patience.isSet) this.#patience.set(this.#waitMsMax, this.#becomeDue);
  }

  /** Takes the oldest settlements. Those that are left wait as if they had just arrived. */
  take(countMax: number): PendingSettlement[] {
    this.#isDue = false;
    this.#patience.cancel();
    const taken = this.#all.splice(0, countMax);
    if (this.#all.length > 0) this.#see(this.#all.some(({ isAwaited }) => isAwaited));
    return taken;
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

/** Number of settlements that justify a separate transaction. */
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

/** Composes the commands. If a command cannot be composed, its caller receives the error and the others continue. */
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

/** Rows that one commit writes in addition to its commands. */
export type Riding = Pick<CommitBatch, "statistics" | "problems">;

/** Adds statistics and problem changes to commits that other writes cause. */
export class CommitRiders {
  /** Null if statistics are disabled. */
  readonly #statistics: CommitStatistics | null;
  readonly #problems: ProblemWatch;

  constructor(statistics: CommitStatistics | null, problems: ProblemWatch) {
    this.#statistics = statistics;
    this.#problems = problems;
  }

  /** Timestamp of the oldest data that no commit has taken, in Unix milliseconds; null if there is none. */
  get unwrittenSince(): number | null {
    return this.#statistics?.unwrittenSince ?? null;
  }

  compose({ batch, settlements }: Group, carriesRows: boolean): Riding {
    const statistics = this.#statistics?.compose(batch.publishes, settlements, carriesRows);
    const problems = this.#problems.compose(settlements, batch.publishes);
    return { ...(statistics !== undefined && { statistics }), ...(problems !== undefined && { problems }) };
  }

  committed(riding: Riding, group: Group, result: CommitResult): void {
    if (riding.statistics !== undefined) this.#statistics?.committed(riding.statistics, result);
    this.#problems.committed(group, result);
  }

  failed({ statistics, problems }: Riding): void {
    if (statistics !== undefined) this.#statistics?.failed(statistics);
    this.#problems.failed(problems);
  }

  /** Called at shutdown. From now on, every commit writes all buckets, including those that are not due. */
  end(): void {
    this.#statistics?.end();
  }
}

/** Webhook states that wait for a commit: the newest state of each webhook, with all its circuit moves. */
class PendingStates {
  readonly #states = new Map<string, WebhookRuntimeState>();

  get size(): number {
    return this.#states.size;
  }

  add(states: readonly WebhookRuntimeState[]): void {
    for (const state of states)
      this.#states.set(state.webhookId, joined(this.#states.get(state.webhookId), state));
  }

  /** Puts back states that could not be written. Newer states take precedence. */
  putBack(states: readonly WebhookRuntimeState[]): void {
    for (const state of states) {
      const newer = this.#states.get(state.webhookId);
      this.#states.set(state.webhookId, newer === undefined ? state : joined(state, newer));
    }
  }

  take(countMax: number): readonly WebhookRuntimeState[] {
    const taken = [...this.#states.values()].slice(0, countMax);
    for (const { webhookId } of taken) this.#states.delete(webhookId);
    return taken;
  }
}

function joined(older: WebhookRuntimeState | undefined, newer: WebhookRuntimeState): WebhookRuntimeState {
  return older?.moves === undefined ? newer : { ...newer, moves: [...older.moves, ...(newer.moves ?? [])] };
}

/** The webhook states and events of one transaction. */
type TakenStates = Required<Pick<CommitBatch, "webhookStates" | "operationalEvents">>;

/** Data that the next transaction includes although no caller waits for it: webhook states and operational events. */
export class WaitingStates {
  readonly #changed: () => readonly WebhookRuntimeState[];
  readonly #events: OperationalEvents;
  readonly #states = new PendingStates();

  /** `changed` returns webhook states that changed since they were last written. */
  constructor(changed: () => readonly WebhookRuntimeState[], events: OperationalEvents) {
    this.#changed = changed;
    this.#events = events;
  }

  /** Number of webhook states that did not fit into the last transaction. */
  get size(): number {
    return this.#states.size;
  }

  take(statesMax: number): TakenStates {
    this.#states.add(this.#changed());
    const webhookStates = this.#states.take(statesMax);
    return { webhookStates, operationalEvents: this.#events.take() };
  }

  /** Puts back the states and events of a transaction that was not written. Newer states take precedence. */
  putBack({ webhookStates, operationalEvents = [] }: CommitBatch): void {
    this.#states.putBack(webhookStates);
    this.#events.putBack(operationalEvents);
  }

  written({ operationalEvents = [] }: CommitBatch): void {
    this.#events.written(operationalEvents);
  }
}

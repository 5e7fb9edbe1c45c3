import { errorOf } from "../../domain/thrown.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type {
  ClaimedDelivery,
  CommitBatch,
  CommitResult,
  PublishCommand,
  PublishResult,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
  Settlement,
  SettlementResult,
  WebhookRuntimeState,
} from "../../ports/store/deliveries.ts";
import type { OperationalEvents } from "../endpoint/operational-events.ts";
import type { CommitStatistics } from "./commit-statistics.ts";
import type { ProblemWatch } from "./problem-watch.ts";

/** How much a command adds to a transaction. */
export interface WriteSize {
  /** Approximate number of rows: one for an event and one for each delivery. */
  readonly rows: number;
  /** Total size of the bodies. */
  readonly bytes: number;
}

/**
 * Commands that wait for a transaction, in order of arrival. A transaction is limited by rows and bytes, not by
 * commands, because SQLite writes on the event loop and one event may have ten thousand deliveries.
 */
export class WaitingWrites<Command extends { readonly size: WriteSize }> {
  readonly #commands: Command[] = [];
  #rows = 0;

  get length(): number {
    return this.#commands.length;
  }

  /** Number of rows of all waiting commands. */
  get rows(): number {
    return this.#rows;
  }

  push(command: Command): void {
    this.#commands.push(command);
    this.#rows += command.size.rows;
  }

  /** Takes as many of the oldest commands as fit, but at least one, because a command is never split. */
  take(room: WriteSize): Command[] {
    let { rows, bytes } = room;
    let count = 0;
    for (const { size } of this.#commands) {
      if (count > 0 && (size.rows > rows || size.bytes > bytes)) break;
      rows -= size.rows;
      bytes -= size.bytes;
      count += 1;
    }
    this.#rows -= room.rows - rows;
    return this.#commands.splice(0, count);
  }

  takeAll(): Command[] {
    this.#rows = 0;
    return this.#commands.splice(0);
  }
}

export function rowsOf(commands: readonly { readonly size: WriteSize }[]): number {
  return commands.reduce((sum, { size }) => sum + size.rows, 0);
}

export interface PendingPublish {
  readonly size: WriteSize;
  /**
   * Composes the command. Called right before the transaction, so that waiting publishes do not hold drafts in memory.
   */
  readonly compose: () => PublishCommand;
  /** Called once, right after the transaction, with the result or the error. */
  readonly done: (result: PublishResult | Error) => void;
}

export interface PendingRequeue {
  readonly command: RequeueCommand;
  readonly done: (result: RequeueResult | Error) => void;
}

export interface PendingRetry {
  readonly retry: RetryCommand;
  readonly done: (result: RetryResult | Error) => void;
}

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

/**
 * How many settlements a transaction takes. A publish waits for the running transaction and for its own. If hundreds of
 * requests end at the same moment, for example in a timeout, one transaction for all of their settlements would delay it
 * by half a second on PostgreSQL. A transaction therefore takes only the settlements that it can write in 25 ms, based on
 * the pace of the last large group. The latency of a small group is subtracted, because every transaction has it.
 */
export class SettlementPace {
  #settlementsMax = settlementsMin;
  #latencyMs = 0;

  /** Maximum number of settlements in the next transaction. */
  get settlementsMax(): number {
    return this.#settlementsMax;
  }

  /** Records how long a transaction with this many rows took. */
  measured(rows: number, durationMs: number): void {
    if (rows <= fewRows) this.#latencyMs = durationMs;
    if (rows < manyRows) return;
    // The latency may have been higher when it was measured.
    const writingMs = durationMs - Math.min(this.#latencyMs, durationMs * 0.9);
    const fitting = Math.floor((settlementMsMax * rows) / writingMs);
    this.#settlementsMax = Math.max(settlementsMin, Math.min(fitting, settlementsMost));
  }
}

const settlementMsMax = 25;
/** Also the limit before the pace is known. */
const settlementsMin = 64;
const settlementsMost = 1_024;
/** A group of up to this many rows shows the latency of the store, */
const fewRows = 8;
/** and a group of at least this many rows its pace. */
const manyRows = 32;

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

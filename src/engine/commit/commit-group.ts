import { backoffMs } from "../../domain/retry-schedule.ts";
import { errorOf, messageOf } from "../../domain/thrown.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  CommitResult,
  DeliveryStore,
  PublishResult,
  RequeueResult,
  RetryResult,
  SettlementResult,
} from "../../ports/store/deliveries.ts";
import { type StoreTrouble, StoreUnavailableError } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  composed,
  type CommitRiders,
  type Group,
  type PendingPublish,
  type PendingRequeue,
  type PendingRetry,
  type PendingSettlement,
  rowsOf,
  SettlementPace,
  singles,
  WaitingSettlements,
  type WaitingStates,
  WaitingWrites,
  type WriteSize,
} from "./write-group.ts";

interface CommitGroupOptions {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Webhook states and operational events that are added when a batch is composed. */
  readonly waitingStates: WaitingStates;
  readonly riders: Pick<CommitRiders, keyof CommitRiders>;
  /** Called when the store accepts writes again after a failure. */
  readonly recovered: () => void;
  readonly windowMs: number;
  readonly rowsMax: number;
}

type Change = (PendingRequeue | PendingRetry) & { readonly size: WriteSize };

/**
 * Group commit: writes that arrive during a transaction go into the next one, so that one fsync serves hundreds of
 * callers.
 *
 * When to write: once a turn of the event loop brought no new caller, because all publishers are then waiting for this
 * commit. If only settlements wait, the turn must have brought no new write at all. In any case, a group is written
 * after `windowMs` or at `rowsMax`, whichever comes first. After a large group, the next one always gathers for a few
 * milliseconds. So a lone publish is written immediately, and groups grow under load.
 *
 * A few settlements do not start a transaction: they wait for the next publish, or for `windowMs`
 * (`WaitingSettlements`).
 *
 * How much: up to `rowsMax` rows, because a store may write on the event loop. The rest goes into the next
 * transaction, one turn of the loop later. While publishes also wait, requeues and retries get no more than half of
 * the rows. `SettlementPace` limits settlements.
 *
 * If the store cannot write, publishes, requeues and retries are rejected immediately, without any effect. Settlements
 * and webhook states describe requests that were already sent, so they are kept and written again with a growing
 * delay. Callers are also rejected if they wait behind an unanswered transaction, for example if the network drops
 * packets, and during a failure that only an operator can resolve.
 */
export class CommitGroup {
  readonly #options: CommitGroupOptions;
  readonly #publishes = new WaitingWrites<PendingPublish>();
  readonly #changes = new WaitingWrites<Change>();
  readonly #settlements: WaitingSettlements;
  #writing = false;
  /** Whether the running transaction is overdue. */
  #unanswered = false;
  #waiting = false;
  /** Whether the last group left waiting writes behind. */
  #cut = false;
  #firstAt = 0;
  #seenCallers = 0;
  #seenLength = 0;
  #lastWriteAt = 0;
  #commitMs: number | null = null;
  #lastWrites = 0;
  readonly #pace = new SettlementPace();
  #failures = 0;
  /** Error of the last write; null if it succeeded. */
  #obstacle: StoreUnavailableError | null = null;
  readonly #retry: Alarm;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(options: CommitGroupOptions) {
    this.#options = options;
    this.#retry = new Alarm(options.clock);
    const { windowMs: waitMsMax } = options;
    this.#settlements = new WaitingSettlements(options.clock, waitMsMax, this.#settlementsWaited);
  }

  publish(pending: PendingPublish): void {
    const refusal = this.#refusal();
    if (refusal !== null) return pending.done(refusal);
    this.#publishes.push(pending);
    this.#wait();
  }

  requeue(pending: PendingRequeue): void {
    const refusal = this.#refusal();
    if (refusal !== null) return pending.done(refusal);
    this.#changes.push({ ...pending, size: { rows: pending.command.deliveries.length, bytes: 0 } });
    this.#wait();
  }

  retry(pending: PendingRetry): void {
    const refusal = this.#refusal();
    if (refusal !== null) return pending.done(refusal);
    this.#changes.push({ ...pending, size: { rows: 1, bytes: 0 } });
    this.#wait();
  }

  settle(pending: PendingSettlement): void {
    this.#settlements.push(pending);
    if (this.#settlements.isDue) this.#wait();
  }

  readonly #settlementsWaited = (): void => {
    this.#wait();
    // Treats the group as having gathered for the maximum time.
    this.#firstAt -= this.#options.windowMs;
  };

  /** Schedules a transaction. Call after webhook states changed that must be written even if no other write follows. */
  touch(): void {
    this.#wait();
  }

  /** Ends the pause before the next write attempt. Called when the store is available again. */
  retryNow(): void {
    if (!this.#retry.isSet) return;
    this.#retry.cancel();
    this.#wait();
  }

  /** Resolves after the next transaction, which includes changed webhook states. */
  async written(): Promise<void> {
    // A running transaction was composed before the change, so it does not contain it.
    if (this.#writing) await this.#nextWrite();
    await this.#nextWrite();
  }

  /** Number of uncommitted writes. The dispatcher stops sending when this grows, which happens if the store is down. */
  get backlog(): number {
    return this.#publishes.length + this.#changes.length + this.#settlements.length;
  }

  /** Duration of the last successful commit; null before the first. */
  get commitMs(): number | null {
    return this.#commitMs;
  }

  /** Why the store cannot write; null once a write succeeded. */
  get trouble(): StoreTrouble | null {
    return this.#obstacle?.trouble ?? null;
  }

  /** Resolves once nothing is waiting, or once the store failed again while draining. */
  async drain(): Promise<void> {
    const failuresBefore = this.#failures;
    const { riders } = this.#options;
    riders.end();
    const hasWork = (): boolean =>
      this.backlog > 0 || this.#writing || this.#waiting || riders.unwrittenSince !== null;
    while (hasWork() && this.#failures <= failuresBefore + 1) {
      await this.#nextWrite();
    }
    this.#retry.cancel();
    this.#settlements.rest();
  }

  /** The error for callers that cannot wait for the next transaction; null if they can wait. */
  #refusal(): StoreUnavailableError | null {
    if (this.#unanswered) return unanswered();
    return this.#obstacle !== null && lasting.has(this.#obstacle.trouble) ? this.#obstacle : null;
  }

  #nextWrite(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.#wait();
    });
  }

  #wait(): void {
    if (this.#waiting || this.#writing || this.#retry.isSet) return;
    this.#waiting = true;
    this.#firstAt = this.#options.clock.monotonicMs();
    this.#noteSeen();
    this.#options.clock.defer(this.#look);
  }

  #noteSeen(): void {
    this.#seenCallers = this.#publishes.length + this.#changes.length;
    this.#seenLength = this.backlog;
  }

  readonly #look = (): void => {
    if (this.#worthWaiting()) {
      this.#noteSeen();
      this.#options.clock.defer(this.#look);
      return;
    }
    this.#waiting = false;
    void this.#write();
  };

  #worthWaiting(): boolean {
    const { clock, rowsMax, windowMs } = this.#options;
    const length = this.backlog;
    const now = clock.monotonicMs();
    const rows = this.#publishes.rows + this.#changes.rows + this.#settlements.length;
    if (this.#cut || rows >= rowsMax || now - this.#firstAt >= windowMs) return false;
    if (this.#lastWrites >= largeGroupWrites && now - this.#lastWriteAt < gatherMs) return true;
    const callers = this.#publishes.length + this.#changes.length;
    return callers > 0 ? callers > this.#seenCallers : length > this.#seenLength;
  }

  async #write(): Promise<void> {
    this.#writing = true;
    const group = this.#takeGroup();
    const startedAt = this.#options.clock.monotonicMs();
    const patience = this.#options.clock.schedule(callerWaitMsMax, this.#refuseCallers);
    try {
      const result = await this.#commit(group, true);
      this.#writable();
      this.#report(group, startedAt);
      this.#distribute(group, result);
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#postpone(group, error);
      else await this.#writeOneByOne(group, error);
    } finally {
      patience.cancel();
      this.#writing = false;
      this.#unanswered = false;
      if (!this.#cut || this.#obstacle !== null) for (const resolve of this.#idleWaiters.splice(0)) resolve();
      if (this.#isDue) this.#wait();
    }
  }

  /** Writes a group with its statistics and problems. */
  async #commit(group: Group, carriesRows: boolean): Promise<CommitResult> {
    const { store, riders } = this.#options;
    const riding = riders.compose(group, carriesRows);
    try {
      const result = await store.commit({ ...group.batch, ...riding });
      riders.committed(riding, group, result);
      return result;
    } catch (error) {
      riders.failed(riding);
      throw error;
    }
  }

  /** Whether a waiting write must be committed without waiting for a larger group. */
  get #isDue(): boolean {
    const callers = this.#publishes.length + this.#changes.length + this.#idleWaiters.length;
    return callers > 0 || this.#cut || this.#settlements.isDue;
  }

  readonly #refuseCallers = (): void => {
    this.#unanswered = true;
    for (const pending of this.#publishes.takeAll()) pending.done(unanswered());
    for (const pending of this.#changes.takeAll()) pending.done(unanswered());
  };

  #takeGroup(): Group {
    const { rowsMax } = this.#options;
    const changes = this.#changes.take({ rows: rowsMax / 2, bytes: bodyBytesMax });
    const callers = this.#publishes.take({ rows: rowsMax - rowsOf(changes), bytes: bodyBytesMax });
    const requeues = changes.filter((change) => "command" in change);
    const retries = changes.filter((change) => "retry" in change);
    const { publishes, commands } = composed(callers);
    const settlements = this.#settlements.take(this.#pace.settlementsMax);
    const { waitingStates } = this.#options;
    // Most settlements of a burst change the state of their webhook.
    const taken = waitingStates.take(this.#pace.settlementsMax);
    const callersLeft = this.#publishes.length + this.#changes.length;
    this.#cut = callersLeft + waitingStates.size > 0 || this.#settlements.length >= this.#pace.settlementsMax;
    return {
      publishes,
      requeues,
      retries,
      settlements,
      batch: {
        publishes: commands,
        requeues: requeues.map((pending) => pending.command),
        retries: retries.map((pending) => pending.retry),
        settlements: settlements.map((pending) => pending.settlement),
        ...taken,
      },
    };
  }

  #distribute(group: Group, result: CommitResult): void {
    this.#options.waitingStates.written(group.batch);
    for (let index = 0; index < group.publishes.length; index += 1) {
      group.publishes[index]?.done(result.publishes[index] as PublishResult);
    }
    for (let index = 0; index < group.requeues.length; index += 1) {
      group.requeues[index]?.done(result.requeues[index] as RequeueResult);
    }
    for (let index = 0; index < group.retries.length; index += 1) {
      group.retries[index]?.done(result.retries[index] as RetryResult);
    }
    for (let index = 0; index < group.settlements.length; index += 1) {
      group.settlements[index]?.done(result.settled[index] as SettlementResult);
    }
  }

  #postpone(group: Group, error: StoreUnavailableError): void {
    this.#failures += 1;
    this.#obstacle = error;
    // The writes that did not fit arrived at the same time and would fail in the same way.
    const left = this.#cut ? [...this.#publishes.takeAll(), ...this.#changes.takeAll()] : [];
    for (const pending of [...group.publishes, ...group.requeues, ...group.retries, ...left])
      pending.done(error);
    this.#settlements.putBack(group.settlements);
    this.#options.waitingStates.putBack(group.batch);
    const { random, telemetry } = this.#options;
    const delayMsMax = error.trouble === "disk_full" ? fullDiskDelayMsMax : retryDelayMsMax;
    const pauses = this.#failures - 1;
    const delayMs = backoffMs({ delayMsMin: retryDelayMsMin, delayMsMax }, pauses, random.uniform());
    telemetry.log.error(
      {
        err: error.message,
        failures: this.#failures,
        waiting: this.#settlements.length,
        retryInMs: Math.round(delayMs),
      },
      "the store cannot write; settlements are kept and retried",
    );
    this.#retry.set(delayMs, () => this.#wait());
  }

  /**
   * Called if a batch failed for a reason other than the state of the store. Finds the command that cannot be written,
   * and writes the rest.
   */
  async #writeOneByOne(group: Group, error: unknown): Promise<void> {
    this.#options.telemetry.log.error(
      { err: messageOf(error) },
      "a grouped commit failed; writing its parts one by one",
    );
    for (const part of singles(group)) {
      try {
        const result = await this.#commit(part, false);
        this.#writable();
        this.#distribute(part, result);
      } catch (partError) {
        if (partError instanceof StoreUnavailableError) this.#postpone(part, partError);
        else this.#giveUp(part, partError);
      }
    }
  }

  #giveUp(part: Group, error: unknown): void {
    const failure = errorOf(error);
    this.#options.telemetry.log.error({ err: failure.message }, "the store rejected a write; it is dropped");
    for (const pending of part.publishes) pending.done(failure);
    for (const pending of part.requeues) pending.done(failure);
    for (const pending of part.retries) pending.done(failure);
    for (const pending of part.settlements) pending.done({ kind: "lost" });
  }

  #writable(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#obstacle = null;
    this.#options.telemetry.log.info({ waiting: this.backlog }, "the store accepts writes again");
    this.#options.recovered();
  }

  #report(group: Group, startedAt: number): void {
    const changes = group.requeues.length + group.retries.length;
    const writes = group.publishes.length + changes + group.settlements.length;
    this.#lastWriteAt = this.#options.clock.monotonicMs();
    this.#lastWrites = writes;
    const durationMs = this.#lastWriteAt - startedAt;
    this.#commitMs = durationMs;
    this.#pace.measured(rowsOf(group.publishes) + changes + group.settlements.length, durationMs);
    this.#options.telemetry.metrics.commitWritten(writes, durationMs);
  }
}

function unanswered(): StoreUnavailableError {
  return new StoreUnavailableError("the database does not respond");
}

/** A group with this many writes indicates load, so the next group gathers writes for a while. */
const largeGroupWrites = 32;
const gatherMs = 4;
/** Writing a megabyte of bodies takes a few milliseconds. */
const bodyBytesMax = 4 * 1024 * 1024;
/** How long a transaction may run before callers waiting for the next one are refused. */
const callerWaitMsMax = 5_000;
/** Minimum and maximum pause between two attempts to write kept settlements. */
const retryDelayMsMin = 100;
const retryDelayMsMax = 5_000;
/** Maximum pause if the disk is full. Checking for free space costs almost nothing, and publishers wait for it. */
const fullDiskDelayMsMax = 1_000;
/** Failures that last until an operator acts, so callers are rejected immediately. */
const lasting: ReadonlySet<StoreTrouble> = new Set(["disk_full", "damaged"]);

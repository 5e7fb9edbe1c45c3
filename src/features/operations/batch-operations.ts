import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { Page, Store } from "../../ports/store.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import {
  type BatchOperation,
  isAtRest,
  newOperationDefaults,
  type OperationQuery,
} from "../../ports/store/operations.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { operationChangeFields } from "../../resources/operation.ts";
import { ProblemList, readFields } from "../input.ts";
import type { ChangeOperationCommand, Scope } from "../services.ts";
import { OperationOutcomes, type SelectionWalk } from "./selection-walk.ts";
import { OperationRun } from "./operation-run.ts";

export interface BatchOperationsOptions {
  readonly access: Pick<
    EngineAccess,
    "webhook" | "placeOf" | "nextId" | "requeue" | "retry" | "end" | "refresh" | "circuitChanged"
  >;
  readonly store: Pick<Store, "operations">;
  readonly history: Pick<HistoryStore, "sentByOperation">;
  readonly walk: Pick<SelectionWalk, "portions">;
  readonly clock: Clock;
  readonly log: Telemetry["log"];
  /**
   * Set if other processes may also run and cancel operations. If `resumes` is true, this process resumes abandoned
   * operations.
   */
  readonly shared: { readonly resumes: boolean } | null;
}

export type NewOperation = Pick<
  BatchOperation,
  "tenantId" | "kind" | "selection" | "priority" | "requestsPerSecond" | "total"
> & {
  /** Includes only deliveries below this position; null if the deliveries are listed by id. */
  readonly before: number | null;
  readonly isTotalExact?: boolean;
  readonly startsAt?: number | null;
  readonly closesCircuits?: boolean;
};

/** Maximum number of a tenant's unfinished operations. */
const unfinishedMax = 20;
/** A process that has stored no progress for this long is considered dead. */
const abandonedMs = 60_000;
/** Short delay for an operation that was released or not started, because its process may be about to start it. */
const unclaimedMs = 5_000;
const abandonedLookMs = 20_000;
/**
 * Changes are retried, because the running process stores its progress once per second, which may conflict with a
 * change.
 */
const changeTriesMax = 20;

/**
 * Runs bulk actions (WDS-112, 113) at the requested rate, oldest deliveries first, and resumes them after a restart. A
 * retry is recorded in its delivery together with the operation, in one commit. Cancelled and discarded deliveries have
 * ended. Therefore, no delivery is processed twice, even after a crash or if two processes run the same operation.
 * Counts are only for display. Can be started once. `stop` is idempotent and waits until no work is running.
 */
export class BatchOperations {
  readonly #options: BatchOperationsOptions;
  readonly #runs = new Map<string, OperationRun>();
  #isStopping = false;
  /** Searches for operations that another process left unfinished. */
  readonly #look: Loop;
  readonly #outcomes: OperationOutcomes;

  constructor(options: BatchOperationsOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#outcomes = new OperationOutcomes(options.history, clock);
    this.#look = new Loop({
      clock,
      round: () => this.#resume(),
      pauseMs: () => abandonedLookMs,
      failed: (error) => log.warn({ err: String(error) }, "failed to search for abandoned batch operations"),
    });
  }

  /** Resumes the unfinished operations of the previous process. */
  async start(): Promise<void> {
    const { shared } = this.#options;
    if (shared?.resumes === false) return;
    await this.#resume();
    if (shared !== null) this.#look.start();
  }

  async #resume(): Promise<void> {
    const { shared, store, clock } = this.#options;
    for (const operation of await store.operations.unfinished()) {
      const forMs = clock.now() - operation.updatedAt;
      const isAbandoned = forMs > (operation.runner === null ? unclaimedMs : abandonedMs);
      if (shared === null || isAbandoned) this.#run(operation);
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const run of this.#runs.values()) run.interrupt();
    await Promise.all([this.#look.stop(), ...[...this.#runs.values()].map((run) => run.ended)]);
  }

  async create(scope: Scope, order: NewOperation): Promise<BatchOperation> {
    const underWay = [...this.#runs.values()].filter(
      (run) => run.operation.tenantId === order.tenantId,
    ).length;
    if (underWay >= unfinishedMax) {
      throw new PosthornError(
        "limit_reached",
        `${underWay} batch operations are in progress; wait for one or cancel it`,
      );
    }
    const now = this.#options.clock.now();
    const isNothing = order.total === 0 && order.isTotalExact !== false;
    const operation: BatchOperation = {
      ...newOperationDefaults,
      ...order,
      id: this.#options.access.nextId(),
      status: isNothing ? "completed" : "pending",
      createdAt: now,
      updatedAt: now,
      finishedAt: isNothing ? now : null,
    };
    const audit = scope.audit?.take({ id: operation.id, tenantId: operation.tenantId });
    await this.#options.store.operations.save(operation, audit);
    if (operation.status === "pending") this.#run(operation);
    return operation;
  }

  async get(scope: Scope, id: string): Promise<BatchOperation> {
    const stored = await this.#options.store.operations.get(scope.tenantId, id);
    if (stored === null) throw new NotFoundError("the batch operation");
    return this.#shown(stored);
  }

  async list(query: OperationQuery): Promise<Page<BatchOperation>> {
    const { rows, next } = await this.#options.store.operations.list(query);
    const shown: BatchOperation[] = [];
    for (const row of rows) shown.push(await this.#shown(row));
    return { rows: shown, next };
  }

  /**
   * Stores the outcome of a finished operation once none of its deliveries is waiting, because retention removes the
   * deliveries later.
   */
  async #shown(stored: BatchOperation): Promise<BatchOperation> {
    const shown = await this.#outcomes.shown(this.#newest(stored));
    const { outcome } = shown;
    const isFinal = hasEnded(shown) && outcome !== null && outcome.waiting === 0;
    if (!isFinal || stored.outcome?.waiting === 0) return shown;
    await this.#options.store.operations.update({ ...stored, outcome });
    return shown;
  }

  /** The unfinished operations of a tenant. */
  async unfinished(tenantId: string): Promise<readonly BatchOperation[]> {
    const all = await this.#options.store.operations.unfinished();
    return all.filter((operation) => operation.tenantId === tenantId);
  }

  /** The newest state of an operation. The state in memory is more recent than the stored state. */
  #newest(stored: BatchOperation): BatchOperation {
    const running = this.#runs.get(stored.id)?.operation;
    const isScheduled = (stored.startsAt ?? 0) > this.#options.clock.now();
    if (running === undefined || isAtRest(stored) || isScheduled) return stored;
    return { ...running, status: "running", requestsPerSecond: stored.requestsPerSecond };
  }

  /** Cancels an operation. Queued deliveries are still sent; no further deliveries are processed. */
  cancel(scope: Scope, id: string): Promise<BatchOperation> {
    return this.change(scope, { id, status: "cancelled" });
  }

  /** Changes the rate, pauses, resumes or cancels. Rejects with `conflict` if the operation has ended. */
  async change(scope: Scope, command: ChangeOperationCommand): Promise<BatchOperation> {
    const { id } = command;
    validate(command);
    const operation = await this.#write(scope, command);
    const run = this.#runs.get(id);
    run?.changed();
    if (isAtRest(operation)) await run?.ended;
    else this.#run(operation);
    return this.get(scope, id);
  }

  async #write(scope: Scope, command: ChangeOperationCommand): Promise<BatchOperation> {
    const { store, clock } = this.#options;
    const { id, status, requestsPerSecond } = command;
    for (let tries = 1; ; tries += 1) {
      const stored = await store.operations.get(scope.tenantId, id);
      if (stored === null) throw new NotFoundError("the batch operation");
      if (hasEnded(stored)) {
        // Cancelling is idempotent, and the operation may have ended since the request.
        if (status === "cancelled" && (tries > 1 || stored.status === status)) return stored;
        throw new PosthornError("conflict", `the batch operation is already ${stored.status}`);
      }
      const now = clock.now();
      const changed: BatchOperation = {
        ...stored,
        ...(requestsPerSecond !== undefined && { requestsPerSecond }),
        ...(status !== undefined && statusOf(stored, status, now)),
        updatedAt: now,
      };
      const audit = scope.audit?.peek({ id, tenantId: stored.tenantId });
      if (await store.operations.update(changed, audit)) {
        scope.audit?.written();
        return { ...changed, revision: changed.revision + 1 };
      }
      if (tries === changeTriesMax)
        throw new PosthornError("unavailable", "the batch operation is changing too fast; retry");
    }
  }

  #run(operation: BatchOperation): void {
    // A stopping process leaves the operation in the store for another process.
    if (this.#isStopping || this.#runs.has(operation.id)) return;
    const run = new OperationRun(operation, this.#options);
    this.#runs.set(operation.id, run);
    void run.ended.then(() => this.#runs.delete(operation.id));
  }
}

function hasEnded({ status }: BatchOperation): boolean {
  return status === "completed" || status === "cancelled" || status === "failed";
}

/**
 * The fields that a status change sets. Resuming an operation that is not paused leaves it with its current process.
 */
function statusOf(
  stored: BatchOperation,
  status: "running" | "paused" | "cancelled",
  now: number,
): Partial<BatchOperation> {
  if (status === "running") return isAtRest(stored) ? { status: "pending", runner: null } : {};
  return { status, finishedAt: status === "cancelled" ? now : null, ratePerSecond: null };
}

function validate(command: ChangeOperationCommand): void {
  const problems = new ProblemList();
  const { requestsPerSecond, status } = readFields(operationChangeFields, command, problems);
  if (requestsPerSecond === undefined && status === undefined)
    problems.add({ field: "", message: "must contain rate_limit or status" });
  problems.throwIfAny("the change");
}

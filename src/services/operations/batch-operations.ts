import { Backoff } from "../../core/backoff.ts";
import { NotFoundError, PosthornError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Page, Store } from "../../ports/store.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import type { BatchOperation, OperationQuery } from "../../ports/store/operations.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Scope } from "../services.ts";
import { readSlice, type Selection, sliceSelection } from "./operation-selection.ts";
import { newRedelivery } from "../deliveries/redelivery.ts";

export interface BatchOperationsOptions {
  readonly access: Pick<EngineAccess, "webhook" | "placeOf" | "nextId" | "requeue">;
  readonly store: Pick<Store, "history" | "operations">;
  readonly clock: Clock;
  readonly log: Telemetry["log"];
  /** Other processes may run, and cancel, operations too; this one takes up abandoned ones where `resumes`. */
  readonly shared: { readonly resumes: boolean } | null;
}

export interface NewOperation {
  readonly tenantId: string | null;
  readonly kind: BatchOperation["kind"];
  readonly selection: Selection;
  readonly priority: BatchOperation["priority"];
  readonly requestsPerSecond: number;
  readonly total: number;
  /** Position below which its deliveries lie. */
  readonly before: number;
}

/** Operations that one tenant may have under way. */
const unfinishedMax = 20;
/** Requeues go out in small groups this far apart, because a timer each would cost more than the work. */
const stepMsMin = 20;
/** Progress is stored about this often; it is only shown, so it may lag. */
const saveIntervalMs = 1_000;
const retryBounds = { delayMsMin: 500, delayMsMax: 30_000 };
/** Progress that was not stored for so long means that the process is gone. */
const abandonedMs = 60_000;
const abandonedLookMs = 20_000;

/**
 * Works off bulk retries (WDS-112, 113) at the rate asked for, oldest deliveries first, and goes on after a restart.
 *
 * Every delivery that it makes supersedes an old one, in one commit. So the store itself knows what is done: a crash,
 * or two processes at the same operation, deliver nothing twice, and counts are only there to be looked at.
 *
 * Starts once; stopping twice is safe, and stop waits until nothing of it runs any more.
 */
export class BatchOperations {
  readonly #options: BatchOperationsOptions;
  readonly #runs = new Map<string, Run>();
  #isStopping = false;
  /** For those that another process left unfinished. */
  readonly #look: Loop;

  constructor(options: BatchOperationsOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#look = new Loop({
      clock,
      round: () => this.#resume(),
      pauseMs: () => abandonedLookMs,
      failed: (error) =>
        log.warn({ err: String(error) }, "abandoned batch operations could not be looked for"),
    });
  }

  /** Goes on with what the last process left unfinished. */
  async start(): Promise<void> {
    const { shared } = this.#options;
    if (shared?.resumes === false) return;
    await this.#resume();
    if (shared !== null) this.#look.start();
  }

  async #resume(): Promise<void> {
    const { shared, store, clock } = this.#options;
    for (const operation of await store.operations.unfinished()) {
      if (shared === null || clock.now() - operation.updatedAt > abandonedMs) this.#run(operation);
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const run of this.#runs.values()) run.interrupt();
    await Promise.all([this.#look.stop(), ...[...this.#runs.values()].map((run) => run.ended)]);
  }

  async create(order: NewOperation): Promise<BatchOperation> {
    const underWay = [...this.#runs.values()].filter(
      (run) => run.operation.tenantId === order.tenantId,
    ).length;
    if (underWay >= unfinishedMax) {
      throw new PosthornError(
        "limit_reached",
        `${underWay} batch operations are under way; wait for one or cancel it`,
      );
    }
    const now = this.#options.clock.now();
    const operation: BatchOperation = {
      ...order,
      id: this.#options.access.nextId(),
      status: order.total === 0 ? "completed" : "pending",
      queued: 0,
      failed: 0,
      createdAt: now,
      updatedAt: now,
    };
    await this.#options.store.operations.save(operation);
    if (operation.status === "pending") this.#run(operation);
    return operation;
  }

  async get(scope: Scope, id: string): Promise<BatchOperation> {
    const stored = await this.#options.store.operations.get({ tenantId: scope.tenantId, id });
    if (stored === null) throw new NotFoundError("the batch operation");
    return this.#runs.get(id)?.operation ?? stored;
  }

  async list(query: OperationQuery): Promise<Page<BatchOperation>> {
    const { rows, next } = await this.#options.store.operations.list(query);
    return { rows: rows.map((row) => this.#runs.get(row.id)?.operation ?? row), next };
  }

  /** What was requeued before goes its way; nothing more is. */
  async cancel(scope: Scope, id: string): Promise<BatchOperation> {
    const operation = await this.get(scope, id);
    if (operation.status === "completed" || operation.status === "failed") {
      throw new PosthornError("conflict", `the batch operation is ${operation.status} already`);
    }
    const run = this.#runs.get(id);
    run?.interrupt();
    await run?.ended;
    // It may have come to its end meanwhile.
    if (run?.operation.status === "completed") return run.operation;
    const cancelled: BatchOperation = {
      ...(run?.operation ?? operation),
      status: "cancelled",
      updatedAt: this.#options.clock.now(),
    };
    await this.#options.store.operations.save(cancelled);
    return cancelled;
  }

  #run(operation: BatchOperation): void {
    // A stopping process leaves it in the store for the next one.
    if (this.#isStopping || this.#runs.has(operation.id)) return;
    const run = new Run(operation, this.#options);
    this.#runs.set(operation.id, run);
    void run.ended.then(() => this.#runs.delete(operation.id));
  }
}

/** One operation under way. */
class Run {
  readonly #options: BatchOperationsOptions;
  operation: BatchOperation;
  readonly ended: Promise<void>;
  #isInterrupted = false;
  #wake: (() => void) | null = null;
  #savedAt: number;
  #nextStepAt: number;

  constructor(operation: BatchOperation, options: BatchOperationsOptions) {
    this.#options = options;
    // What failed before a restart will be met again, so it is counted afresh.
    this.operation = { ...operation, status: "running", failed: 0 };
    this.#savedAt = options.clock.monotonicMs();
    this.#nextStepAt = this.#savedAt;
    this.ended = this.#work();
  }

  interrupt(): void {
    this.#isInterrupted = true;
    this.#wake?.();
  }

  /** Never rejects: while the store is away it waits, longer each time. */
  async #work(): Promise<void> {
    const backoff = new Backoff(retryBounds);
    while (!this.#isInterrupted) {
      try {
        await this.#workOff();
        if (!this.#isInterrupted) await this.#save("completed");
        return;
      } catch (error) {
        const { id } = this.operation;
        const delayMs = backoff.nextMs();
        this.#options.log.warn(
          { operationId: id, err: String(error), delayMs },
          "a batch operation stalled; trying again",
        );
        this.operation = { ...this.operation, failed: 0 };
        await this.#pause(delayMs);
      }
    }
  }

  async #workOff(): Promise<void> {
    const { history } = this.#options.store;
    const { selection, before } = this.operation;
    const isCancelled = () => this.#isInterrupted;
    for (const slice of await sliceSelection(history, { selection, before: before ?? 0, isCancelled })) {
      if (this.#isInterrupted) return;
      await this.#redeliverAll(await readSlice(history, { selection, slice }));
    }
  }

  async #redeliverAll(deliveries: readonly StoredDelivery[]): Promise<void> {
    const { requestsPerSecond } = this.operation;
    const groupSize = Math.max(1, Math.floor((requestsPerSecond * stepMsMin) / 1_000));
    for (let index = 0; index < deliveries.length && !this.#isInterrupted; index += groupSize) {
      const group = deliveries.slice(index, index + groupSize);
      await this.#waitForTurn((group.length * 1_000) / requestsPerSecond);
      if (this.#isInterrupted) return;
      const results = await Promise.all(group.map((delivery) => this.#redeliver(delivery)));
      const count = (wanted: string) => results.filter((result) => result === wanted).length;
      const { queued, failed } = this.operation;
      this.operation = {
        ...this.operation,
        queued: queued + count("queued"),
        failed: failed + count("failed"),
      };
      if (this.#options.clock.monotonicMs() - this.#savedAt >= saveIntervalMs) await this.#save("running");
    }
  }

  async #redeliver(delivery: StoredDelivery): Promise<"queued" | "failed" | "taken"> {
    const { access, clock } = this.#options;
    const live = access.webhook(delivery.webhookId);
    if (live === undefined) return "failed";
    const origin = this.operation.kind === "recover" ? "recover" : "retry";
    const { eventId, eventType } = delivery;
    const { priority } = this.operation;
    const made = newRedelivery(access, {
      webhook: live.webhook,
      eventType,
      priority,
      origin,
      now: clock.now(),
    });
    const result = await access.requeue({ eventId, deliveries: [made], supersedes: delivery.id });
    if (result.kind === "accepted") return "queued";
    // Somebody retried it by hand a moment ago.
    return result.kind === "in_flight" ? "taken" : "failed";
  }

  /** Keeps to the rate over time: a slow step is not caught up by a burst. */
  async #waitForTurn(costMs: number): Promise<void> {
    const now = this.#options.clock.monotonicMs();
    const waitMs = this.#nextStepAt - now;
    this.#nextStepAt = Math.max(now, this.#nextStepAt) + costMs;
    if (waitMs > 0) await this.#pause(waitMs);
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#isInterrupted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.schedule(delayMs, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = null;
  }

  async #save(status: BatchOperation["status"]): Promise<void> {
    if (await this.#wasCancelled()) return;
    this.operation = { ...this.operation, status, updatedAt: this.#options.clock.now() };
    await this.#options.store.operations.save(this.operation);
    this.#savedAt = this.#options.clock.monotonicMs();
  }

  /** By a person who asked another process. */
  async #wasCancelled(): Promise<boolean> {
    const { shared, store } = this.#options;
    if (shared === null) return false;
    const stored = await store.operations.get({ tenantId: null, id: this.operation.id });
    if (stored?.status !== "cancelled") return false;
    this.operation = stored;
    this.#isInterrupted = true;
    return true;
  }
}

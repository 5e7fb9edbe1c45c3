import { Backoff } from "../../domain/retry-schedule.ts";
import { messageOf } from "../../domain/thrown.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { EndResult } from "../../ports/store/deliveries.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import {
  type BatchOperation,
  type Exclusion,
  isAtRest,
  type OperationStatus,
} from "../../ports/store/operations.ts";
import { newReplay, retryOf } from "../deliveries/redelivery.ts";
import type { ListedDelivery } from "../services.ts";
import { closeCircuit } from "../webhooks/webhook-circuit.ts";
import type { BatchOperationsOptions } from "./batch-operations.ts";
import { actionOf, countSent, type WalkItem } from "./selection-walk.ts";

/** The outcome of one delivery. */
type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "skipped"; readonly why: Exclusion }
  | { readonly kind: "failed"; readonly deliveryId: string; readonly message: string };

const done: Outcome = { kind: "done" };

/**
 * Deliveries are processed in small groups at this interval, because one timer per delivery would cost more than the
 * work. A commit limits the group size.
 */
const stepMsMin = 50;
const groupMax = 50;
/** Interval for storing progress, which is only displayed and may lag. */
const saveIntervalMs = 1_000;
const retryBounds = { delayMsMin: 500, delayMsMax: 30_000 };
/** A scan that found nothing pauses for this multiple of its duration, because its result is not urgent. */
const restShare = 4;
const lastErrorsMax = 10;
/** Upper bound for a wait: the wall clock may be changed, and timers have a maximum. */
const startLookMs = 3_600_000;

/** A running operation. */
export class OperationRun {
  readonly #options: BatchOperationsOptions;
  readonly #runner: string;
  operation: BatchOperation;
  readonly ended: Promise<void>;
  #isInterrupted = false;
  /** Whether another process now controls the operation. */
  #isOver = false;
  /** Whether the stored operation was changed. */
  #isChanged = false;
  #wake: (() => void) | null = null;
  #savedAt: number;
  #queuedAtSave: number;
  readonly #closed = new Map<string, Promise<void>>();
  #nextStepAt: number;

  constructor(operation: BatchOperation, options: BatchOperationsOptions) {
    this.#options = options;
    this.#runner = options.access.nextId();
    this.operation = operation;
    this.#savedAt = options.clock.monotonicMs();
    this.#queuedAtSave = operation.queued;
    this.#nextStepAt = this.#savedAt;
    this.ended = this.#work();
  }

  /** Interrupts this run; the operation will be resumed here or in another process. */
  interrupt(): void {
    this.#isInterrupted = true;
    this.#wake?.();
  }

  /** Re-reads the stored operation. */
  changed(): void {
    this.#isChanged = true;
    this.#wake?.();
  }

  get #isStopped(): boolean {
    return this.#isInterrupted || this.#isOver;
  }

  /** Never rejects: while the store is unavailable it waits with increasing delays. */
  async #work(): Promise<void> {
    const backoff = new Backoff(retryBounds);
    while (!this.#isStopped) {
      try {
        await this.#untilStart();
        if (this.#isStopped) break;
        await this.#save("running", "takes");
        await this.#workOff();
        if (!this.#isStopped) await this.#countWhatWasSent();
        if (!this.#isStopped) await this.#save("completed");
        break;
      } catch (error) {
        const { id } = this.operation;
        const delayMs = backoff.nextMs();
        this.#note(null, messageOf(error));
        this.#options.log.warn(
          { operationId: id, err: String(error), delayMs },
          "batch operation stalled; will retry",
        );
        await this.#pause(delayMs);
      }
    }
    if (this.#isInterrupted && !this.#isOver) await this.#release();
  }

  /** Waits until the start time. Until then, no process owns the operation; afterwards, any process may claim it. */
  async #untilStart(): Promise<void> {
    while (!this.#isStopped) {
      const leftMs = (this.operation.startsAt ?? 0) - this.#options.clock.now();
      if (leftMs <= 0) return;
      await this.#pause(Math.min(leftMs, startLookMs));
      if (this.#isChanged) await this.#reread();
    }
  }

  async #reread(): Promise<void> {
    this.#isChanged = false;
    const { id } = this.operation;
    const stored = await this.#options.store.operations.get(null, id);
    this.#isOver = stored === null || isAtRest(stored);
    this.operation = stored ?? this.operation;
  }

  /** Stores the progress, so that the next process continues from here. */
  async #release(): Promise<void> {
    try {
      await this.#save("pending", "releases");
    } catch (error) {
      this.#options.log.warn({ err: String(error) }, "failed to store the progress of a batch operation");
    }
  }

  /**
   * Counts the deliveries that were sent. A killed process may have sent more deliveries than its stored progress says,
   * and the selection may no longer contain these deliveries.
   */
  async #countWhatWasSent(): Promise<void> {
    if (actionOf(this.operation.kind) !== "retry") return;
    const { delivered, failed, waiting } = await countSent(this.#options.history, this.operation.id);
    const queued = Math.max(this.operation.queued, delivered + failed + waiting);
    this.operation = { ...this.operation, queued };
  }

  async #workOff(): Promise<void> {
    const isCancelled = () => this.#isStopped;
    for await (const portion of this.#options.walk.portions(this.operation, isCancelled)) {
      if (portion.items.length === 0) await this.#pause(restShare * portion.tookMs);
      for (const group of groupsOf(portion.items, this.#groupSize())) {
        if (this.#isStopped) return;
        await this.#actOn(group);
        if (this.#isChanged || this.#isSaveDue()) await this.#save("running");
      }
      if (this.#isStopped) return;
      this.operation = { ...this.operation, cursor: portion.cursor };
      if (this.#isChanged || this.#isSaveDue()) await this.#save("running");
    }
  }

  #groupSize(): number {
    return Math.min(
      groupMax,
      Math.max(1, Math.floor((this.operation.requestsPerSecond * stepMsMin) / 1_000)),
    );
  }

  #isSaveDue(): boolean {
    return this.#options.clock.monotonicMs() - this.#savedAt >= saveIntervalMs;
  }

  async #actOn(group: readonly WalkItem[]): Promise<void> {
    const chosen = group.flatMap(({ row, exclusion }) => (row === null || exclusion !== null ? [] : [row]));
    if (chosen.length > 0) {
      await this.#waitForTurn((chosen.length * 1_000) / this.operation.requestsPerSecond);
      if (this.#isStopped) return;
    }
    const left = group.flatMap(({ exclusion }): Outcome[] =>
      exclusion === null ? [] : [{ kind: "skipped", why: exclusion }],
    );
    const acted = chosen.length === 0 ? [] : await this.#act(chosen);
    this.#count([...left, ...acted]);
    const { cursor } = group.at(-1) ?? { cursor: null };
    if (cursor !== null) this.operation = { ...this.operation, cursor };
  }

  #act(rows: readonly ListedDelivery[]): Promise<readonly Outcome[]> {
    const action = actionOf(this.operation.kind);
    if (action === "retry") return Promise.all(rows.map((row) => this.#redeliver(row)));
    return this.#end(rows, action === "cancel" ? "cancel_requested" : "discarded");
  }

  async #redeliver({ delivery }: ListedDelivery): Promise<Outcome> {
    const { access, clock } = this.#options;
    const live = access.webhook(delivery.webhookId);
    if (live === undefined) return { kind: "skipped", why: "webhook_deleted" };
    const { id: operationId, priority } = this.operation;
    const { webhook } = live;
    if (this.operation.closesCircuits) await this.#closeOnce(webhook.id);
    if (delivery.progress.state === "success") return this.#replay(delivery, webhook);
    const retry = { at: clock.now(), by: null, operationId };
    const result = await access.retry(retryOf(access, delivery, webhook, priority, retry));
    switch (result.kind) {
      case "accepted":
        return done;
      case "not_possible":
        // The delivery has succeeded since it was selected.
        return { kind: "skipped", why: "accepted" };
      default:
        return { kind: "skipped", why: result.kind };
    }
  }

  /**
   * Closes the circuit of a webhook only once, because a circuit that opens again indicates that the receiver still
   * fails.
   */
  #closeOnce(webhookId: string): Promise<void> {
    const known = this.#closed.get(webhookId);
    if (known !== undefined) return known;
    const closing = closeCircuit(webhookId, this.#options.access, this.#options.clock);
    this.#closed.set(webhookId, closing);
    return closing;
  }

  /** Sends a copy of a successful delivery. */
  async #replay(delivery: StoredDelivery, webhook: Webhook): Promise<Outcome> {
    const { access, clock } = this.#options;
    const { eventId, eventType, id: replayOf } = delivery;
    const priority = this.operation.priority ?? delivery.priority;
    const { id: operationId } = this.operation;
    const now = clock.now();
    const made = newReplay(access, {
      webhook,
      eventType,
      priority,
      origin: "retry",
      replayOf,
      operationId,
      now,
    });
    const result = await access.requeue({ eventId, deliveries: [made] });
    if (result.kind === "event_not_found")
      return { kind: "failed", deliveryId: delivery.id, message: "its event was removed" };
    return result.kind === "accepted" ? done : { kind: "skipped", why: result.kind };
  }

  async #end(
    rows: readonly ListedDelivery[],
    event: "cancel_requested" | "discarded",
  ): Promise<readonly Outcome[]> {
    const { access, clock } = this.#options;
    const results = await access.end({
      event,
      tenantId: this.operation.tenantId,
      deliveries: rows.map(({ delivery }) => delivery),
      now: clock.now(),
    });
    return results.map((result) => outcomeOf(result, event));
  }

  #count(outcomes: readonly Outcome[]): void {
    const { skipped } = this.operation;
    const counts: Partial<Record<Exclusion, number>> = { ...skipped };
    let [queued, failed] = [0, 0];
    for (const outcome of outcomes) {
      if (outcome.kind === "done") queued += 1;
      else if (outcome.kind === "skipped") counts[outcome.why] = (counts[outcome.why] ?? 0) + 1;
      else {
        failed += 1;
        this.#note(outcome.deliveryId, outcome.message);
      }
    }
    const { operation } = this;
    this.operation = {
      ...operation,
      queued: operation.queued + queued,
      failed: operation.failed + failed,
      skipped: counts,
    };
  }

  #note(deliveryId: string | null, message: string): void {
    const error = { deliveryId, message, at: this.#options.clock.now() };
    const lastErrors = [error, ...this.operation.lastErrors].slice(0, lastErrorsMax);
    this.operation = { ...this.operation, lastErrors };
  }

  /** Waits until the next step is due. Keeps the average rate, without a burst after a slow step. */
  async #waitForTurn(costMs: number): Promise<void> {
    const now = this.#options.clock.monotonicMs();
    const waitMs = this.#nextStepAt - now;
    this.#nextStepAt = Math.max(now, this.#nextStepAt) + costMs;
    for (let untilMs = now + waitMs; waitMs > 0 && !this.#isStopped; ) {
      const leftMs = untilMs - this.#options.clock.monotonicMs();
      if (leftMs <= 0) return;
      await this.#pause(Math.min(leftMs, saveIntervalMs));
      if (!this.#isChanged && !this.#isSaveDue()) continue;
      const before = this.operation.requestsPerSecond;
      await this.#save("running");
      // A new rate changes the time of the next step.
      if (this.operation.requestsPerSecond !== before) untilMs = this.#options.clock.monotonicMs();
      if (this.operation.requestsPerSecond !== before) this.#nextStepAt = untilMs;
    }
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#isStopped || this.#isChanged) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.schedule(delayMs, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = null;
  }

  /**
   * Stores the progress. If the stored operation was changed, its new rate applies. If it was paused, cancelled or
   * taken over, that status is kept together with our counts, and this run ends.
   */
  async #save(status: OperationStatus, how: "takes" | "keeps" | "releases" = "keeps"): Promise<void> {
    const takes = how === "takes";
    // An earlier save may already have detected the change. The later change notification must not write "running"
    // again.
    if (this.#isOver) return;
    const { operations } = this.#options.store;
    this.#isChanged = false;
    let next = this.#withProgress(status, how === "releases" ? null : this.#runner);
    while (!(await operations.update(next))) {
      const stored = await operations.get(null, next.id);
      if (stored === null || (stored.runner !== null && stored.runner !== this.#runner)) {
        this.#isOver = true;
        this.operation = stored ?? this.operation;
        return;
      }
      if (takes) this.operation = stored;
      const { revision, requestsPerSecond } = stored;
      next = { ...(takes ? this.#withProgress(status, this.#runner) : next), revision, requestsPerSecond };
      if (!isAtRest(stored) && (takes || stored.runner === this.#runner)) continue;
      this.#isOver = true;
      const { status: decided, finishedAt } = stored;
      next = { ...next, status: decided, finishedAt, runner: null, ratePerSecond: null };
    }
    this.operation = { ...next, revision: next.revision + 1 };
    this.#savedAt = this.#options.clock.monotonicMs();
    this.#queuedAtSave = next.queued;
  }

  #withProgress(status: OperationStatus, runner: string | null): BatchOperation {
    const { clock } = this.#options;
    const { operation } = this;
    const elapsedMs = clock.monotonicMs() - this.#savedAt;
    const handled = operation.queued + operation.failed + sumOf(operation.skipped);
    const isOver = status === "completed";
    const measured =
      elapsedMs < saveIntervalMs / 2
        ? operation.ratePerSecond
        : Math.round(((operation.queued - this.#queuedAtSave) * 10_000) / elapsedMs) / 10;
    return {
      ...operation,
      status,
      runner,
      updatedAt: clock.now(),
      ratePerSecond: status === "running" ? measured : null,
      finishedAt: isOver ? clock.now() : null,
      // Corrects the total if counting stopped at its limit, or if the selection has grown.
      total: isOver ? handled : Math.max(handled, operation.total),
      isTotalExact: isOver || operation.isTotalExact,
    };
  }
}

function outcomeOf(result: EndResult, event: "cancel_requested" | "discarded"): Outcome {
  switch (result) {
    case "ended":
      return done;
    case "not_possible":
      return { kind: "skipped", why: event === "discarded" ? "not_a_dead_letter" : "already_ended" };
    default:
      return { kind: "skipped", why: result };
  }
}

function sumOf(counts: BatchOperation["skipped"]): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Groups neighbouring items; each group has up to `size` items to process. */
function groupsOf(items: readonly WalkItem[], size: number): readonly (readonly WalkItem[])[] {
  const groups: WalkItem[][] = [];
  let acting = size;
  for (const item of items) {
    if (item.exclusion === null && acting === size) {
      groups.push([]);
      acting = 0;
    }
    if (groups.length === 0) groups.push([]);
    groups.at(-1)?.push(item);
    if (item.exclusion === null) acting += 1;
  }
  return groups;
}

import { problemKind, type ProblemMove, resolvesWith } from "../../features/problems/problem.ts";
import type { Clock } from "../../ports/clock.ts";
import type { CommitResult, PublishCommand, Settlement } from "../../ports/store/deliveries.ts";
import type {
  DeliveryProblemStore,
  PassedOnFailure,
  ProblemBatch,
  ProblemFact,
} from "../../ports/store/delivery-problems.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Group, PendingSettlement } from "./write-group.ts";

export interface ProblemWatchOptions {
  readonly store: Pick<DeliveryProblemStore, "troubledWebhooks">;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** Called once for each problem that opened or was resolved, after that is stored. Must not throw. */
export type ProblemListener = (move: ProblemMove) => void;

/**
 * Adds failures and recoveries of troubled webhooks to each commit. It counts accepted attempts only for troubled
 * webhooks, so without failures it costs one comparison.
 *
 * The number of accepted attempts in a row is kept in memory. A process that takes over starts at zero, so a problem
 * is resolved a few attempts later.
 */
export class ProblemWatch {
  readonly #options: ProblemWatchOptions;
  /** Accepted attempts in a row, by webhook with failures. */
  readonly #troubled = new Map<string, number>();
  readonly #listeners = new Set<ProblemListener>();
  #recovering = new Set<string>();
  #resolved = new Set<string>();

  constructor(options: ProblemWatchOptions) {
    this.#options = options;
  }

  /** Loads webhooks that already had problems before this process started. */
  async load(): Promise<void> {
    for (let after: string | null = null; ; ) {
      const found: readonly string[] = await this.#options.store.troubledWebhooks(after, pageMax);
      for (const id of found) if (!this.#troubled.has(id)) this.#troubled.set(id, 0);
      after = found.at(-1) ?? null;
      if (found.length < pageMax) return;
    }
  }

  /** Calls back after a problem opened or was resolved. Returns a function that ends the subscription. */
  watch(listener: ProblemListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Problem changes for the next commit; undefined if there are none. */
  compose(
    settlements: readonly PendingSettlement[],
    publishes: readonly PublishCommand[] = [],
  ): ProblemBatch | undefined {
    const failures = settlements.map(failureOf);
    const passedOn = publishes.some(isAttempted) ? publishes.flatMap(passedOnFailures) : [];
    const hasMarks = this.#recovering.size + this.#resolved.size > 0;
    if (!hasMarks && passedOn.length === 0 && failures.every((fact) => fact === null)) return undefined;
    const batch: ProblemBatch = {
      failures,
      ...(passedOn.length > 0 && { passedOn }),
      recovering: [...this.#recovering],
      resolved: [...this.#resolved],
      at: this.#options.clock.now(),
    };
    this.#recovering = new Set();
    this.#resolved = new Set();
    return batch;
  }

  committed({ settlements, batch }: Pick<Group, "settlements" | "batch">, result: CommitResult): void {
    const { settled, problemMoves } = result;
    for (const [index, pending] of settlements.entries()) {
      const outcome = pending.settlement.attempt?.outcome;
      if (outcome === undefined || settled[index]?.kind !== "written") continue;
      const { webhookId } = pending.delivery;
      if (outcome !== "accepted") this.#failed(webhookId);
      else if (this.#troubled.size > 0) this.#accepted(webhookId);
    }
    this.#passedOn(batch.publishes, result);
    this.tell(problemMoves ?? []);
  }

  /** Attempts that were made before their events were stored. */
  #passedOn(commands: readonly PublishCommand[], { publishes }: CommitResult): void {
    for (const [index, { attempted, deliveries }] of commands.entries())
      if (attempted !== undefined && publishes[index]?.kind === "accepted")
        for (const [place, { attempt }] of attempted.entries()) {
          const webhookId = deliveries[place]?.lane.webhookId ?? "";
          if (attempt?.outcome === "accepted") this.#accepted(webhookId);
          else if (attempt !== null) this.#failed(webhookId);
        }
  }

  /** The batch was not written, or its outcome is unknown: report its recoveries again. */
  failed(batch: ProblemBatch | undefined): void {
    for (const id of batch?.recovering ?? []) this.#recovering.add(id);
    for (const id of batch?.resolved ?? []) this.#resolved.add(id);
  }

  /** Notifies listeners. Upkeep resolves some problems too. */
  tell(moves: readonly ProblemMove[]): void {
    for (const move of moves) {
      const { id, webhookId, tenantId, kind } = move.problem;
      const what = {
        problemId: id,
        webhookId,
        tenantId,
        category: kind.category,
        statusCode: kind.statusCode,
      };
      this.#options.telemetry.log.info(
        what,
        `a problem ${move.kind === "opened" ? "opened" : "was resolved"}`,
      );
      for (const listener of this.#listeners) listener(move);
    }
  }

  #failed(webhookId: string): void {
    this.#troubled.set(webhookId, 0);
    this.#recovering.delete(webhookId);
    this.#resolved.delete(webhookId);
  }

  #accepted(webhookId: string): void {
    const before = this.#troubled.get(webhookId);
    if (before === undefined) return;
    const inARow = before + 1;
    this.#troubled.set(webhookId, inARow);
    if (inARow === 1) this.#recovering.add(webhookId);
    if (inARow < resolvesWith) return;
    this.#troubled.delete(webhookId);
    this.#resolved.add(webhookId);
  }
}

function failureOf({
  settlement,
  delivery,
}: {
  readonly settlement: Settlement;
  readonly delivery: Pick<PendingSettlement["delivery"], "webhookId" | "tenantId">;
}): ProblemFact | null {
  const { attempt, progress, lease, settledAt } = settlement;
  if (attempt === null || attempt.outcome === "accepted") return null;
  const kind = problemKind(attempt);
  if (kind === null) return null;
  const { webhookId, tenantId } = delivery;
  return {
    webhookId,
    tenantId,
    kind,
    lease,
    attemptNumber: attempt.number,
    at: settledAt,
    deliveryId: lease.deliveryId,
    outcome: attempt.outcome,
    isDeadLetter: progress.state === "exhausted",
  };
}

function isAttempted({ attempted }: PublishCommand): boolean {
  return attempted !== undefined;
}

function passedOnFailures(
  { event, deliveries, attempted = [] }: PublishCommand,
  publish: number,
): readonly PassedOnFailure[] {
  return attempted.flatMap((one, place) => {
    const delivery = deliveries[place];
    if (delivery === undefined) return [];
    // The store fills in the lease once the delivery is written.
    const lease = { ref: 0, leaseToken: 0, deliveryId: delivery.id };
    const failure = failureOf({
      settlement: { ...one, lease },
      delivery: { webhookId: delivery.lane.webhookId, tenantId: event.tenantId },
    });
    if (failure === null) return [];
    const { lease: _, ...fact } = failure;
    return [{ publish, delivery: place, fact }];
  });
}

/** Page size when loading webhooks with problems. */
const pageMax = 1_000;

import { problemKind, type ProblemMove, resolvesWith } from "../../features/problems/problem.ts";
import type { CommitResult, PublishCommand, Settlement } from "../../ports/store/deliveries.ts";
import type {
  DeliveryProblemStore,
  PassedOnFailure,
  ProblemBatch,
  ProblemFact,
} from "../../ports/store/delivery-problems.ts";
import type { EngineContext } from "../engine-options.ts";
import type { Group, PendingSettlement } from "./write-group.ts";

/**
 * Adds failures and recoveries of troubled webhooks to each commit. Accepted attempts are counted only for
 * troubled webhooks, so without failures the cost is one comparison.
 *
 * The number of accepted attempts in a row is kept in memory. A process that takes over starts at zero, so a problem
 * is resolved a few attempts later.
 */
export class ProblemWatch {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #store: Pick<DeliveryProblemStore, "troubledWebhooks">;
  /** Number of consecutive accepted attempts, by webhook with failures. */
  readonly #troubled = new Map<string, number>();
  readonly #moved: (move: ProblemMove) => void;
  #recovering = new Set<string>();
  #resolved = new Set<string>();

  /**
   * `moved` is called once for each problem that this process opened or resolved, after that is stored. It must not
   * throw.
   */
  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    store: Pick<DeliveryProblemStore, "troubledWebhooks">,
    moved: (move: ProblemMove) => void,
  ) {
    this.#context = context;
    this.#store = store;
    this.#moved = moved;
  }

  /** Loads webhooks that already had problems before this process started. */
  async load(): Promise<void> {
    for (let after: string | null = null; ; ) {
      const found: readonly string[] = await this.#store.troubledWebhooks(after, pageMax);
      for (const id of found) if (!this.#troubled.has(id)) this.#troubled.set(id, 0);
      after = found.at(-1) ?? null;
      if (found.length < pageMax) return;
    }
  }

  /** Changes of problems for the next commit; undefined if there are none. */
  compose(
    settlements: readonly PendingSettlement[],
    publishes: readonly PublishCommand[] = [],
  ): ProblemBatch | undefined {
    const failures = settlements.map(({ settlement, delivery }) => failureOf(settlement, delivery));
    const passedOn = publishes.some(isAttempted) ? publishes.flatMap(passedOnFailures) : [];
    const hasMarks = this.#recovering.size + this.#resolved.size > 0;
    if (!hasMarks && passedOn.length === 0 && failures.every((fact) => fact === null)) return undefined;
    const batch: ProblemBatch = {
      failures,
      ...(passedOn.length > 0 && { passedOn }),
      recovering: [...this.#recovering],
      resolved: [...this.#resolved],
      at: this.#context.clock.now(),
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

  /** Counts attempts that were made before their events were stored. */
  #passedOn(commands: readonly PublishCommand[], { publishes }: CommitResult): void {
    for (const [index, { attempted, deliveries }] of commands.entries())
      if (attempted !== undefined && publishes[index]?.kind === "accepted")
        for (const [place, { attempt }] of attempted.entries()) {
          const webhookId = deliveries[place]?.lane.webhookId ?? "";
          if (attempt?.outcome === "accepted") this.#accepted(webhookId);
          else if (attempt !== null) this.#failed(webhookId);
        }
  }

  /** Called if the batch was not written, or its outcome is unknown. Its recoveries are reported again. */
  failed(batch: ProblemBatch | undefined): void {
    for (const id of batch?.recovering ?? []) this.#recovering.add(id);
    for (const id of batch?.resolved ?? []) this.#resolved.add(id);
  }

  /** Logs and announces opened and resolved problems. Also called by upkeep, which resolves some problems. */
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
      this.#context.telemetry.log.info(
        what,
        `a problem ${move.kind === "opened" ? "opened" : "was resolved"}`,
      );
      this.#moved(move);
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

function failureOf(
  settlement: Settlement,
  delivery: Pick<PendingSettlement["delivery"], "webhookId" | "tenantId">,
): ProblemFact | null {
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
    const failure = failureOf(
      { ...one, lease },
      { webhookId: delivery.lane.webhookId, tenantId: event.tenantId },
    );
    if (failure === null) return [];
    const { lease: _, ...fact } = failure;
    return [{ publish, delivery: place, fact }];
  });
}

/** Page size when loading webhooks with problems. */
const pageMax = 1_000;

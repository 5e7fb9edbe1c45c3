import type { StatementSync } from "node:sqlite";
import { type AttemptRecord, givenUpStates } from "../../../domain/delivery.ts";
import type { Settlement, SettlementResult, WebhookRuntimeState } from "../../../ports/store/deliveries.ts";
import { attemptNotesText } from "../../attempt-notes.ts";
import {
  categoryCodes,
  decodeState,
  exhausted,
  outcomeCodes,
  queuePositionIn,
  retriedFrom,
  stateCodes,
  waitingMax,
} from "../../column-values.ts";
import type { StoreState } from "../state.ts";
import type { LeaseRecord } from "./leases.ts";

type EndedRow = [
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  tenant: number,
  completedAt: number,
  retriedAt: number | null,
  retriedAttempts: number | null,
];

const written: SettlementResult = { kind: "written" };
const lost: SettlementResult = { kind: "lost" };

/** Writes the outcome of deliveries and the state of their webhooks. Only inside a write. */
export class SettleWriter {
  readonly #state: StoreState;
  readonly #update: StatementSync;
  readonly #insertAttempt: StatementSync;
  readonly #tenant: StatementSync;
  readonly #ended: StatementSync;
  readonly #saveWebhookState: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    // A later success keeps the category of the last failure.
    this.#update = connection.prepare(
      `UPDATE deliveries SET queue_position = ?, state = ?, attempt_count = ?, due_at = ?, first_attempt_at = ?,
       completed_at = ?, reason = ?, category = coalesce(?, category) WHERE seq = ?`,
    );
    this.#insertAttempt = connection.prepare(
      "INSERT INTO attempts VALUES ((? << 16) | ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#tenant = connection.prepare("SELECT tenant FROM deliveries WHERE seq = ?");
    this.#ended = connection.prepare(
      `SELECT state, attempt_count, created_at, first_attempt_at, due_at, reason, tenant, completed_at,
         retried_at, retried_attempts FROM deliveries WHERE seq = ?`,
    );
    this.#saveWebhookState = connection.prepare(
      "INSERT OR REPLACE INTO webhook_states VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  /** Writes nothing if the lease was lost, or if the delivery ended while it was leased. */
  write(settlement: Settlement): SettlementResult {
    const { lease, progress } = settlement;
    const seq = lease.ref;
    const held = this.#state.leases.take(seq, lease.leaseToken);
    if (held === undefined) return this.#writeLate(settlement);
    const state = stateCodes.encode[progress.state];
    const waits = state <= waitingMax;
    this.#move(
      settlement,
      waits ? this.#requeue(seq, held, progress.dueAt) : null,
      waits ? null : settlement.settledAt,
    );
    if (!waits) this.#leaveLane(seq, held);
    if (state === exhausted) this.#countDeadLetter(seq);
    return written;
  }

  /**
   * Writes the response to a request whose delivery has ended in the meantime. The ending is kept, unless the response
   * is a success.
   */
  #writeLate(settlement: Settlement): SettlementResult {
    const { leases, counters } = this.#state;
    const { lease } = settlement;
    const seq = lease.ref;
    if (!leases.wasEnded(seq, lease.leaseToken)) return lost;
    const row = this.#ended.get(seq) as unknown as EndedRow | undefined;
    if (row === undefined) return lost;
    const state = decodeState(givenUpStates, row[0]);
    if (settlement.late !== true) {
      const [, attemptCount, createdAt, firstAttemptAt, dueAt, reason] = row;
      const retried = retriedFrom(row[8], row[9]);
      const progress = { state, attemptCount, createdAt, firstAttemptAt, dueAt, reason, retried };
      return { kind: "ended", progress };
    }
    const [, , , , , , tenant, completedAt] = row;
    const isSuccess = settlement.progress.state === "success";
    // The dead letter may have been discarded since the request was sent.
    const kept = isSuccess ? settlement.progress : { ...settlement.progress, state, reason: row[5] };
    this.#move({ ...settlement, progress: kept }, null, isSuccess ? settlement.settledAt : completedAt);
    if (isSuccess && state === "exhausted") counters.addDeadLetter(tenant, -1);
    leases.reported(seq);
    return written;
  }

  #move(
    { lease, progress, attempt }: Settlement,
    queuePosition: number | null,
    completedAt: number | null,
  ): void {
    this.#update.run(
      queuePosition,
      stateCodes.encode[progress.state],
      progress.attemptCount,
      progress.dueAt,
      progress.firstAttemptAt,
      completedAt,
      progress.reason,
      attempt === null || attempt.category === null ? null : categoryCodes.encode[attempt.category],
      lease.ref,
    );
    if (attempt !== null) this.#writeAttempt(lease.ref, attempt);
  }

  /** Gives a delivery that continues to wait its new position, and returns the position. */
  #requeue(seq: number, held: LeaseRecord, dueAt: number): number {
    const { lanes, queue } = this.#state;
    // In an ordered lane, the delivery keeps its position. A delivery without a position was never retried, so its
    // publish position applies.
    const order = held.queuePosition ?? seq;
    const queuePosition = queuePositionIn(lanes.get(held.lane), { order, priority: held.priority, dueAt });
    if (queuePosition === held.queuePosition) return queuePosition;
    if (held.queuePosition !== null)
      queue.remove({ lane: held.lane, queuePosition: held.queuePosition, seq });
    queue.insert({ lane: held.lane, queuePosition, seq });
    return queuePosition;
  }

  #leaveLane(seq: number, held: LeaseRecord): void {
    this.#state.counters.addWaiting(held.priority, -1);
    if (held.queuePosition !== null)
      this.#state.queue.spend({ lane: held.lane, queuePosition: held.queuePosition, seq });
  }

  writeWebhookState(webhook: WebhookRuntimeState): void {
    this.#saveWebhookState.run(
      webhook.webhookId,
      webhook.pausedUntil,
      webhook.pauseReason,
      webhook.lastSuccessAt,
      webhook.circuit,
      webhook.health,
    );
  }

  #writeAttempt(seq: number, attempt: AttemptRecord): void {
    this.#insertAttempt.run(
      seq,
      attempt.number,
      attempt.id,
      outcomeCodes.encode[attempt.outcome],
      attempt.receiverStateUnknown ? 1 : 0,
      attempt.category === null ? null : categoryCodes.encode[attempt.category],
      attempt.statusCode,
      attempt.responseSample,
      attempt.errorMessage,
      attempt.durationMs,
      attempt.scheduledAt,
      attempt.executedAt,
      attempt.nextRetryAt,
      attemptNotesText(attempt.notes),
    );
  }

  #countDeadLetter(seq: number): void {
    const [tenant] = this.#tenant.get(seq) as unknown as [tenant: number];
    this.#state.counters.addDeadLetter(tenant, 1);
  }
}

import type { StatementSync } from "node:sqlite";
import type { AttemptRecord } from "../../../core/delivery.ts";
import type { Settlement, WebhookRuntimeState } from "../../../ports/store/deliveries.ts";
import { attemptNotesText } from "../attempt-notes.ts";
import { categoryCodes, exhausted, outcomeCodes, stateCodes, waitingMax } from "../codes.ts";
import type { LeaseRecord } from "./lease-table.ts";
import { queuePositionIn } from "../queue-position.ts";
import type { StoreState } from "./state.ts";

/** Writes what became of deliveries and of their webhooks. Only inside a write. */
export class SettleWriter {
  readonly #state: StoreState;
  readonly #update: StatementSync;
  readonly #insertAttempt: StatementSync;
  readonly #tenant: StatementSync;
  readonly #saveWebhookState: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    // A later success keeps the category of the last failure.
    this.#update = connection.prepare(
      `UPDATE deliveries SET rank = ?, state = ?, attempt_count = ?, due_at = ?, first_attempt_at = ?,
       completed_at = ?, reason = ?, category = coalesce(?, category) WHERE seq = ?`,
    );
    this.#insertAttempt = connection.prepare(
      "INSERT INTO attempts VALUES ((? << 16) | ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#tenant = connection.prepare("SELECT tenant FROM deliveries WHERE seq = ?");
    this.#saveWebhookState = connection.prepare(
      "INSERT OR REPLACE INTO webhook_states VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  /** False when the lease was lost: then nothing is written. */
  write(settlement: Settlement): boolean {
    const { lease, progress, attempt } = settlement;
    const seq = lease.ref;
    const held = this.#state.leases.take(seq, lease.leaseToken);
    if (held === undefined) return false;
    const state = stateCodes.encode[progress.state];
    const waits = state <= waitingMax;
    this.#update.run(
      waits ? this.#requeue(seq, { held, dueAt: progress.dueAt }) : null,
      state,
      progress.attemptCount,
      progress.dueAt,
      progress.firstAttemptAt,
      waits ? null : settlement.settledAt,
      progress.reason,
      attempt === null || attempt.category === null ? null : categoryCodes.encode[attempt.category],
      seq,
    );
    if (!waits) this.#leaveLane(seq, held);
    if (state === exhausted) this.#countDeadLetter(seq);
    if (attempt !== null) this.#writeAttempt(seq, attempt);
    return true;
  }

  /** Gives a delivery that waits on its new place, and returns it. */
  #requeue(seq: number, { held, dueAt }: { readonly held: LeaseRecord; readonly dueAt: number }): number {
    const { lanes, queue } = this.#state;
    const queuePosition = queuePositionIn(lanes.get(held.lane), { seq, priority: held.priority, dueAt });
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

import type { StatementSync } from "node:sqlite";
import type { EventSummary, StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import {
  type DeliveryRow,
  type EventRow,
  type StoredNames,
  toEventSummary,
  toStoredDelivery,
  toStoredEvent,
} from "../../history-rows.ts";
import type { StoreState } from "../state.ts";

/** Of `attempts a`. */
export const attemptColumns = `a.key & 65535, a.id, a.outcome, a.state_unknown, a.category, a.status_code,
  a.response_sample,
  a.error_message, a.duration_ms, a.scheduled_at, a.executed_at, a.next_retry_at, a.notes`;
const selectEvent = (body: string): string =>
  `SELECT seq, id, tenant, event_type, sequence_number, occurred_at, source, idempotency_key, priority,
  created_at, content_type, delivery_count + requeue_count, ${body}, raw, trace, relayed FROM events`;
const selectDelivery = `SELECT d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin,
  d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at,
  d.format, d.retried_at, d.retried_attempts, d.retries, d.replay_of, d.replayed_by,
  ${attemptColumns} FROM deliveries d JOIN events e ON e.seq = d.event
  LEFT JOIN attempts a ON a.key = (d.seq << 16) | d.attempt_count`;

/** Converts stored rows into the port's types. */
export class HistoryRows {
  readonly #names: StoredNames;
  readonly #summary: StatementSync;
  readonly #eventById: StatementSync;
  readonly #delivery: StatementSync;
  readonly #deliveryById: StatementSync;

  constructor(state: StoreState) {
    const { connection, strings, lanes } = state;
    this.#names = { text: (ref) => strings.text(ref), lane: (ref) => lanes.key(ref) };
    this.#summary = connection.prepare(`${selectEvent("NULL")} WHERE seq = ?`);
    this.#eventById = connection.prepare(`${selectEvent("body")} WHERE id = ?`);
    this.#delivery = connection.prepare(`${selectDelivery} WHERE d.seq = ?`);
    this.#deliveryById = connection.prepare(`${selectDelivery} WHERE d.id = ?`);
  }

  eventSummary(seq: number): EventSummary | undefined {
    const row = this.#summary.get(seq) as unknown as EventRow | undefined;
    return row === undefined ? undefined : toEventSummary(row, this.#names);
  }

  eventById(id: string): StoredEvent | null {
    const row = this.#eventById.get(id) as unknown as EventRow | undefined;
    return row === undefined ? null : toStoredEvent(row, this.#names);
  }

  delivery(seq: number): StoredDelivery | undefined {
    const row = this.#delivery.get(seq) as unknown as DeliveryRow | undefined;
    return row === undefined ? undefined : toStoredDelivery(row, this.#names);
  }

  deliveryById(id: string): StoredDelivery | null {
    const row = this.#deliveryById.get(id) as unknown as DeliveryRow | undefined;
    return row === undefined ? null : toStoredDelivery(row, this.#names);
  }
}

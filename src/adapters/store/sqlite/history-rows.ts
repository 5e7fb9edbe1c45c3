import type { StatementSync } from "node:sqlite";
import type { StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import { stateCodes } from "../codes.ts";
import { toStoredDelivery, toStoredEvent } from "../history-rows.ts";
import type { DeliveryRow, EventRow, StoredNames } from "../history-rows.ts";
import type { StoreState } from "./state.ts";

const selectEvent = `SELECT seq, id, tenant, event_type, sequence_number, timestamp, source, idempotency_key, priority,
  created_at, content_type, delivery_count + requeue_count, body, raw FROM events`;
const selectDelivery = `SELECT d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin,
  d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at,
  d.superseded_by, CASE WHEN d.state = ${stateCodes.encode.failed}
    THEN (SELECT a.notes FROM attempts a WHERE a.key = (d.seq << 16) | d.attempt_count) END FROM deliveries d JOIN events e ON e.seq = d.event`;

/** Stored rows as the port shows them. */
export class HistoryRows {
  readonly #names: StoredNames;
  readonly #event: StatementSync;
  readonly #eventById: StatementSync;
  readonly #delivery: StatementSync;
  readonly #deliveryById: StatementSync;

  constructor(state: StoreState) {
    const { connection, strings, lanes } = state;
    this.#names = { text: (ref) => strings.text(ref), lane: (ref) => lanes.key(ref) };
    this.#event = connection.prepare(`${selectEvent} WHERE seq = ?`);
    this.#eventById = connection.prepare(`${selectEvent} WHERE id = ?`);
    this.#delivery = connection.prepare(`${selectDelivery} WHERE d.seq = ?`);
    this.#deliveryById = connection.prepare(`${selectDelivery} WHERE d.id = ?`);
  }

  event(seq: number): StoredEvent | undefined {
    const row = this.#event.get(seq) as unknown as EventRow | undefined;
    return row === undefined ? undefined : toStoredEvent(row, this.#names);
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

import type { StatementSync } from "node:sqlite";
import type { StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import { categoryCodes, decode, decodeOrNull, originCodes, priorityCodes, stateCodes } from "../codes.ts";
import type { StoreState } from "./state.ts";

type EventRow = [
  seq: number,
  id: string,
  tenant: number,
  eventType: number,
  sequenceNumber: number,
  timestamp: number,
  source: string | null,
  idempotencyKey: string | null,
  priority: number,
  createdAt: number,
  contentType: number,
  deliveries: number,
  body: Uint8Array | null,
  raw: number,
];
type DeliveryRow = [
  seq: number,
  id: string,
  tenant: number,
  webhook: number,
  eventId: string,
  eventType: number,
  priority: number,
  lane: number,
  origin: number,
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  category: number | null,
  completedAt: number | null,
  supersededBy: string | null,
];

const selectEvent = `SELECT seq, id, tenant, event_type, sequence_number, timestamp, source, idempotency_key, priority,
  created_at, content_type, delivery_count + requeue_count, body, raw FROM events`;
const selectDelivery = `SELECT d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin,
  d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at,
  d.superseded_by FROM deliveries d JOIN events e ON e.seq = d.event`;

/** Stored rows as the port shows them. */
export class HistoryRows {
  readonly #state: StoreState;
  readonly #event: StatementSync;
  readonly #eventById: StatementSync;
  readonly #delivery: StatementSync;
  readonly #deliveryById: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#event = connection.prepare(`${selectEvent} WHERE seq = ?`);
    this.#eventById = connection.prepare(`${selectEvent} WHERE id = ?`);
    this.#delivery = connection.prepare(`${selectDelivery} WHERE d.seq = ?`);
    this.#deliveryById = connection.prepare(`${selectDelivery} WHERE d.id = ?`);
  }

  event(seq: number): StoredEvent | undefined {
    const row = this.#event.get(seq) as unknown as EventRow | undefined;
    return row === undefined ? undefined : this.#toEvent(row);
  }

  eventById(id: string): StoredEvent | null {
    const row = this.#eventById.get(id) as unknown as EventRow | undefined;
    return row === undefined ? null : this.#toEvent(row);
  }

  delivery(seq: number): StoredDelivery | undefined {
    const row = this.#delivery.get(seq) as unknown as DeliveryRow | undefined;
    return row === undefined ? undefined : this.#toDelivery(row);
  }

  deliveryById(id: string): StoredDelivery | null {
    const row = this.#deliveryById.get(id) as unknown as DeliveryRow | undefined;
    return row === undefined ? null : this.#toDelivery(row);
  }

  #toEvent(row: EventRow): StoredEvent {
    const { words } = this.#state;
    return {
      position: row[0],
      id: row[1],
      tenantId: words.text(row[2]),
      eventType: words.text(row[3]),
      sequenceNumber: row[4],
      timestamp: row[5],
      source: row[6],
      idempotencyKey: row[7],
      priority: decode(priorityCodes, row[8]),
      createdAt: row[9],
      contentType: words.text(row[10]),
      deliveries: row[11],
      body: row[12],
      raw: row[13] === 1,
    };
  }

  #toDelivery(row: DeliveryRow): StoredDelivery {
    const { words, lanes } = this.#state;
    return {
      position: row[0],
      id: row[1],
      tenantId: words.text(row[2]),
      webhookId: words.text(row[3]),
      eventId: row[4],
      eventType: words.text(row[5]),
      priority: decode(priorityCodes, row[6]),
      lane: lanes.key(row[7]),
      origin: decode(originCodes, row[8]),
      progress: {
        state: decode(stateCodes, row[9]),
        attemptCount: row[10],
        createdAt: row[11],
        firstAttemptAt: row[12],
        dueAt: row[13],
        reason: row[14],
      },
      category: decodeOrNull(categoryCodes, row[15]),
      completedAt: row[16],
      supersededBy: row[17],
    };
  }
}

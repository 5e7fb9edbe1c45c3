import type { StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import { categoryCodes, decode, decodeOrNull, originCodes, priorityCodes, stateCodes } from "../codes.ts";
import type { Lanes, Words } from "./words.ts";

export type EventRow = [
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
  raw: boolean,
];
export type DeliveryRow = [
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

export const eventColumns = `e.seq, e.id, e.tenant, e.event_type, e.sequence_number, e.occurred_at, e.source,
  e.idempotency_key, e.priority, e.created_at, e.content_type, e.delivery_count + e.requeue_count, e.body, e.raw`;
export const deliveryColumns = `d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin,
  d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at,
  d.superseded_by`;

/** Stored rows as the port shows them. */
export class HistoryRows {
  readonly #words: Words;
  readonly #lanes: Lanes;

  constructor(context: { readonly words: Words; readonly lanes: Lanes }) {
    this.#words = context.words;
    this.#lanes = context.lanes;
  }

  async events(rows: readonly EventRow[]): Promise<readonly StoredEvent[]> {
    await this.#words.load(rows.flatMap((row) => [row[2], row[3], row[10]]));
    return rows.map((row) => this.#toEvent(row));
  }

  async deliveries(rows: readonly DeliveryRow[]): Promise<readonly StoredDelivery[]> {
    await this.#words.load(rows.flatMap((row) => [row[2], row[3], row[5]]));
    await this.#lanes.load(rows.map((row) => row[7]));
    return rows.map((row) => this.#toDelivery(row));
  }

  #toEvent(row: EventRow): StoredEvent {
    const words = this.#words;
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
      raw: row[13],
    };
  }

  #toDelivery(row: DeliveryRow): StoredDelivery {
    const words = this.#words;
    return {
      position: row[0],
      id: row[1],
      tenantId: words.text(row[2]),
      webhookId: words.text(row[3]),
      eventId: row[4],
      eventType: words.text(row[5]),
      priority: decode(priorityCodes, row[6]),
      lane: this.#lanes.byRef(row[7]).key,
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

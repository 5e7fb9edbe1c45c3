import type { StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import { toStoredDelivery, toStoredEvent } from "../history-rows.ts";
import type { DeliveryRow, EventRow, StoredNames } from "../history-rows.ts";
import type { Lanes, Words } from "./words.ts";

export const eventColumns = `e.seq, e.id, e.tenant, e.event_type, e.sequence_number, e.occurred_at, e.source,
  e.idempotency_key, e.priority, e.created_at, e.content_type, e.delivery_count + e.requeue_count, e.body, e.raw`;
export const deliveryColumns = `d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin,
  d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at,
  d.superseded_by`;

/** Stored rows as the port shows them. */
export class HistoryRows {
  readonly #words: Words;
  readonly #lanes: Lanes;
  readonly #names: StoredNames;

  constructor(context: { readonly words: Words; readonly lanes: Lanes }) {
    this.#words = context.words;
    this.#lanes = context.lanes;
    this.#names = {
      text: (ref) => this.#words.text(ref),
      lane: (ref) => this.#lanes.byRef(ref).key,
    };
  }

  async events(rows: readonly EventRow[]): Promise<readonly StoredEvent[]> {
    await this.#words.load(rows.flatMap((row) => [row[2], row[3], row[10]]));
    return rows.map((row) => toStoredEvent(row, this.#names));
  }

  async deliveries(rows: readonly DeliveryRow[]): Promise<readonly StoredDelivery[]> {
    await this.#words.load(rows.flatMap((row) => [row[2], row[3], row[5]]));
    await this.#lanes.load(rows.map((row) => row[7]));
    return rows.map((row) => toStoredDelivery(row, this.#names));
  }
}

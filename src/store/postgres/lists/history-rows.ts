import type { EventSummary, StoredDelivery, StoredEvent } from "../../../ports/store/history.ts";
import {
  attemptColumnsWith,
  deliveryColumnsWith,
  type DeliveryRow,
  type EventRow,
  type StoredNames,
  toEventSummary,
  toStoredDelivery,
  toStoredEvent,
} from "../../history-rows.ts";
import type { Lanes, StringTable } from "../driver/string-table.ts";

export const attemptColumns = attemptColumnsWith("a.number");
const eventColumnsWith = (body: string): string =>
  `e.seq, e.id, e.tenant, e.event_type, e.sequence_number, e.occurred_at, e.source, e.idempotency_key, e.priority,
  e.created_at, e.content_type, e.delivery_count + e.requeue_count, ${body}, e.raw, e.trace, e.relayed`;
export const eventColumns = eventColumnsWith("e.body");
export const eventSummaryColumns = eventColumnsWith("NULL::bytea");
export const deliveryColumns = deliveryColumnsWith("a.number");
/** The joins that `deliveryColumns` requires in addition to the deliveries. */
export const ofDelivery = `JOIN posthorn.events e ON e.seq = d.event
  LEFT JOIN posthorn.attempts a ON a.delivery = d.seq AND a.number = d.attempt_last`;

/** Converts stored rows into the port's types. */
export class HistoryRows {
  readonly #strings: StringTable;
  readonly #lanes: Lanes;
  readonly #names: StoredNames;

  constructor(strings: StringTable, lanes: Lanes) {
    this.#strings = strings;
    this.#lanes = lanes;
    this.#names = {
      text: (ref) => this.#strings.text(ref),
      lane: (ref) => this.#lanes.byRef(ref).key,
    };
  }

  async eventSummaries(rows: readonly EventRow[]): Promise<readonly EventSummary[]> {
    await this.#strings.load(rows.flatMap((row) => [row[2], row[3], row[10]]));
    return rows.map((row) => toEventSummary(row, this.#names));
  }

  async events(rows: readonly EventRow[]): Promise<readonly StoredEvent[]> {
    await this.#strings.load(rows.flatMap((row) => [row[2], row[3], row[10]]));
    return rows.map((row) => toStoredEvent(row, this.#names));
  }

  async deliveries(rows: readonly DeliveryRow[]): Promise<readonly StoredDelivery[]> {
    await this.#strings.load(rows.flatMap((row) => [row[2], row[3], row[5]]));
    await this.#lanes.load(rows.map((row) => row[7]));
    return rows.map((row) => toStoredDelivery(row, this.#names));
  }
}

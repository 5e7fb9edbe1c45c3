import type { StatementSync } from "node:sqlite";
import type { FanOutPart, PublishCommand } from "../../../ports/store/deliveries.ts";
import { partsOf, unpackPart } from "../fan-out-parts.ts";
import { chunkKinds } from "./chunks.ts";
import type { DeliveryWriter } from "./publish.ts";
import type { StoreState } from "./state.ts";

type PartRow = [event: number, part: number, first: number, document: string, tenant: number];

/** Deliveries of large events that are written in separate transactions. Only inside a write. */
export class FanOut {
  readonly #state: StoreState;
  readonly #deliveries: DeliveryWriter;
  readonly #keep: StatementSync;
  readonly #next: StatementSync;
  readonly #forget: StatementSync;
  readonly #cancelAgain: StatementSync;

  constructor(state: StoreState, deliveries: DeliveryWriter) {
    const { connection } = state;
    this.#state = state;
    this.#deliveries = deliveries;
    this.#keep = connection.prepare("INSERT INTO fan_out_parts VALUES (?, ?, ?, ?)");
    this.#next = connection.prepare(
      `SELECT p.event, p.part, p.first_delivery, p.document, e.tenant
       FROM fan_out_parts p JOIN events e ON e.seq = p.event ORDER BY p.event, p.part LIMIT 1`,
    );
    this.#forget = connection.prepare("DELETE FROM fan_out_parts WHERE event = ? AND part = ?");
    // Upkeep may already have cancelled the waiting deliveries of the webhook.
    this.#cancelAgain = connection.prepare(
      `UPDATE webhooks SET cancel_due = 1 WHERE deleted_at IS NOT NULL AND cancel_due = 0
       AND id IN (SELECT value FROM json_each(?))`,
    );
  }

  /**
   * The rows of an event are contiguous, which listings, searches and retention rely on, so all positions are reserved
   * here. Their times are recorded here too, because only the newest chunk can be changed.
   */
  keep(event: number, command: PublishCommand): void {
    const { counters, chunks } = this.#state;
    const { createdAt } = command.event;
    for (const [part, { count, document }] of partsOf(command).entries()) {
      const first = counters.reserveDeliveries(count);
      for (let seq = first; seq < first + count; seq += 1) chunks.note(chunkKinds.deliveries, seq, createdAt);
      this.#keep.run(event, part, first, document);
    }
  }

  next(): FanOutPart | null {
    const row = this.#next.get() as unknown as PartRow | undefined;
    if (row === undefined) return null;
    const [event, part, first, document, tenant] = row;
    const deliveries = unpackPart(document);
    for (const [index, delivery] of deliveries.entries())
      this.#deliveries.writeAt(first + index, delivery, { seq: event, tenant });
    this.#forget.run(event, part);
    this.#cancelAgain.run(JSON.stringify(deliveries.map(({ lane }) => lane.webhookId)));
    return { deliveries };
  }
}

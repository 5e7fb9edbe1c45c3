import type { StatementSync } from "node:sqlite";
import { packTraceContext } from "../../../domain/tracing/trace-context.ts";
import { packRelayed } from "../../../features/gateway/relayed.ts";
import type {
  FanOutPart,
  Lease,
  NewDelivery,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../../../ports/store/deliveries.ts";
import { formatCodes, originCodes, priorityCodes, queuePositionIn, stateCodes } from "../../column-values.ts";
import { answerToRepeat, isKeyed, partsOf, unpackPart } from "../../publish-rows.ts";
import { chunkKinds } from "../driver/chunks.ts";
import type { StoreState } from "../state.ts";

/** The stored event to which a new delivery belongs. */
export interface EventRef {
  readonly seq: number;
  readonly tenant: number;
}

/** Writes delivery rows, for publishes and requeues. Only inside a write. */
export class DeliveryWriter {
  readonly #state: StoreState;
  readonly #insert: StatementSync;

  constructor(state: StoreState) {
    this.#state = state;
    this.#insert = state.connection.prepare(
      `INSERT INTO deliveries (seq, id, event, tenant, webhook, lane, queue_position, state, priority, origin,
        attempt_count,
         created_at, due_at, reason, format)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
    );
  }

  write(delivery: NewDelivery, event: EventRef): Lease {
    const { counters, chunks } = this.#state;
    const seq = counters.nextDelivery();
    chunks.note(chunkKinds.deliveries, seq, delivery.createdAt);
    return this.writeAt(seq, delivery, event);
  }

  /** Writes at a position that has already been reserved and recorded. */
  writeAt(seq: number, delivery: NewDelivery, event: EventRef): Lease {
    const { lanes, counters, queue, leases } = this.#state;
    const lane = lanes.ensure(delivery.lane);
    const priority = priorityCodes.encode[delivery.priority];
    const waits = delivery.state === "pending";
    const leased = waits && delivery.claim;
    const queuePosition =
      waits && !leased ? queuePositionIn(lane, { order: seq, priority, dueAt: delivery.dueAt }) : null;
    this.#insert.run(
      seq,
      delivery.id,
      event.seq,
      event.tenant,
      lane.webhook,
      lane.ref,
      queuePosition,
      stateCodes.encode[delivery.state],
      priority,
      originCodes.encode[delivery.origin],
      delivery.createdAt,
      delivery.dueAt,
      delivery.reason,
      formatCodes.encode[delivery.format],
    );
    if (waits) counters.addWaiting(priority, 1);
    if (queuePosition !== null) queue.insert({ lane: lane.ref, queuePosition, seq });
    const { id: deliveryId } = delivery;
    if (!leased) return { ref: seq, deliveryId, leaseToken: 0 };
    return {
      ref: seq,
      deliveryId,
      leaseToken: leases.grant(seq, { until: delivery.leaseUntil, lane: lane.ref, priority, queuePosition }),
    };
  }
}

type DedupRow = [event: number, fingerprint: string | null, expiresAt: number];
type OriginalRow = [id: string, eventType: number, timestamp: number, sequence: number, deliveries: number];

/** Writes events with their deliveries, or detects that they were already published. Only inside a write. */
export class PublishWriter {
  readonly #state: StoreState;
  readonly #deliveries: DeliveryWriter;
  readonly #fanOut: FanOut;
  readonly #insert: StatementSync;
  readonly #findKey: StatementSync;
  readonly #saveKey: StatementSync;
  readonly #original: StatementSync;

  constructor(state: StoreState, deliveries: DeliveryWriter, fanOut: FanOut) {
    const { connection } = state;
    this.#fanOut = fanOut;
    this.#state = state;
    this.#deliveries = deliveries;
    this.#insert = connection.prepare(
      "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
    );
    this.#findKey = connection.prepare(
      "SELECT event, fingerprint, expires_at FROM dedup_keys WHERE tenant = ? AND key = ?",
    );
    this.#saveKey = connection.prepare("INSERT OR REPLACE INTO dedup_keys VALUES (?, ?, ?, ?, ?)");
    this.#original = connection.prepare(
      "SELECT id, event_type, occurred_at, sequence_number, delivery_count FROM events WHERE seq = ?",
    );
  }

  write(command: PublishCommand): PublishResult {
    const { event } = command;
    const { strings, counters } = this.#state;
    const tenant = strings.ensure(event.tenantId);
    if (isKeyed(command)) {
      const earlier = this.#earlier(event, tenant);
      if (earlier !== null) return earlier;
      const { idempotencyKey, fingerprint } = event;
      this.#saveKey.run(tenant, idempotencyKey, counters.eventLast + 1, fingerprint, command.dedupUntil);
    }
    const seq = counters.nextEvent();
    const sequenceNumber = counters.nextSequence(tenant);
    this.#insertEvent(command, { seq, tenant, sequenceNumber });
    const leases: Lease[] = [];
    for (const delivery of command.deliveries) leases.push(this.#deliveries.write(delivery, { seq, tenant }));
    if (command.later !== undefined) this.#fanOut.keep(seq, command);
    return { kind: "accepted", sequenceNumber, leases };
  }

  #insertEvent(command: PublishCommand, ref: EventRef & { readonly sequenceNumber: number }): void {
    const { event } = command;
    const { strings, counters, chunks } = this.#state;
    this.#insert.run(
      ref.seq,
      event.id,
      ref.tenant,
      strings.ensure(event.eventType),
      ref.sequenceNumber,
      event.timestamp,
      event.source,
      event.idempotencyKey,
      priorityCodes.encode[event.priority],
      event.createdAt,
      strings.ensure(event.contentType),
      counters.deliveryLast + 1,
      command.deliveries.length + (command.later?.length ?? 0),
      event.body,
      event.raw ? 1 : 0,
      event.trace === null ? null : packTraceContext(event.trace),
      event.relayed === null ? null : packRelayed(event.relayed),
    );
    chunks.note(chunkKinds.events, ref.seq, event.createdAt);
  }

  /** The earlier publish with this key; null if the key is unused or expired. */
  #earlier(event: NewEvent, tenant: number): PublishResult | null {
    const row = this.#findKey.get(tenant, event.idempotencyKey) as unknown as DedupRow | undefined;
    if (row === undefined || row[2] <= event.createdAt) return null;
    const found = this.#original.get(row[0]) as unknown as OriginalRow | undefined;
    // Upkeep keeps an event as long as its key, so the original always exists.
    if (found === undefined) throw new Error(`deduplication key without its event ${row[0]}`);
    const [id, eventType, timestamp, sequenceNumber, deliveries] = found;
    const original = {
      id,
      eventType: this.#state.strings.text(eventType),
      timestamp,
      sequenceNumber,
      deliveries,
    };
    return answerToRepeat(event, { fingerprint: row[1], original });
  }
}

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
      `SELECT p.event, p.part, p.delivery_first, p.document, e.tenant
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
   * Listings, searches and retention rely on contiguous rows of an event, so all positions are reserved here. Their
   * times are also recorded here, because only the newest chunk can be changed.
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

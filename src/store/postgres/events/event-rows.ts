import { packTraceContext } from "../../../domain/tracing/trace-context.ts";
import { packRelayed } from "../../../features/gateway/relayed.ts";
import type { Lease, NewDelivery, NewEvent } from "../../../ports/store/deliveries.ts";
import {
  formatCodes,
  originCodes,
  priorityCodes,
  queuePositionIn,
  stateCodes,
  storable,
} from "../../column-values.ts";
import { booleans, numbers, plainWords, texts } from "../driver/sql.ts";
import type { Transaction, Value } from "../driver/database.ts";
import type { StoredLane } from "../driver/string-table.ts";
import { addToCounters, type Deltas } from "./lane-counters.ts";

/** The stored event to which a new delivery belongs. */
export interface EventRef {
  readonly seq: number;
  readonly tenant: number;
  readonly bodyBytes: number;
}

/** Identifies a row that only this transaction can have written. */
export interface StoredRow {
  readonly table: "events" | "deliveries";
  readonly seq: number;
  readonly id: string;
}

export interface LeasedDelivery {
  readonly seq: number;
  readonly id: string;
  readonly lane: number;
}

/**
 * Steps of a statement that writes the deliveries of $1 to $21; the last step is `queued`. `seq` and `event` are
 * expressions over the batch `g` and the tables that `from` adds to it. Ordered lanes use the position as queue
 * position.
 */
export function insertDeliveriesSteps(seq: string, event: string, from: string): string {
  return `given AS (
    SELECT ${seq} AS seq, id, ${event} AS event, tenant, webhook, lane, state, priority, origin, format, created_at,
      due_at, CASE WHEN ordered AND queue_position IS NOT NULL THEN ${seq} ELSE queue_position END AS queue_position,
        lease_until, owner, bytes,
      ordered, reason
    FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::smallint[],
      $8::smallint[], $9::smallint[], $10::smallint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
      $15::int[], $16::int[], $17::boolean[], $18::text[])
    AS g (seq, id, event, tenant, webhook, lane, state, priority, origin, format, created_at, due_at, queue_position,
      lease_until, owner, bytes, ordered, reason) ${from}),
  history AS (
    INSERT INTO posthorn.deliveries (seq, id, event, tenant, webhook, lane, state, priority, origin, format,
      created_at, due_at, reason)
    SELECT seq, id, event, tenant, webhook, lane, state, priority, origin, format, created_at, due_at, reason
    FROM given),
  counted AS (${addToCounters("SELECT * FROM unnest($19::int[], $20::int[], $21::bigint[])", "beginning")}),
  queued AS (
    INSERT INTO posthorn.queue (delivery, queue_position, lane, lease_until, owner, lease_token, bytes, attempts,
      priority, ordered)
    SELECT seq, queue_position, lane, lease_until, owner, CASE WHEN owner IS NULL THEN 0 ELSE 1 END, bytes, 0,
      priority, ordered
    FROM given WHERE queue_position IS NOT NULL)`;
}

const insertDeliveriesSql = `WITH ${insertDeliveriesSteps("g.seq", "g.event", "")} SELECT`;

/** New deliveries of one commit, stored column by column and written with one statement. */
export class DeliveryRows {
  readonly #processNumber: number;
  readonly deltas: Deltas;
  /** Deliveries that the committer leased in the commit. */
  readonly leased: LeasedDelivery[] = [];
  readonly #ids: string[] = [];
  readonly #numbers: (number | null)[][] = Array.from({ length: 15 }, () => []);
  readonly #ordered: boolean[] = [];
  readonly #reasons: (string | null)[] = [];
  /** Lanes that contain deliveries not leased by the committer. */
  readonly lanesWithFree = new Set<number>();

  constructor(processNumber: number, deltas: Deltas) {
    this.#processNumber = processNumber;
    this.deltas = deltas;
  }

  /** Identifies everything that the transaction writes; null when it writes no deliveries. */
  get first(): StoredRow | null {
    const [[seq] = [], [id]] = [this.#numbers[0], this.#ids];
    return seq === undefined || seq === null || id === undefined ? null : { table: "deliveries", seq, id };
  }

  add(delivery: NewDelivery, seq: number, event: EventRef, lane: StoredLane, leased: boolean): Lease {
    const priority = priorityCodes.encode[delivery.priority];
    const waits = delivery.state === "pending";
    const row = [
      seq,
      event.seq,
      event.tenant,
      lane.webhook,
      lane.ref,
      stateCodes.encode[delivery.state],
      priority,
      originCodes.encode[delivery.origin],
      formatCodes.encode[delivery.format],
      delivery.createdAt,
      delivery.dueAt,
      waits ? queuePositionIn(lane, { order: seq, priority, dueAt: delivery.dueAt }) : null,
      leased ? delivery.leaseUntil : null,
      leased ? this.#processNumber : null,
      event.bodyBytes,
    ];
    for (const [index, value] of row.entries()) this.#numbers[index]?.push(value);
    this.#ids.push(delivery.id);
    this.#ordered.push(lane.ordered);
    this.#reasons.push(delivery.reason);
    if (waits) this.deltas.addWaiting(priority, 1);
    if (waits && !leased) this.lanesWithFree.add(lane.ref);
    if (leased) this.leased.push({ seq, id: delivery.id, lane: lane.ref });
    return { ref: seq, deliveryId: delivery.id, leaseToken: leased ? 1 : 0 };
  }

  /** Parameters $1 to $21 of `insertDeliveriesSteps`. */
  columns(): readonly Value[] {
    const [seqs = [], ...others] = this.#numbers;
    return [
      numbers(seqs),
      plainWords(this.#ids),
      ...others.map(numbers),
      booleans(this.#ordered),
      plainWords(this.#reasons),
      ...this.deltas.columns(),
    ];
  }

  async insert(transaction: Transaction): Promise<void> {
    await transaction.rows(insertDeliveriesSql, this.columns());
  }

  /** Rows were added with positions relative to 0; they are written with positions that start at this value. */
  placedAt(first: number): void {
    for (const [at, { seq, id, lane }] of this.leased.entries())
      this.leased[at] = { seq: seq + first, id, lane };
  }
}

/** Data that is stored with an event but is not part of the event. */
interface EventPlace {
  readonly seq: number;
  readonly tenant: number;
  readonly sequenceNumber: number;
  readonly eventType: number;
  readonly contentType: number;
  readonly priority: number;
  readonly deliveries: number;
}

interface KeyRow {
  readonly tenant: number;
  readonly key: string;
  readonly event: string;
  readonly fingerprint: string | null;
  readonly expiresAt: number;
}

/**
 * Writes the events of $1 to $18. All bodies are one binary parameter that the server splits; in an array they would be
 * sent as hexadecimal text. `seq` and `sequenceNumber` are expressions over the batch `g` and the tables that `from`
 * adds to it.
 */
export function insertEventsSql(seq: string, sequenceNumber: string, from: string): string {
  return `INSERT INTO posthorn.events (seq, id, sequence_number, occurred_at, created_at, tenant, event_type,
    content_type, delivery_count, requeue_count, priority, raw, source, idempotency_key, body, trace, relayed)
  SELECT ${seq}, g.id, ${sequenceNumber}, occurred_at, created_at, g.tenant, event_type, content_type,
    deliveries, 0, priority, raw, source, idempotency_key, substring($15::bytea FROM body_from FOR body_bytes),
    decode(trace, 'hex'), decode(relayed, 'hex')
  FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], $8::int[],
    $9::int[], $10::smallint[], $11::int[], $12::int[], $13::text[], $14::text[], $16::boolean[],
    $17::text[], $18::text[])
  AS g (seq, id, sequence_number, occurred_at, created_at, tenant, event_type, content_type, deliveries, priority,
    body_from, body_bytes, source, idempotency_key, raw, trace, relayed) ${from}`;
}

/** A new entry replaces an expired entry with the same key. */
const insertSql = `WITH keyed AS (
    INSERT INTO posthorn.dedup_keys (tenant, key, event, fingerprint, expires_at)
    SELECT * FROM unnest($19::int[], $20::text[], $21::uuid[], $22::text[], $23::bigint[])
    ON CONFLICT (tenant, key) DO UPDATE SET event = excluded.event, fingerprint = excluded.fingerprint,
      expires_at = excluded.expires_at)
  ${insertEventsSql("g.seq", "g.sequence_number", "")}`;

/** New events of one commit with their deduplication keys, stored column by column and written with one statement. */
export class EventRows {
  readonly #ids: string[] = [];
  readonly #numbers: number[][] = Array.from({ length: 11 }, () => []);
  readonly #sources: (string | null)[] = [];
  readonly #keysOfEvents: (string | null)[] = [];
  readonly #raw: boolean[] = [];
  readonly #traces = new RareBytes();
  readonly #relayed = new RareBytes();
  readonly #bodies: Uint8Array[] = [];
  #firstPosition = 0;
  #bodyBytes = 0;
  /** Keyed by tenant and key. A key that expires within the batch can occur twice; the later entry is kept. */
  readonly #keys = new Map<string, KeyRow>();

  /** Identifies everything that the transaction writes; null when it writes no events. */
  get first(): StoredRow | null {
    const [[seq] = [], [id]] = [this.#numbers[0], this.#ids];
    return seq === undefined || id === undefined
      ? null
      : { table: "events", seq: this.#firstPosition + seq, id };
  }

  /** Number of events per tenant. */
  get countsByTenant(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const tenant of this.#numbers[4] ?? []) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    return counts;
  }

  /** Rows were added with positions relative to 0; they are written with positions that start at this value. */
  placedAt(first: number): void {
    this.#firstPosition = first;
  }

  add(event: NewEvent, place: EventPlace): void {
    const row = [
      place.seq,
      place.sequenceNumber,
      event.timestamp,
      event.createdAt,
      place.tenant,
      place.eventType,
      place.contentType,
      place.deliveries,
      place.priority,
      this.#bodyBytes + 1,
      event.body.byteLength,
    ];
    for (const [index, value] of row.entries()) this.#numbers[index]?.push(value);
    this.#ids.push(event.id);
    this.#sources.push(event.source);
    this.#keysOfEvents.push(event.idempotencyKey);
    this.#raw.push(event.raw);
    this.#traces.add(event.trace === null ? null : packTraceContext(event.trace));
    this.#relayed.add(event.relayed === null ? null : packRelayed(event.relayed));
    this.#bodies.push(event.body);
    this.#bodyBytes += event.body.byteLength;
  }

  addKey(event: NewEvent, tenant: number, expiresAt: number): void {
    const key = storable(event.idempotencyKey ?? "");
    const { id, fingerprint } = event;
    this.#keys.set(`${tenant} ${key}`, { tenant, expiresAt, key, event: id, fingerprint });
  }

  /** Parameters $1 to $18 of `insertEventsSql`. */
  columns(): readonly Value[] {
    const [seqs = [], ...others] = this.#numbers;
    return [
      numbers(seqs),
      plainWords(this.#ids),
      ...others.map(numbers),
      texts(this.#sources),
      texts(this.#keysOfEvents),
      Buffer.concat(this.#bodies),
      booleans(this.#raw),
      this.#traces.column(),
      this.#relayed.column(),
    ];
  }

  async insert(transaction: Transaction): Promise<void> {
    if (this.#ids.length === 0) return;
    const keys = [...this.#keys.values()];
    await transaction.rows(insertSql, [
      ...this.columns(),
      numbers(keys.map(({ tenant }) => tenant)),
      texts(keys.map(({ key }) => key)),
      plainWords(keys.map(({ event }) => event)),
      texts(keys.map(({ fingerprint }) => fingerprint)),
      numbers(keys.map(({ expiresAt }) => expiresAt)),
    ]);
  }
}

/** A column of bytes that is empty for most events, as hexadecimal text. */
class RareBytes {
  readonly #texts: (string | null)[] = [];
  #isEmpty = true;

  add(bytes: Uint8Array | null): void {
    this.#texts.push(bytes === null ? null : Buffer.from(bytes).toString("hex"));
    this.#isEmpty &&= bytes === null;
  }

  /** An empty column is sufficient, because `unnest` pads columns that are shorter than the others. */
  column(): Value {
    return this.#isEmpty ? "{}" : plainWords(this.#texts);
  }
}

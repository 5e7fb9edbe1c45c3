import { packRelayed } from "../../../core/gateway/relayed.ts";
import { packTraceContext } from "../../../core/tracing/trace-context.ts";
import type { NewEvent } from "../../../ports/store/deliveries.ts";
import { booleans, numbers, plainWords, texts } from "./columns.ts";
import { storable } from "../storable-text.ts";
import type { Transaction, Value } from "./database.ts";
import type { StoredRow } from "./delivery-rows.ts";

/** Stored data of an event that is not part of the event itself. */
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
 * Writes the events of $1 to $18. All bodies are one binary parameter that the server cuts up; in an array they would
 * be sent as hexadecimal text. `seq` and `sequenceNumber` are expressions over the batch `g` and what `from` adds to
 * it.
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

/** Keys of repeated events replace expired ones. */
const insertSql = `WITH keyed AS (
    INSERT INTO posthorn.dedup_keys (tenant, key, event, fingerprint, expires_at)
    SELECT * FROM unnest($19::int[], $20::text[], $21::uuid[], $22::text[], $23::bigint[])
    ON CONFLICT (tenant, key) DO UPDATE SET event = excluded.event, fingerprint = excluded.fingerprint,
      expires_at = excluded.expires_at)
  ${insertEventsSql("g.seq", "g.sequence_number", "")}`;

/** New events of one commit with their deduplication keys, column by column, written with one statement. */
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
  /** By tenant and key: a key that expires within the batch can occur twice, and the later one is kept. */
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

  /** Rows were added with positions counting from 0; they are written starting at this position. */
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

  /** $1 to $18 of `insertEventsSql`. */
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

/** A column of bytes that few events have, as hexadecimal text. */
class RareBytes {
  readonly #texts: (string | null)[] = [];
  #isEmpty = true;

  add(bytes: Uint8Array | null): void {
    this.#texts.push(bytes === null ? null : Buffer.from(bytes).toString("hex"));
    this.#isEmpty &&= bytes === null;
  }

  /** `unnest` pads columns that are shorter than the others. */
  column(): Value {
    return this.#isEmpty ? "{}" : plainWords(this.#texts);
  }
}

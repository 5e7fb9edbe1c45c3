import type { Lease, NewDelivery } from "../../../ports/store/deliveries.ts";
import { formatCodes, originCodes, priorityCodes, stateCodes } from "../codes.ts";
import { queuePositionIn } from "../queue-position.ts";
import { booleans, numbers, plainWords } from "./columns.ts";
import { addToCounters, type Deltas } from "./counters.ts";
import type { Transaction, Value } from "./database.ts";
import type { StoredLane } from "./string-table.ts";

/** The stored event of a new delivery. */
export interface EventRef {
  readonly seq: number;
  readonly tenant: number;
  readonly bodyBytes: number;
}

/** A row that was written by this transaction only. */
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
 * Steps of a statement that writes the deliveries of $1 to $21; the last one is `queued`. `seq` and `event` are
 * expressions over the batch `g` and what `from` adds to it. Ordered lanes use the position as queue position.
 */
export function insertDeliveriesSteps(seq: string, event: string, from: string): string {
  return `given AS (
    SELECT ${seq} AS seq, id, ${event} AS event, tenant, webhook, lane, state, priority, origin, format, created_at,
      due_at, CASE WHEN ordered AND rank IS NOT NULL THEN ${seq} ELSE rank END AS rank, lease_until, owner, bytes,
      ordered, reason
    FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::smallint[],
      $8::smallint[], $9::smallint[], $10::smallint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
      $15::int[], $16::int[], $17::boolean[], $18::text[])
    AS g (seq, id, event, tenant, webhook, lane, state, priority, origin, format, created_at, due_at, rank,
      lease_until, owner, bytes, ordered, reason) ${from}),
  history AS (
    INSERT INTO posthorn.deliveries (seq, id, event, tenant, webhook, lane, state, priority, origin, format,
      created_at, due_at, reason)
    SELECT seq, id, event, tenant, webhook, lane, state, priority, origin, format, created_at, due_at, reason
    FROM given),
  counted AS (${addToCounters("SELECT * FROM unnest($19::int[], $20::int[], $21::bigint[])", "beginning")}),
  queued AS (
    INSERT INTO posthorn.queue (delivery, rank, lane, lease_until, owner, fence, bytes, attempts, priority, ordered)
    SELECT seq, rank, lane, lease_until, owner, CASE WHEN owner IS NULL THEN 0 ELSE 1 END, bytes, 0, priority, ordered
    FROM given WHERE rank IS NOT NULL)`;
}

const insertDeliveriesSql = `WITH ${insertDeliveriesSteps("g.seq", "g.event", "")} SELECT`;

/** New deliveries of one commit, column by column, written with one statement. */
export class DeliveryRows {
  readonly #processNumber: number;
  readonly deltas: Deltas;
  /** Deliveries that the committer leased in the commit. */
  readonly leased: LeasedDelivery[] = [];
  readonly #ids: string[] = [];
  readonly #numbers: (number | null)[][] = Array.from({ length: 15 }, () => []);
  readonly #ordered: boolean[] = [];
  readonly #reasons: (string | null)[] = [];
  /** Lanes with deliveries that the committer did not lease. */
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

  add(
    delivery: NewDelivery,
    place: {
      readonly seq: number;
      readonly event: EventRef;
      readonly lane: StoredLane;
      readonly leased: boolean;
    },
  ): Lease {
    const { seq, event, lane, leased } = place;
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

  /** $1 to $21 of `insertDeliveriesSteps`. */
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

  /** Rows were added with positions counting from 0; they are written starting at this position. */
  placedAt(first: number): void {
    for (const [at, { seq, id, lane }] of this.leased.entries())
      this.leased[at] = { seq: seq + first, id, lane };
  }
}

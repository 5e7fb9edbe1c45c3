import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { MovedKey, MovedPart, MovedRow, MovedRows, Stretch } from "../../../ports/store/moving.ts";
import { exhausted, orderingCodes, tierSpan, waitingMax } from "../../column-values.ts";
import { movedAway, movedRow, type MovedTo, movingHere } from "../../moved-parts.ts";
import { chunkBits, chunkKinds } from "../driver/chunks.ts";
import { StatementCache } from "../driver/connection.ts";
import { refuseEmptied, storeError } from "../driver/errors.ts";

/** Throws StoreMovedError if the file must not be used. */
export function refuseMoved(db: DatabaseSync, dataDir: string): void {
  const marks = db.prepare("SELECT key, value FROM meta WHERE key IN ('moved', 'moving')").all();
  for (const { key, value } of marks) {
    if (key === "moving") throw movingHere(dataDir);
    throw movedAway(dataDir, JSON.parse(String(value)) as MovedTo);
  }
}

/** Records where the contents were moved; null records that the file is in service again. */
export function markMoved(file: string, to: MovedTo | null): void {
  refuseEmptied(file);
  const db = new DatabaseSync(file, { timeout: 5_000 });
  try {
    if (to === null) db.exec("DELETE FROM meta WHERE key = 'moved'");
    else db.prepare("INSERT OR REPLACE INTO meta VALUES ('moved', ?)").run(JSON.stringify(to));
  } catch (error) {
    throw storeError(error);
  } finally {
    db.close();
  }
}

/** Where the contents were moved; null if they were not moved. */
export function readMoved(file: string): MovedTo | null {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const row = db.prepare("SELECT value FROM meta WHERE key = 'moved'").get();
    return row === undefined ? null : (JSON.parse(String(row["value"])) as MovedTo);
  } catch (error) {
    throw storeError(error);
  } finally {
    db.close();
  }
}

/** How this store keeps the rows of a part. */
export interface StoredPart {
  /** The table, with the alias that `key` uses. */
  readonly table: string;
  /** The source to read: the table, or a join. */
  readonly from: string;
  /** The SQL of each column of the part. */
  readonly columns: Readonly<Record<string, string>>;
  /** The sort order of the table, and its value for a key. */
  readonly key: readonly string[];
  readonly keyOf: (key: MovedKey) => MovedKey;
  /** The SQL of each column of the table, where `:name` is a column of the part. */
  readonly writes: Readonly<Record<string, string>>;
}

type Special = Partial<StoredPart> & {
  /** Columns of the part that do not exist in the table. */
  readonly unwritten?: readonly string[];
};

const attemptsPerDelivery = 2 ** 16;

const queuePosition = `CASE WHEN :state > ${waitingMax} THEN NULL
  WHEN (SELECT ordering FROM lanes WHERE ref = :lane) <> ${orderingCodes.encode.none}
    THEN coalesce(:order_position, :seq)
  ELSE :priority * ${tierSpan} + min(max(:due_at, 0), ${tierSpan - 1}) END`;

/** Parts that differ from the table of the same name. */
const special: Readonly<Record<string, Special>> = {
  tenant_sequences: {
    table: "tenant_counters",
    writes: { dead_letters: "0" },
  },
  events: { writes: { delivery_first: "0" } },
  deliveries: { writes: { queue_position: queuePosition } },
  // The key is delivery << 16 | number (../schema.ts).
  attempts: {
    table: "attempts AS a",
    from: "attempts a JOIN deliveries d ON d.seq = a.key >> 16",
    columns: {
      delivery: "a.key >> 16",
      number: "a.key & 65535",
      webhook: "d.webhook",
      id: "a.id",
      category: "a.category",
    },
    key: ["a.key"],
    keyOf: ([delivery, number]) => [Number(delivery) * attemptsPerDelivery + Number(number)],
    writes: { key: `:delivery * ${attemptsPerDelivery} + :number` },
    unwritten: ["delivery", "number", "webhook"],
  },
  // Skip keys whose event was deleted; they have no effect.
  dedup_keys: {
    table: "dedup_keys AS k",
    from: "dedup_keys k JOIN events e ON e.seq = k.event",
    columns: { tenant: "k.tenant", key: "k.key", event: "e.id" },
    key: ["k.tenant", "k.key"],
    writes: { event: "(SELECT seq FROM events WHERE id = :event)" },
  },
};

export function storedPart(part: MovedPart): StoredPart {
  const names = Object.keys(part.columns);
  const { table = part.name, columns, unwritten = [], writes, ...more } = special[part.name] ?? {};
  const written = names.filter((name) => !unwritten.includes(name));
  return {
    table,
    from: table,
    key: names.slice(0, part.keyLength),
    keyOf: (key) => key,
    ...more,
    columns: { ...Object.fromEntries(names.map((name) => [name, name])), ...columns },
    writes: { ...Object.fromEntries(written.map((name) => [name, `:${name}`])), ...writes },
  };
}

/** The rows of a key range, as a condition and its values. */
export function within(
  { key, keyOf }: StoredPart,
  { after, upTo }: Stretch,
): { readonly sql: string; readonly values: MovedKey } {
  const place = (of: MovedKey) => `(${of.map(() => "?").join(", ")})`;
  const columns = `(${key.join(", ")})`;
  const from = after === null ? [] : keyOf(after);
  const to = upTo === null ? [] : keyOf(upTo);
  const clauses = [
    ...(from.length === 0 ? [] : [`${columns} > ${place(from)}`]),
    ...(to.length === 0 ? [] : [`${columns} <= ${place(to)}`]),
  ];
  return { sql: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, values: [...from, ...to] };
}

/** Reads parts from a database file. */
export class SqlitePartReader implements MovedRows {
  protected readonly db: DatabaseSync;
  readonly #statements: StatementCache;

  constructor(db: DatabaseSync) {
    this.db = db;
    this.#statements = new StatementCache({ prepare: (sql) => preparedForArrays(db, sql) });
  }

  read(
    part: MovedPart,
    { limit, ...stretch }: Stretch & { readonly limit: number },
  ): Promise<readonly MovedRow[]> {
    const stored = storedPart(part);
    const { sql, values } = within(stored, stretch);
    const columns = Object.values(stored.columns).join(", ");
    return this.guarded(() =>
      this.statement(`SELECT ${columns} FROM ${stored.from} ${sql} ORDER BY ${stored.key.join(", ")} LIMIT ?`)
        .all(...values, limit)
        .map((row) => movedRow(part, row as unknown as readonly unknown[])),
    );
  }

  count(part: MovedPart): Promise<number> {
    const { from } = storedPart(part);
    return this.guarded(() => {
      const row = this.statement(`SELECT count(*) FROM ${from}`).get();
      return (row as unknown as [count: number])[0];
    });
  }

  async close(): Promise<void> {
    if (this.db.isOpen) this.db.close();
  }

  /** Rows are returned as arrays. */
  protected statement(sql: string): StatementSync {
    return this.#statements.get(sql);
  }

  protected async guarded<Result>(work: () => Result): Promise<Result> {
    try {
      return work();
    } catch (error) {
      throw storeError(error);
    }
  }
}

function preparedForArrays(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

const countedWaiting = (priority: number): string =>
  `(SELECT count(*) FROM deliveries WHERE state <= ${waitingMax} AND priority = ${priority})`;

const timesOfChunks = (table: "events" | "deliveries"): string =>
  `INSERT INTO chunks SELECT ${chunkKinds[table]}, seq >> ${chunkBits}, min(created_at), max(created_at)
   FROM ${table} GROUP BY seq >> ${chunkBits}`;

/** Deliveries of each event in order; contiguous ones have the same `run`. */
const placed = `WITH placed AS (
  SELECT event, seq, number, seq - number AS run, first FROM (
    SELECT event, seq, row_number() OVER (PARTITION BY event ORDER BY seq) AS number,
      min(seq) OVER (PARTITION BY event) AS first FROM deliveries))`;

/** Retries draw their order positions from the same sequence as deliveries. */
const lastPosition = "max(coalesce(max(seq), 0), coalesce(max(order_position), 0))";

/** Derives the remaining tables from the rows, in one transaction. After that, the file can be used as a store. */
export const finishing: readonly string[] = [
  "INSERT INTO lane_entries SELECT lane, queue_position, seq FROM deliveries WHERE queue_position IS NOT NULL",
  timesOfChunks("events"),
  timesOfChunks("deliveries"),
  // Deliveries that were written with the event and are contiguous form its range; all others were added later.
  `${placed} UPDATE events SET delivery_first = together.first, delivery_count = together.number FROM (
     SELECT event, p.first, max(number) AS number FROM placed p JOIN events e ON e.seq = p.event
     WHERE run = p.first - 1 AND number <= e.delivery_count GROUP BY event, p.first) AS together
   WHERE events.seq = together.event`,
  "UPDATE events SET delivery_count = 0 WHERE delivery_first = 0",
  `INSERT INTO event_requeues SELECT event, d.seq FROM deliveries d JOIN events e ON e.seq = d.event
   WHERE d.seq < e.delivery_first OR d.seq >= e.delivery_first + e.delivery_count`,
  `UPDATE events SET requeue_count = (SELECT count(*) FROM event_requeues WHERE event = events.seq)
   WHERE requeue_count > 0 OR seq IN (SELECT event FROM event_requeues)`,
  `UPDATE counters SET waiting_high = ${countedWaiting(0)}, waiting_normal = ${countedWaiting(1)},
     waiting_low = ${countedWaiting(2)}, event_last = (SELECT coalesce(max(seq), 0) FROM events),
     delivery_last = (SELECT ${lastPosition} FROM deliveries),
     fresh_floor = (SELECT ${lastPosition} + 1 FROM deliveries)`,
  `INSERT INTO tenant_counters SELECT tenant, 0, count(*) FROM deliveries
   WHERE state = ${exhausted} GROUP BY tenant
   ON CONFLICT (tenant) DO UPDATE SET dead_letters = excluded.dead_letters`,
  "DELETE FROM gateway_requests_unfiled",
  "DELETE FROM gateway_requests_by_source",
  "INSERT INTO gateway_requests_by_source SELECT source, id FROM gateway_requests ORDER BY source, id",
  "DROP TABLE moving",
  "DELETE FROM meta WHERE key = 'moving'",
];

import type {
  MovedKey,
  MovedKind,
  MovedPart,
  MovedRow,
  MovedValue,
  Stretch,
} from "../../../ports/store/moving.ts";
import { exhausted, orderingCodes, tierSpan, waitingMax } from "../../column-values.ts";
import { movedAway, movedRow, type MovedTo, movingHere } from "../../moved-parts.ts";
import { numbers, plainWords, texts } from "../driver/sql.ts";
import type { Runner, Value } from "../driver/database.ts";
import { deadLetterKind } from "../events/lane-counters.ts";
import { blockSize } from "../events/positions.ts";

/** The array type in which a column is sent. */
const arrayTypes: Readonly<Record<MovedKind, string>> = {
  integer: "bigint[]",
  real: "float8[]",
  text: "text[]",
  boolean: "boolean[]",
  bytes: "bytea[]",
  uuid: "uuid[]",
};

/** Rows in column form, one array literal per column, for `unnest`. */
export function columnsOf(part: MovedPart, rows: readonly MovedRow[]): readonly string[] {
  return Object.values(part.columns).map((kind, place) =>
    literals[kind](rows.map((row) => row[place] ?? null)),
  );
}

const literals: Readonly<Record<MovedKind, (values: readonly MovedValue[]) => string>> = {
  integer: (values) => numbers(values as (number | null)[]),
  text: (values) => texts(values as (string | null)[]),
  uuid: (values) => plainWords(values as (string | null)[]),
  boolean: (values) => plainWords(values.map(plainText)),
  real: (values) => plainWords(values.map(plainText)),
  bytes: (values) => plainWords(values.map((value) => (value === null ? null : hex(value as Uint8Array)))),
};

function plainText(value: MovedValue): string | null {
  return value === null ? null : String(value);
}

function hex(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  return `"\\\\x${text}"`;
}

/** The progress of a move. While this table exists, no process uses the database as its store. */
export const movingTable = "posthorn.moving";
/** Where the contents were moved. */
const movedTable = "posthorn.moved";

/** Throws StoreMovedError if the database must not be used. `at` is its address without credentials. */
export async function refuseMoved(runner: Runner, at: string): Promise<void> {
  const [found] = await runner.rows<[isMoving: boolean, isMoved: boolean]>(
    `SELECT to_regclass('${movingTable}') IS NOT NULL, to_regclass('${movedTable}') IS NOT NULL`,
  );
  if (found?.[0] === true) throw movingHere(at);
  const to = found?.[1] === true ? await readMark(runner) : null;
  if (to !== null) throw movedAway(at, to);
}

/** Where the contents were moved; null if they were not moved. */
export async function readMoved(runner: Runner): Promise<MovedTo | null> {
  const [found] = await runner.rows<[isMoved: boolean]>(`SELECT to_regclass('${movedTable}') IS NOT NULL`);
  return found?.[0] === true ? readMark(runner) : null;
}

async function readMark(runner: Runner): Promise<MovedTo | null> {
  const [row] = await runner.rows<[place: string, at: number]>(`SELECT place, at FROM ${movedTable}`);
  return row === undefined ? null : { place: row[0], at: row[1] };
}

/** Records where the contents were moved; null records that the database is in service again. */
export async function markMoved(runner: Runner, to: MovedTo | null): Promise<void> {
  await runner.rows(`CREATE TABLE IF NOT EXISTS ${movedTable} (place text NOT NULL, at bigint NOT NULL)`);
  await runner.rows(`DELETE FROM ${movedTable}`);
  if (to === null) await runner.rows(`DROP TABLE ${movedTable}`);
  else await runner.rows(`INSERT INTO ${movedTable} VALUES ($1, $2)`, [to.place, to.at]);
}

/** A condition on `columns` that selects the rows of a key range. Its parameters begin at `$first`. */
export function within(
  columns: readonly string[],
  { after, upTo }: Stretch,
): { readonly sql: string; readonly values: readonly Value[] } {
  const key = `(${columns.join(", ")})`;
  const placeFrom = (first: number, of: MovedKey) =>
    `(${of.map((_, place) => `$${first + place}`).join(", ")})`;
  const clauses = [
    ...(after === null ? [] : [`${key} > ${placeFrom(1, after)}`]),
    ...(upTo === null ? [] : [`${key} <= ${placeFrom(1 + (after?.length ?? 0), upTo)}`]),
  ];
  return {
    sql: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`,
    values: [...(after ?? []), ...(upTo ?? [])],
  };
}

/** Returns the key columns, in a form that sorts in the same order as SQLite. */
export function keyColumns({ columns, keyLength }: MovedPart): readonly string[] {
  return Object.entries(columns)
    .slice(0, keyLength)
    .map(([name, kind]) => (kind === "text" ? `${name} COLLATE "C"` : name));
}

/** Columns that are derived from the row alone. */
const derived: Readonly<Record<string, readonly [column: string, sql: string]>> = {
  deliveries: ["attempt_last", "attempt_count"],
};

/** Takes one array per column. */
export function insertSql({ name, columns }: MovedPart): string {
  const names = Object.keys(columns).join(", ");
  const arrays = Object.values(columns).map((kind, place) => `$${place + 1}::${arrayTypes[kind]}`);
  const [column, sql] = derived[name] ?? [null, null];
  const more = (text: string | null) => (text === null ? "" : `, ${text}`);
  return `INSERT INTO posthorn.${name} (${names}${more(column)}) OVERRIDING SYSTEM VALUE
    SELECT ${names}${more(sql)} FROM unnest(${arrays.join(", ")}) AS given (${names})`;
}

/**
 * Additional tables for the rows of a part. Their rows are removed before those of the part and written after them.
 * `bounds` is replaced by a condition on `d.seq`.
 */
export const besides: Readonly<
  Record<string, readonly { readonly table: string; readonly insert: string }[]>
> = {
  deliveries: [
    {
      table: "queue",
      insert: `INSERT INTO posthorn.queue (delivery, queue_position, lane, lease_token, bytes, attempts, priority,
        ordered, retried_at)
        SELECT d.seq, CASE WHEN l.ordering = ${orderingCodes.encode.none}
            THEN d.priority * ${tierSpan} + least(greatest(d.due_at, 0), ${tierSpan - 1}) ELSE coalesce(d.order_position, d.seq) END,
          d.lane, 0, coalesce(length(e.body), 0), d.attempt_count, d.priority,
          l.ordering <> ${orderingCodes.encode.none}, d.retried_at
        FROM posthorn.deliveries d JOIN posthorn.lanes l ON l.ref = d.lane JOIN posthorn.events e ON e.seq = d.event
        WHERE d.state <= ${waitingMax}`,
    },
    {
      table: "dead_letters",
      insert: `INSERT INTO posthorn.dead_letters (delivery, tenant)
        SELECT d.seq, d.tenant FROM posthorn.deliveries d
        WHERE d.state = ${exhausted}`,
    },
  ],
};

/** Ensures that no attempt number is used twice, even if earlier attempts were not counted. */
export const raiseAttemptLast = `UPDATE posthorn.deliveries d SET attempt_last = a.last
  FROM (SELECT delivery, max(number) AS last FROM unnest($1::bigint[], $2::bigint[]) AS g (delivery, number)
        GROUP BY delivery) a
  WHERE d.seq = a.delivery AND d.attempt_last < a.last`;

/** Identity columns and their tables. */
export const identities = `SELECT table_name, column_name FROM information_schema.columns
  WHERE table_schema = 'posthorn' AND is_identity = 'YES' AND table_name = ANY ($1::text[])`;

export function numberOn(table: string, column: string): string {
  return `SELECT setval(pg_get_serial_sequence('posthorn.${table}', '${column}'),
    coalesce(max(${column}), 0) + 1, false) FROM posthorn.${table}`;
}

/** Statements that let positions and counters continue after the last moved rows. */
export const finishing: readonly string[] = [
  // Retries draw their order positions from the same sequence as deliveries.
  ...[
    ["event_blocks", "events", "max(seq)"],
    ["delivery_blocks", "deliveries", "greatest(max(seq), max(order_position))"],
  ].map(
    ([sequence, table, last]) => `SELECT setval('posthorn.${sequence}',
      coalesce(${last}, 0) / ${blockSize} + 1, false) FROM posthorn.${table}`,
  ),
  `SELECT setval('posthorn.delivery_problem_positions', coalesce(max(position), 0) + 1, false)
   FROM posthorn.delivery_problems`,
  "DELETE FROM posthorn.counters",
  `INSERT INTO posthorn.counters (shard, kind, tenant, value)
   SELECT 0, priority, 0, count(*) FROM posthorn.queue GROUP BY priority
   UNION ALL SELECT 0, ${deadLetterKind}, tenant, count(*) FROM posthorn.dead_letters GROUP BY tenant`,
];

/** Subqueries that are read instead of a table, if some of its rows are not moved. */
const sources: Readonly<Record<string, string>> = {
  // Skip keys whose event was deleted; they have no effect.
  dedup_keys: `(SELECT * FROM posthorn.dedup_keys k
    WHERE EXISTS (SELECT FROM posthorn.events e WHERE e.id = k.event)) AS dedup_keys`,
};

function sourceOf({ name }: MovedPart): string {
  return sources[name] ?? `posthorn.${name}`;
}

/** Rows of a part, in key order. */
export async function readPart(
  runner: Runner,
  part: MovedPart,
  { limit, ...stretch }: Stretch & { readonly limit: number },
): Promise<readonly MovedRow[]> {
  const key = keyColumns(part);
  const bounds = within(key, stretch);
  const rows = await runner.rows(
    `SELECT ${Object.keys(part.columns).join(", ")} FROM ${sourceOf(part)} ${bounds.sql}
     ORDER BY ${key.join(", ")} LIMIT ${limit}`,
    bounds.values,
  );
  return rows.map((row) => movedRow(part, row));
}

/** The database concatenates the rows, so that only the digest is sent. */
export async function fingerprintOf(runner: Runner, part: MovedPart, stretch: Stretch): Promise<string> {
  const key = keyColumns(part);
  const bounds = within(key, stretch);
  const [row] = await runner.rows<[fingerprint: string]>(
    `SELECT encode(sha256(convert_to(coalesce(string_agg(
       (${Object.keys(part.columns).join(", ")})::text, '' ORDER BY ${key.join(", ")}), ''), 'UTF8')), 'hex')
     FROM ${sourceOf(part)} ${bounds.sql}`,
    bounds.values,
  );
  return row?.[0] ?? "";
}

export async function countPart(runner: Runner, part: MovedPart): Promise<number> {
  const [row] = await runner.rows<[count: number]>(`SELECT count(*) FROM ${sourceOf(part)}`);
  return row?.[0] ?? 0;
}

import type { MovedKey, MovedPart, Stretch } from "../../../ports/store/moving.ts";
import { exhausted, orderingCodes, waitingMax } from "../codes.ts";
import { tierSpan } from "../queue-position.ts";
import { deadLetterKind } from "./counters.ts";
import type { Value } from "./database.ts";
import { arrayTypes } from "./moving-columns.ts";
import { blockSize } from "./positions.ts";

/** The rows of a stretch, as a condition on `columns` with the values `$first` and following. */
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

/** In the same order as in SQLite. */
export function keyColumns({ columns, keyLength }: MovedPart): readonly string[] {
  return Object.entries(columns)
    .slice(0, keyLength)
    .map(([name, kind]) => (kind === "text" ? `${name} COLLATE "C"` : name));
}

/** Columns that are derived from the row alone. */
const derived: Readonly<Record<string, readonly [column: string, sql: string]>> = {
  tenants: ["pool", "coalesce(document::json ->> 'workerPool', 'default')"],
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
 * Other tables with rows of the part: removed before it and written after it. `bounds` is replaced by a condition on
 * `d.seq`.
 */
export const besides: Readonly<
  Record<string, readonly { readonly table: string; readonly insert: string }[]>
> = {
  deliveries: [
    {
      table: "queue",
      insert: `INSERT INTO posthorn.queue (delivery, rank, lane, fence, bytes, attempts, priority, ordered, retried_at)
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

/** No attempt number is used twice, even if earlier attempts were not counted. */
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

/** Positions and counters continue after the last rows. */
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

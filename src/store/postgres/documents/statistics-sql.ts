import { packFacts } from "../../../domain/statistics/counts.ts";
import { type Fact, type FactKind, factKinds } from "../../../domain/statistics/facts.ts";
import type { BucketRow } from "../../../domain/statistics/open-buckets.ts";
import type { StatisticsBatch } from "../../../ports/store/statistics.ts";
import { statisticsTables, stepCode } from "../../statistics-rows.ts";
import { numbers, texts } from "../driver/sql.ts";
import type { Runner, Value } from "../driver/database.ts";
import type { StringTable } from "../driver/string-table.ts";

/** The part of a commit to which facts belong; each part is written by a separate statement. */
const journalParts = { publishes: 0, settlements: 1, lateSettlements: 2 } as const;
export type JournalPart = keyof typeof journalParts;

const columnsOfRows = 6;

/**
 * Steps of a statement that write statistics. Parameters begin at `first`, in the order of `statisticsValues`.
 * `written` selects the facts that count: it is an expression for their zero-based indexes, or NULL for all facts.
 */
export function statisticsSteps(first: number, written: string, when: string): string {
  const at = (offset: number): string => `$${first + offset}`;
  const saved = factKinds.map((kind, index) => savedSql(kind, first + 6 + index * columnsOfRows));
  return `noted AS (
    INSERT INTO posthorn.stat_journal (writer, number, at, part, facts, written)
    SELECT ${at(0)}::bigint, ${at(1)}::bigint, ${at(2)}::bigint, ${at(3)}::smallint, ${at(4)}::bytea, ${written}
    WHERE ${at(4)}::bytea IS NOT NULL AND ${when} ON CONFLICT DO NOTHING),
  unneeded AS (
    DELETE FROM posthorn.stat_journal WHERE writer = ${at(0)}::bigint AND number <= ${at(5)}::bigint),
  ${saved.join(",\n  ")}`;
}

function savedSql(kind: FactKind, first: number): string {
  const table = statisticsTables[kind];
  const types = ["bigint", "integer", "integer", "integer", "bigint", "bytea"];
  const columns = types.map((type, index) => `$${first + index}::${type}[]`).join(", ");
  return `saved_${kind} AS (
    INSERT INTO posthorn.${table} (step, bucket, tenant, subject, writer, part, counted_to, counts)
    SELECT ${stepCode("minute")}, u.bucket, u.tenant, u.subject, $${first - offsetOf(kind)}::bigint, u.part, u.counted_to, u.counts
    FROM unnest(${columns}) AS u (bucket, tenant, subject, part, counted_to, counts)
    ORDER BY 2, 3, 4, 6
    ON CONFLICT (step, bucket, tenant, subject, writer, part) DO UPDATE
    SET counted_to = excluded.counted_to, counts = excluded.counts
    WHERE excluded.counted_to >= ${table}.counted_to)`;
}

/** Offset of the row columns of this kind, counted from the writer parameter. */
function offsetOf(kind: FactKind): number {
  return 6 + factKinds.indexOf(kind) * columnsOfRows;
}

/** Number of parameters that `statisticsSteps` takes. */
export const statisticsValuesCount = 6 + factKinds.length * columnsOfRows;

/**
 * Returns the parameters of `statisticsSteps`. `facts` are the facts of one part of the commit; `carriesRows` is false
 * for additional statements of the same commit.
 */
export function statisticsValues(
  batch: StatisticsBatch,
  more: {
    readonly strings: StringTable;
    readonly part: JournalPart;
    readonly facts: readonly Fact[];
    readonly carriesRows: boolean;
  },
): readonly Value[] {
  const { strings, part, facts, carriesRows } = more;
  return [
    batch.writer,
    batch.number,
    batch.at,
    journalParts[part],
    facts.length === 0 ? null : packFacts(facts, (name) => strings.ref(name)),
    carriesRows ? batch.writtenTo : 0,
    ...factKinds.flatMap((kind) =>
      rowColumns(carriesRows ? batch.rows.filter((row) => row.kind === kind) : [], strings),
    ),
  ];
}

function rowColumns(rows: readonly BucketRow[], strings: StringTable): readonly string[] {
  const ref = (name: string | null): number => (name === null ? 0 : strings.ref(name));
  return [
    numbers(rows.map(({ start }) => start)),
    numbers(rows.map(({ tenant }) => ref(tenant))),
    numbers(rows.map(({ subject }) => ref(subject))),
    numbers(rows.map(({ part }) => part)),
    numbers(rows.map(({ countedTo }) => countedTo)),
    byteColumn(rows.map(({ counts }) => counts)),
  ];
}

/** Bytes as hexadecimal text; the backslash is special in array literals. */
export function byteColumn(values: readonly Uint8Array[]): string {
  return texts(values.map((value) => `\\x${Buffer.from(value).toString("hex")}`));
}

/** The strings of a batch for which numbers are needed. */
export function stringsOfStatistics({ settled, published, rows }: StatisticsBatch): readonly string[] {
  const facts = [
    ...settled.filter((fact) => fact !== null),
    ...published.flatMap(({ accepted, duplicate }) => [...accepted, duplicate]),
  ];
  return [
    ...facts.flatMap(({ tenant, subject }) => [tenant, subject]),
    ...rows.flatMap(({ tenant, subject }) => [tenant, subject].filter((name) => name !== null)),
  ];
}

/** The statistics that a commit writes, and the table with the numbers of their strings. */
export interface Counting {
  readonly statistics: StatisticsBatch;
  readonly strings: StringTable;
}

const aloneSql = `WITH ${statisticsSteps(1, "NULL::integer[]", "true")} SELECT`;

/** Writes statistics of publishes, whose outcome is known, and buckets that do not belong to a settlement. */
export async function writeStatistics(
  runner: Runner,
  { statistics, ...more }: Counting & { readonly facts: readonly Fact[]; readonly carriesRows: boolean },
): Promise<void> {
  await runner.rows(aloneSql, statisticsValues(statistics, { ...more, part: "publishes" }));
}

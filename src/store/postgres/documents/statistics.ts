import { bucketsWithin, type FactKind, factKinds } from "../../../domain/statistics/facts.ts";
import type {
  StatisticsOf,
  StatisticsPage,
  StatisticsQuery,
  StatisticsStore,
  SubjectName,
} from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  type BucketCountsRow,
  completedRow,
  type JournalEntry,
  type LeftBucket,
  leftInJournal,
  statisticsTables,
  stepCode,
  toStatisticsRow,
} from "../../statistics-rows.ts";
import { StatisticsDocuments } from "../../documents/statistics.ts";
import { numbers, PostgresSql } from "../driver/sql.ts";
import type { Transaction, Value } from "../driver/database.ts";
import type { StoreState } from "../state.ts";
import { byteColumn } from "./statistics-sql.ts";

type LastRow = [at: number, part: number, countedTo: number, counts: Uint8Array];

/** Adds missing counts to the rows of a writer; returns the number of changed rows. */
async function complete(
  transaction: Transaction,
  writer: number,
  entries: readonly JournalEntry[],
): Promise<number> {
  const left = leftInJournal(entries);
  const countedTo = entries.at(-1)?.number ?? 0;
  let changed = 0;
  for (const kind of factKinds) {
    const ofKind = left.filter(({ bucket }) => bucket.kind === kind);
    const last = await lastRows(transaction, kind, writer, ofKind);
    const rows = ofKind.flatMap((each, index) => {
      const row = last.get(index) ?? null;
      const counts = completedRow(each, row);
      return counts === null ? [] : [{ ...each.bucket, part: row?.part ?? 0, counts }];
    });
    changed += rows.length;
    const table = statisticsTables[kind];
    await transaction.rows(
      `INSERT INTO posthorn.${table} (step, bucket, tenant, subject, writer, part, counted_to, counts)
       SELECT ${stepCode("minute")}, bucket, tenant, subject, $1, part, $2, counts
       FROM unnest($3::bigint[], $4::int[], $5::int[], $6::int[], $7::bytea[])
         AS u (bucket, tenant, subject, part, counts) ORDER BY 2, 3, 4, 6
       ON CONFLICT (step, bucket, tenant, subject, writer, part) DO UPDATE
       SET counted_to = excluded.counted_to, counts = excluded.counts WHERE excluded.counted_to >= ${table}.counted_to`,
      [
        writer,
        countedTo,
        numbers(rows.map(({ start }) => start)),
        numbers(rows.map(({ tenant }) => tenant)),
        numbers(rows.map(({ subject }) => subject)),
        numbers(rows.map(({ part }) => part)),
        byteColumn(rows.map(({ counts }) => counts)),
      ],
    );
  }
  return changed;
}

/** Reads the last row that the writer wrote for each bucket, keyed by the index of the bucket in `left`. */
async function lastRows(
  transaction: Transaction,
  kind: FactKind,
  writer: number,
  left: readonly LeftBucket[],
): Promise<ReadonlyMap<number, { part: number; countedTo: number; counts: Uint8Array }>> {
  const rows = await transaction.rows<LastRow>(
    `SELECT (g.place - 1)::integer, s.part, s.counted_to, s.counts
     FROM unnest($2::bigint[], $3::int[], $4::int[]) WITH ORDINALITY AS g (bucket, tenant, subject, place)
     CROSS JOIN LATERAL (SELECT * FROM posthorn.${statisticsTables[kind]} s
       WHERE s.step = ${stepCode("minute")} AND s.bucket = g.bucket AND s.tenant = g.tenant AND s.subject = g.subject
         AND s.writer = $1 ORDER BY s.counted_to DESC LIMIT 1) AS s`,
    [
      writer,
      numbers(left.map(({ bucket }) => bucket.start)),
      numbers(left.map(({ bucket }) => bucket.tenant)),
      numbers(left.map(({ bucket }) => bucket.subject)),
    ],
  );
  return new Map(rows.map(([at, part, countedTo, counts]) => [at, { part, countedTo, counts }]));
}

/** The rows that a statement reads: those of specific tenants and subjects, or all that satisfy a condition. */
interface Whose {
  /** Equals `named` if the rows are selected by name. */
  readonly where: string;
  readonly values: readonly Value[];
}

/** Reads and writes statistics over the maintenance pool. */
export class PostgresStatistics
  extends StatisticsDocuments
  implements Omit<StatisticsStore, "rowsPerCommitMax">
{
  readonly #state: StoreState;

  constructor(state: StoreState) {
    super(new PostgresSql(state.maintenance));
    this.#state = state;
  }

  /** Each statement reads only some buckets, so a query that exceeds the limit can end early. */
  async read(query: StatisticsQuery): Promise<StatisticsPage> {
    const found = await this.#whose(query.of);
    if (found === null) return { rows: [], next: null };
    const starts = bucketsWithin(query.from, query.to, query.step);
    const rows: BucketCountsRow[] = [];
    const atOnce = bucketsAtOnce(query.of);
    for (let at = 0; at < starts.length && rows.length <= query.limit; at += atOnce)
      rows.push(...(await this.#readSome(query, { ...found, starts: starts.slice(at, at + atOnce) })));
    // The last bucket may be incomplete.
    const next = rows.length > query.limit ? (rows[query.limit]?.[0] ?? null) : null;
    const shown = next === null ? rows : rows.filter(([start]) => start < next);
    const { strings } = this.#state;
    await strings.load(shown.flatMap(([, tenant, subject]) => [tenant, subject].filter((ref) => ref > 0)));
    return {
      rows: shown.map((row) => toStatisticsRow(row, strings)),
      next,
    };
  }

  #readSome(
    { kind, step, limit }: StatisticsQuery,
    of: Whose & { readonly starts: readonly number[] },
  ): Promise<readonly BucketCountsRow[]> {
    const table = `posthorn.${statisticsTables[kind]}`;
    const sql =
      of.where === named
        ? namedSql(table)
        : `SELECT p.bucket, r.tenant, r.subject, r.counts FROM unnest($1::bigint[]) AS p (bucket)
           CROSS JOIN LATERAL (SELECT s.tenant, s.subject, s.counts FROM ${table} s
             WHERE s.step = $2 AND s.bucket = p.bucket AND ${of.where} LIMIT $3) AS r ORDER BY 1`;
    return this.#state.maintenance.rows<BucketCountsRow>(sql, [
      numbers(of.starts),
      stepCode(step),
      limit + 1,
      ...of.values,
    ]);
  }

  /** Null if no row can match. */
  async #whose(of: StatisticsOf): Promise<Whose | null> {
    if (of.level === "all") return { where: "s.tenant = 0 AND s.subject = 0", values: [] };
    if (of.level === "tenants") {
      if (of.tenantIds === null) return { where: "s.tenant > 0 AND s.subject = 0", values: [] };
      const where = "s.tenant = ANY ($4::int[]) AND s.subject = 0";
      return { where, values: [numbers(await this.#refs(of.tenantIds))] };
    }
    if (of.level === "named") return this.#named(of.names);
    const tenants = of.tenantId === null ? null : await this.#refs([of.tenantId]);
    if (tenants?.length === 0) return null;
    const ofTenant = tenants === null ? "s.tenant > 0" : "s.tenant = ANY ($4::int[])";
    if (of.subjects === null)
      return { where: `${ofTenant} AND s.subject > 0`, values: tenants === null ? [] : [numbers(tenants)] };
    const subjects = numbers(await this.#refs(of.subjects));
    return tenants === null
      ? { where: `${ofTenant} AND s.subject = ANY ($4::int[])`, values: [subjects] }
      : { where: `${ofTenant} AND s.subject = ANY ($5::int[])`, values: [numbers(tenants), subjects] };
  }

  async #named(names: readonly SubjectName[]): Promise<Whose> {
    const { strings } = this.#state;
    await strings.lookUp(names.flatMap(({ tenantId, subject }) => [tenantId, subject]));
    const known = names
      .flatMap(({ tenantId, subject }) => {
        const [tenant, ref] = [strings.find(tenantId), strings.find(subject)];
        return tenant === null || ref === null ? [] : [{ tenant, ref }];
      })
      // Sorted in the order of the index.
      .toSorted((left, right) => left.tenant - right.tenant || left.ref - right.ref);
    return {
      where: named,
      values: [numbers(known.map(({ tenant }) => tenant)), numbers(known.map(({ ref }) => ref))],
    };
  }

  async #refs(names: readonly string[]): Promise<readonly number[]> {
    const { strings } = this.#state;
    await strings.lookUp(names);
    return names.flatMap((name) => strings.find(name) ?? []);
  }

  /** A journal contains the facts of a few seconds, so one writer is processed at a time. */
  async recover(writtenBefore: number): Promise<StepResult> {
    return this.#state.maintenance.transaction(async (transaction) => {
      const [silent] = await transaction.rows<[writer: number]>(
        "SELECT writer FROM posthorn.stat_journal GROUP BY writer HAVING max(at) < $1 LIMIT 1",
        [writtenBefore],
      );
      if (silent === undefined) return { changed: 0, more: false };
      const [writer] = silent;
      const rows = await transaction.rows<[number: number, facts: Uint8Array, written: string | null]>(
        `SELECT number, facts, array_to_json(written)::text FROM posthorn.stat_journal
         WHERE writer = $1 ORDER BY number, part FOR UPDATE`,
        [writer],
      );
      const entries = rows.map(([number, facts, written]): JournalEntry => {
        return { number, facts, written: written === null ? null : (JSON.parse(written) as number[]) };
      });
      const changed = await complete(transaction, writer, entries);
      // Delete only the rows that were read, because a writer that was merely inactive may have written more.
      await transaction.rows("DELETE FROM posthorn.stat_journal WHERE writer = $1 AND number <= $2", [
        writer,
        entries.at(-1)?.number ?? 0,
      ]);
      return { changed, more: true };
    });
  }
}

const named = "named";

/**
 * Uses one seek for each name in each bucket; statistics-reader.ts limits both. The planner might join instead: without
 * statistics about the newest buckets, it would read the rows of all webhooks of a day to find six names.
 */
export const namedSql = (table: string): string =>
  `SELECT p.bucket, n.tenant, n.subject, r.counts FROM unnest($1::bigint[]) AS p (bucket)
   CROSS JOIN unnest($4::int[], $5::int[]) AS n (tenant, subject)
   CROSS JOIN LATERAL (SELECT s.counts FROM ${table} s WHERE s.step = $2 AND s.bucket = p.bucket
     AND s.tenant = n.tenant AND s.subject = n.subject OFFSET 0) AS r ORDER BY 1 LIMIT $3`;

/**
 * One statement reads a day of minute buckets if each bucket has one or two rows, or an hour if each bucket may have a
 * row per webhook.
 */
function bucketsAtOnce(of: StatisticsOf): number {
  if (of.level === "all") return bucketsMax;
  if (of.level !== "tenants" || of.tenantIds === null) return bucketsMin;
  return Math.max(bucketsMin, Math.floor(bucketsMax / Math.max(1, of.tenantIds.length)));
}

const bucketsMax = 1_440;
const bucketsMin = 60;

import { bucketsWithin, type StatisticsStep } from "../../../core/statistics/buckets.ts";
import type {
  GaugeRow,
  StatisticsForgetting,
  StatisticsOf,
  StatisticsPage,
  StatisticsProgress,
  StatisticsQuery,
  StatisticsRange,
  StatisticsStore,
  SubjectName,
} from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { statisticsTables, stepCode } from "../statistics-rows.ts";
import { numbers } from "./columns.ts";
import type { Value } from "./database.ts";
import type { StoreState } from "./state.ts";
import { firstBucketSql, StatisticsUpkeep } from "./statistics-upkeep.ts";

type Row = [start: number, tenant: number, subject: number, counts: Uint8Array];

/** Whose rows a statement reads: those of named owners, or all that satisfy a condition. */
interface Whose {
  /** `named` if names are given. */
  readonly where: string;
  readonly values: readonly Value[];
}

/** Statistics, over the maintenance pool. */
export class PostgresStatistics implements Omit<StatisticsStore, "rowsPerCommitMax"> {
  readonly #state: StoreState;
  readonly #upkeep: StatisticsUpkeep;

  constructor(state: StoreState) {
    this.#state = state;
    this.#upkeep = new StatisticsUpkeep(state.aside);
  }

  /** One statement for some buckets at a time, so that a query that is too large ends early. */
  async read(query: StatisticsQuery): Promise<StatisticsPage> {
    const found = await this.#whose(query.of);
    if (found === null) return { rows: [], next: null };
    const starts = bucketsWithin(query.from, query.to, query.step);
    const rows: Row[] = [];
    const atOnce = bucketsAtOnce(query.of);
    for (let at = 0; at < starts.length && rows.length <= query.limit; at += atOnce)
      rows.push(...(await this.#readSome(query, { ...found, starts: starts.slice(at, at + atOnce) })));
    // The last bucket may be incomplete.
    const next = rows.length > query.limit ? (rows[query.limit]?.[0] ?? null) : null;
    const shown = next === null ? rows : rows.filter(([start]) => start < next);
    const { strings } = this.#state;
    await strings.load(shown.flatMap(([, tenant, subject]) => [tenant, subject].filter((ref) => ref > 0)));
    return {
      rows: shown.map(([start, tenant, subject, counts]) => ({
        start,
        tenantId: tenant === 0 ? null : strings.text(tenant),
        subject: subject === 0 ? null : strings.text(subject),
        counts,
      })),
      next,
    };
  }

  #readSome(
    { kind, step, limit }: StatisticsQuery,
    of: Whose & { readonly starts: readonly number[] },
  ): Promise<readonly Row[]> {
    const table = `posthorn.${statisticsTables[kind]}`;
    const sql =
      of.where === named
        ? namedSql(table)
        : `SELECT p.bucket, r.tenant, r.subject, r.counts FROM unnest($1::bigint[]) AS p (bucket)
           CROSS JOIN LATERAL (SELECT s.tenant, s.subject, s.counts FROM ${table} s
             WHERE s.step = $2 AND s.bucket = p.bucket AND ${of.where} LIMIT $3) AS r ORDER BY 1`;
    return this.#state.aside.rows<Row>(sql, [numbers(of.starts), stepCode(step), limit + 1, ...of.values]);
  }

  /** Null when no row can match. */
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
      // In index order.
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

  async progress(): Promise<StatisticsProgress> {
    const [row] =
      await this.#state.aside.rows<
        [at: number | null, first: number | null, hours: number | null, days: number | null]
      >(progressSql);
    const [unwrittenSince = null, countedSince = null, hoursUntil, daysUntil] = row ?? [];
    return { unwrittenSince, countedSince, hoursUntil: hoursUntil ?? 0, daysUntil: daysUntil ?? 0 };
  }

  async recover(step: { readonly writtenBefore: number }): Promise<StepResult> {
    return this.#upkeep.recover(step.writtenBefore);
  }

  async rollUp(endedBefore: number, limit: number): Promise<StepResult> {
    return this.#upkeep.rollUp(endedBefore, limit);
  }

  async forget(step: StatisticsForgetting): Promise<StepResult> {
    return this.#upkeep.forget(step);
  }

  async writeGauges({ step, start, writer, document }: GaugeRow): Promise<void> {
    await this.#state.aside.rows(
      `INSERT INTO posthorn.gauge_stats (step, bucket, writer, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (step, bucket, writer) DO UPDATE SET document = excluded.document`,
      [stepCode(step), start, writer, document],
    );
  }

  async readGauges(query: StatisticsRange & { readonly limit: number }): Promise<readonly GaugeRow[]> {
    const { step, from, to, limit } = query;
    const rows = await this.#state.aside.rows<[start: number, writer: number, document: string]>(
      `SELECT bucket, writer, document FROM posthorn.gauge_stats WHERE step = $1 AND bucket >= $2 AND bucket < $3
       ORDER BY bucket LIMIT $4`,
      [stepCode(step), from, to, limit],
    );
    return rows.map(([start, writer, document]) => ({ step, start, writer, document }));
  }
}

const named = "named";

const doneUntil = (step: StatisticsStep): string =>
  `(SELECT done_until FROM posthorn.stat_progress WHERE step = ${stepCode(step)})`;
const progressSql = `SELECT (SELECT min(at) FROM posthorn.stat_journal), ${firstBucketSql(stepCode("minute"))},
  ${doneUntil("hour")}, ${doneUntil("day")}`;

/**
 * A seek for each name in each bucket; statistics-reader.ts limits both. The planner may join instead. Without
 * statistics about the newest buckets, it would read the rows of all webhooks of a day to find six names.
 */
export const namedSql = (table: string): string =>
  `SELECT p.bucket, n.tenant, n.subject, r.counts FROM unnest($1::bigint[]) AS p (bucket)
   CROSS JOIN unnest($4::int[], $5::int[]) AS n (tenant, subject)
   CROSS JOIN LATERAL (SELECT s.counts FROM ${table} s WHERE s.step = $2 AND s.bucket = p.bucket
     AND s.tenant = n.tenant AND s.subject = n.subject OFFSET 0) AS r ORDER BY 1 LIMIT $3`;

/** A day of minutes in one statement if a bucket has one or two rows; an hour if it may have a row per webhook. */
function bucketsAtOnce(of: StatisticsOf): number {
  if (of.level === "all") return bucketsMax;
  if (of.level !== "tenants" || of.tenantIds === null) return bucketsMin;
  return Math.max(bucketsMin, Math.floor(bucketsMax / Math.max(1, of.tenantIds.length)));
}

const bucketsMax = 1_440;
const bucketsMin = 60;

import {
  type FactKind,
  factKinds,
  type StatisticsStep,
  statisticsSteps,
  stepMs,
} from "../../domain/statistics/facts.ts";
import type {
  GaugeRow,
  StatisticsForgetting,
  StatisticsProgress,
  StatisticsRange,
} from "../../ports/store/statistics.ts";
import type { StepResult } from "../../ports/store/upkeep.ts";
import {
  nextRollUp,
  type PortionRow,
  type RollUpPlace,
  rollUps,
  rollUpStart,
  statisticsTables,
  stepCode,
  summedPortion,
} from "../statistics-rows.ts";
import type { Sql } from "./sql.ts";
import { declare, rowsOf, type Statement, sql } from "./statement.ts";

/**
 * Returns a statement that deletes the oldest buckets of a step. It is written in a form for which the PostgreSQL
 * planner cannot choose a scan of the whole table.
 */
function forgetting(table: string, key: string): Statement {
  return declare({
    postgres: `DELETE FROM posthorn.${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM posthorn.${table} WHERE step = $1 AND bucket < $2 ORDER BY bucket LIMIT $3)) RETURNING 1`,
    sqlite: `DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE step = ?1 AND bucket < ?2 LIMIT ?3) RETURNING 1`,
  });
}

function statementsOf(kind: FactKind) {
  const table = `posthorn.${statisticsTables[kind]}`;
  const key = "step, bucket, tenant, subject, writer, part";
  return {
    first: sql<readonly [first: number | null]>(`SELECT min(bucket) FROM ${table} WHERE step = $1`),
    portion: sql<PortionRow>(
      `SELECT tenant, subject, counts FROM ${table} WHERE step = $1 AND bucket = $2
         AND (tenant, subject) > ($3::integer, $4::integer) ORDER BY tenant, subject LIMIT $5`,
    ),
    sum: sql(
      `INSERT INTO ${table} (${key}, counted_to, counts) VALUES ($1, $2, $3, $4, 0, 0, 0, $5)
       ON CONFLICT (${key}) DO UPDATE SET counts = excluded.counts`,
    ),
    forget: forgetting(statisticsTables[kind], key),
  };
}

const tables = { delivery: statementsOf("delivery"), event: statementsOf("event") };
const forgetGauges = forgetting("gauge_stats", "step, bucket, writer");
const saveRolledUp = sql(
  `INSERT INTO posthorn.stat_progress (step, done_until) VALUES ($1, $2)
   ON CONFLICT (step) DO UPDATE SET done_until = excluded.done_until`,
);
const untilOf = (step: StatisticsStep): string =>
  `(SELECT done_until FROM posthorn.stat_progress WHERE step = ${stepCode(step)})`;
const rolledUp = sql<readonly [step: number, until: number]>(
  `SELECT step, done_until FROM posthorn.stat_progress WHERE step > ${stepCode("minute")}`,
);
const firstMinuteOf = (kind: FactKind): string =>
  `(SELECT min(bucket) FROM posthorn.${statisticsTables[kind]} WHERE step = ${stepCode("minute")})`;
const progress = sql<
  readonly [at: number | null, hours: number | null, days: number | null, ...firsts: unknown[]]
>(
  `SELECT (SELECT min(at) FROM posthorn.stat_journal), ${untilOf("hour")}, ${untilOf("day")},
     ${factKinds.map(firstMinuteOf).join(", ")}`,
);
const saveGauge = sql(
  `INSERT INTO posthorn.gauge_stats (step, bucket, writer, document) VALUES ($1, $2, $3, $4)
   ON CONFLICT (step, bucket, writer) DO UPDATE SET document = excluded.document`,
);
const gauges = sql<readonly [start: number, writer: number, document: string]>(
  `SELECT bucket, writer, document FROM posthorn.gauge_stats WHERE step = $1 AND bucket >= $2 AND bucket < $3
   ORDER BY bucket LIMIT $4`,
);

/** Must exceed the number of rows in one bucket; otherwise a portion could not get past that bucket. */
const portionRowsMin = 200;

/** The earliest of some times; null if none is given. */
function earliest(given: readonly unknown[]): number | null {
  const times = given.filter((time) => typeof time === "number");
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * Statistics other than minute buckets, which are written by commits: gauge readings, and the upkeep of buckets.
 * Usually one process at a time does the upkeep; two concurrent processes are harmless.
 */
export class StatisticsDocuments {
  readonly #sql: Sql;
  /** Position within the bucket that is being rolled up. */
  #place: RollUpPlace = rollUpStart;
  #kind: FactKind = factKinds[0];

  constructor(maintenance: Sql) {
    this.#sql = maintenance;
  }

  async progress(): Promise<StatisticsProgress> {
    const [row = [null, null, null]] = await this.#sql.read(progress());
    const [unwrittenSince, hoursUntil, daysUntil, ...firsts] = row;
    return {
      unwrittenSince,
      countedSince: earliest(firsts),
      hoursUntil: hoursUntil ?? 0,
      daysUntil: daysUntil ?? 0,
    };
  }

  async rollUp(endedBefore: number, limit: number): Promise<StepResult> {
    const [place, kind] = [this.#place, this.#kind];
    const isLast = kind === factKinds.at(-1);
    const rowsMax = Math.max(limit, portionRowsMin);
    const added = await this.#sql.transaction(function* () {
      const untils = new Map(yield* rowsOf(rolledUp()));
      const doneUntil = (step: StatisticsStep): number | null => untils.get(stepCode(step)) ?? null;
      for (const { step, from } of rollUps) {
        const starts = yield factKinds.map((each) => tables[each].first(stepCode(from)));
        const due = nextRollUp(step, from, {
          doneUntil: doneUntil(step),
          first: earliest(starts.flat(2)),
          endedBefore,
          smallerUntil: from === "minute" ? endedBefore : (doneUntil(from) ?? 0),
        });
        if (due === null) continue;
        const { portion, sum } = tables[kind];
        const lists = yield due.parts.map((part) =>
          portion(stepCode(from), part, place.tenant, place.subject, rowsMax),
        );
        const { rows, next } = summedPortion(lists as readonly (readonly PortionRow[])[], rowsMax);
        const isDone = next === null && isLast;
        yield [
          ...rows.map((row) => sum(stepCode(step), due.start, row.tenant, row.subject, row.counts)),
          ...(isDone ? [saveRolledUp(stepCode(step), due.start + stepMs[step])] : []),
        ];
        return { rows: rows.length, next };
      }
      return null;
    });
    if (added === null) return { changed: 0, more: false };
    this.#place = added.next ?? rollUpStart;
    if (added.next === null) this.#kind = factKinds[factKinds.indexOf(kind) + 1] ?? factKinds[0];
    return { changed: added.rows, more: true };
  }

  forget({ before, limit }: StatisticsForgetting): Promise<StepResult> {
    return this.#sql.transaction(function* () {
      let changed = 0;
      for (const step of statisticsSteps)
        for (const statement of [...factKinds.map((kind) => tables[kind].forget), forgetGauges])
          if (changed < limit)
            changed += (yield* rowsOf(statement(stepCode(step), before[step], limit - changed))).length;
      return { changed, more: changed >= limit };
    });
  }

  async writeGauges({ step, start, writer, document }: GaugeRow): Promise<void> {
    await this.#sql.run([saveGauge(stepCode(step), start, writer, document)]);
  }

  async readGauges(query: StatisticsRange & { readonly limit: number }): Promise<readonly GaugeRow[]> {
    const { step, from, to, limit } = query;
    const rows = await this.#sql.read(gauges(stepCode(step), from, to, limit));
    return rows.map(([start, writer, document]) => ({ step, start, writer, document }));
  }
}

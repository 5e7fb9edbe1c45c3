import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { bucketsWithin } from "../../../core/statistics/buckets.ts";
import type { FactKind } from "../../../core/statistics/facts.ts";
import type {
  GaugeRow,
  StatisticsForgetting,
  StatisticsPage,
  StatisticsProgress,
  StatisticsQuery,
  StatisticsRange,
  StatisticsRow,
  StatisticsStore,
  SubjectName,
} from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { statisticsTables, stepCode } from "../statistics-rows.ts";
import type { StoreState } from "./state.ts";
import { StatisticsUpkeep } from "./statistics-upkeep.ts";
import { StatisticsWriter } from "./statistics-writer.ts";

type Row = [bucket: number, tenant: number, subject: number, counts: Uint8Array];

interface ReadStatements {
  /** For named tenants and subjects in several buckets: one seek for each. */
  readonly named: StatementSync;
  readonly tenants: StatementSync;
  readonly subjects: StatementSync;
  readonly subjectsOf: StatementSync;
}

/** Stored names: the subjects of each tenant; 0 means all. */
type Named = ReadonlyMap<number, readonly number[]>;

interface Reading {
  readonly query: StatisticsQuery;
  readonly named: Named | null;
}

export class SqliteStatistics implements StatisticsStore {
  readonly rowsPerCommitMax = 64;
  readonly writer: StatisticsWriter;
  readonly #state: StoreState;
  readonly #upkeep: StatisticsUpkeep;
  readonly #tables: Readonly<Record<FactKind, ReadStatements>>;
  readonly #oldest: StatementSync;
  readonly #saveGauges: StatementSync;
  readonly #gauges: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.writer = new StatisticsWriter(state);
    this.#upkeep = new StatisticsUpkeep(state, this.writer);
    const statementsOf = (table: string): ReadStatements => {
      const rows = (which: string): StatementSync =>
        connection.prepare(
          `SELECT bucket, tenant, subject, counts FROM ${table} WHERE step = ? AND bucket = ? AND ${which} LIMIT ?`,
        );
      return {
        named: connection.prepare(
          `SELECT s.bucket, s.tenant, s.subject, s.counts FROM json_each(?) b CROSS JOIN json_each(?) t
             CROSS JOIN json_each(t.value) w CROSS JOIN ${table} s
             ON s.step = ? AND s.bucket = b.value AND s.tenant = CAST(t.key AS INTEGER) AND s.subject = w.value
           LIMIT ?`,
        ),
        tenants: rows("tenant > 0 AND subject = 0"),
        subjects: rows("tenant > 0 AND subject > 0"),
        subjectsOf: rows("tenant = ? AND subject > 0"),
      };
    };
    this.#tables = {
      delivery: statementsOf(statisticsTables.delivery),
      event: statementsOf(statisticsTables.event),
    };
    this.#oldest = connection.prepare("SELECT min(at) FROM stat_journal");
    this.#saveGauges = connection.prepare("INSERT OR REPLACE INTO gauge_stats VALUES (?, ?, ?, ?)");
    this.#gauges = connection.prepare(
      "SELECT bucket, writer, document FROM gauge_stats WHERE step = ? AND bucket >= ? AND bucket < ? ORDER BY bucket LIMIT ?",
    );
  }

  /** After a crash: one process has the file, so every writer in the journal is gone. */
  recoverAll(): void {
    let more = true;
    while (more)
      more = this.#state.connection.write(() => this.#upkeep.recover(Number.MAX_SAFE_INTEGER).more);
  }

  /** Reads a few buckets at a time, so that other work runs in between. */
  async read(query: StatisticsQuery): Promise<StatisticsPage> {
    const rows: StatisticsRow[] = [];
    const starts = bucketsWithin(query.from, query.to, query.step);
    const named = this.#named(query);
    const seeksOfBucket = Math.max(1, [...(named?.values() ?? [])].flat().length);
    const atOnce = named === null ? 1 : Math.ceil(readsPerTurn / seeksOfBucket);
    let sinceRest = 0;
    for (let at = 0; at < starts.length; at += atOnce) {
      const part = starts.slice(at, at + atOnce);
      const found = this.#state.connection.read(() => this.#rowsIn(part, { query, named }));
      const beyond = found[query.limit - rows.length];
      if (beyond !== undefined) {
        rows.push(...found.filter(({ start }) => start < beyond.start));
        return { rows, next: beyond.start };
      }
      rows.push(...found);
      sinceRest += part.length * seeksOfBucket + found.length;
      if (sinceRest < readsPerTurn) continue;
      sinceRest = 0;
      await setImmediate();
    }
    return { rows, next: null };
  }

  #rowsIn(buckets: readonly number[], of: Reading): readonly StatisticsRow[] {
    const { strings } = this.#state;
    return this.#storedIn(buckets, of).map(([start, tenant, subject, counts]) => ({
      start,
      tenantId: tenant === 0 ? null : strings.text(tenant),
      subject: subject === 0 ? null : strings.text(subject),
      counts,
    }));
  }

  #storedIn(buckets: readonly number[], { query, named }: Reading): readonly Row[] {
    const { kind, step, of, limit } = query;
    const table = this.#tables[kind];
    const rows = (statement: StatementSync, ...values: (number | string)[]): Row[] =>
      statement.all(...values, limit + 1) as unknown as Row[];
    if (named !== null) {
      const names = JSON.stringify(Object.fromEntries(named));
      return rows(table.named, JSON.stringify(buckets), names, stepCode(step));
    }
    const at = [stepCode(step), buckets[0] ?? 0] as const;
    if (of.level !== "subjects") return rows(table.tenants, ...at);
    if (of.tenantId === null) {
      const wanted = of.subjects === null ? null : new Set(this.#refs(of.subjects));
      return rows(table.subjects, ...at).filter(([, , subject]) => wanted?.has(subject) ?? true);
    }
    const tenant = this.#state.strings.find(of.tenantId);
    return tenant === null ? [] : rows(table.subjectsOf, ...at, tenant);
  }

  /** The names whose rows are wanted; null if they have to be found. */
  #named({ of }: StatisticsQuery): Named | null {
    return this.#state.connection.read(() => {
      if (of.level === "all") return new Map([[0, [0]]]);
      if (of.level === "tenants")
        return of.tenantIds === null ? null : new Map(this.#refs(of.tenantIds).map((ref) => [ref, [0]]));
      if (of.level === "named") return this.#refsByTenant(of.names);
      if (of.subjects === null || of.tenantId === null) return null;
      const subjects = this.#refs(of.subjects);
      return new Map(this.#refs([of.tenantId]).map((ref) => [ref, subjects]));
    });
  }

  #refsByTenant(names: readonly SubjectName[]): Named {
    const subjectsOf = Map.groupBy(names, ({ tenantId }) => tenantId);
    return new Map(
      [...subjectsOf].flatMap(([tenantId, some]) =>
        this.#refs([tenantId]).map((ref) => [ref, this.#refs(some.map(({ subject }) => subject))]),
      ),
    );
  }

  #refs(names: readonly string[]): readonly number[] {
    return names.flatMap((name) => this.#state.strings.find(name) ?? []);
  }

  async progress(): Promise<StatisticsProgress> {
    return this.#state.connection.read(() => {
      const [unwrittenSince] = this.#oldest.get() as unknown as [number | null];
      return {
        unwrittenSince,
        countedSince: this.#upkeep.first("minute"),
        hoursUntil: this.#upkeep.doneUntil("hour") ?? 0,
        daysUntil: this.#upkeep.doneUntil("day") ?? 0,
      };
    });
  }

  async recover(step: { readonly writtenBefore: number }): Promise<StepResult> {
    return this.#state.connection.write(() => this.#upkeep.recover(step.writtenBefore));
  }

  async rollUp(endedBefore: number, limit: number): Promise<StepResult> {
    return this.#state.connection.write(() => this.#upkeep.rollUp(endedBefore, limit));
  }

  async forget(step: StatisticsForgetting): Promise<StepResult> {
    return this.#state.connection.write(() => this.#upkeep.forget(step));
  }

  async writeGauges({ step, start, writer, document }: GaugeRow): Promise<void> {
    this.#state.connection.write(() => this.#saveGauges.run(stepCode(step), start, writer, document));
  }

  async readGauges(query: StatisticsRange & { readonly limit: number }): Promise<readonly GaugeRow[]> {
    const { step, from, to, limit } = query;
    const rows = this.#state.connection.read(() => this.#gauges.all(stepCode(step), from, to, limit));
    return (rows as unknown as [number, number, string][]).map(([start, writer, document]) => {
      return { step, start, writer, document };
    });
  }
}

/** Seeks and rows per turn of the event loop: a millisecond or two. */
const readsPerTurn = 500;

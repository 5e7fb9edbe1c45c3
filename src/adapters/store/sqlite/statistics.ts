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
} from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { statisticsTables, stepCode } from "../statistics-rows.ts";
import type { StoreState } from "./state.ts";
import { StatisticsUpkeep } from "./statistics-upkeep.ts";
import { StatisticsWriter } from "./statistics-writer.ts";

type Row = [tenant: number, subject: number, counts: Uint8Array];

interface ReadStatements {
  readonly one: StatementSync;
  readonly tenants: StatementSync;
  readonly subjects: StatementSync;
  readonly subjectsOf: StatementSync;
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
          `SELECT tenant, subject, counts FROM ${table} WHERE step = ? AND bucket = ? AND ${which} LIMIT ?`,
        );
      return {
        one: rows("tenant = ? AND subject = ?"),
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

  /** After a crash: one process has the file, so that whoever is in the journal is gone. */
  recoverAll(): void {
    let more = true;
    while (more)
      more = this.#state.connection.write(
        () => this.#upkeep.recover({ writtenBefore: Number.MAX_SAFE_INTEGER }).more,
      );
  }

  /** A few buckets at a time; others take their turns in between. */
  async read(query: StatisticsQuery): Promise<StatisticsPage> {
    const rows: StatisticsRow[] = [];
    const starts = bucketsWithin(query, query.step);
    let sinceRest = 0;
    for (const start of starts) {
      const found = this.#state.connection.read(() => this.#rowsAt(query, start));
      if (rows.length + found.length > query.limit) return { rows, next: start };
      rows.push(...found);
      sinceRest += 1 + found.length;
      if (sinceRest < readsPerTurn) continue;
      sinceRest = 0;
      await setImmediate();
    }
    return { rows, next: null };
  }

  #rowsAt(query: StatisticsQuery, start: number): readonly StatisticsRow[] {
    const { strings } = this.#state;
    return this.#storedAt(query, start).map(([tenant, subject, counts]) => ({
      start,
      tenantId: tenant === 0 ? null : strings.text(tenant),
      subject: subject === 0 ? null : strings.text(subject),
      counts,
    }));
  }

  #storedAt({ kind, step, of, limit }: StatisticsQuery, start: number): readonly Row[] {
    const table = this.#tables[kind];
    const at = [stepCode(step), start];
    const rows = (statement: StatementSync, ...more: number[]): Row[] =>
      statement.all(...at, ...more, limit + 1) as unknown as Row[];
    if (of.level === "all") return rows(table.one, 0, 0);
    if (of.level === "tenants") {
      if (of.tenantIds === null) return rows(table.tenants);
      return this.#refs(of.tenantIds).flatMap((tenant) => rows(table.one, tenant, 0));
    }
    const tenant = of.tenantId === null ? null : this.#state.strings.find(of.tenantId);
    if (of.subjects === null) {
      if (of.tenantId === null) return rows(table.subjects);
      return tenant === null ? [] : rows(table.subjectsOf, tenant);
    }
    const subjects = this.#refs(of.subjects);
    if (of.tenantId === null) {
      const wanted = new Set(subjects);
      return rows(table.subjects).filter(([, subject]) => wanted.has(subject));
    }
    return tenant === null ? [] : subjects.flatMap((subject) => rows(table.one, tenant, subject));
  }

  #refs(names: readonly string[]): readonly number[] {
    return names.flatMap((name) => this.#state.strings.find(name) ?? []);
  }

  async progress(): Promise<StatisticsProgress> {
    return this.#state.connection.read(() => {
      const [unwrittenSince] = this.#oldest.get() as unknown as [number | null];
      return {
        unwrittenSince,
        hoursUntil: this.#upkeep.doneUntil("hour") ?? 0,
        daysUntil: this.#upkeep.doneUntil("day") ?? 0,
      };
    });
  }

  async recover(step: { readonly writtenBefore: number }): Promise<StepResult> {
    return this.#state.connection.write(() => this.#upkeep.recover(step));
  }

  async rollUp(step: { readonly endedBefore: number; readonly limit: number }): Promise<StepResult> {
    return this.#state.connection.write(() => this.#upkeep.rollUp(step));
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

/** Seeks and rows of one turn of the event loop: a millisecond or two. */
const readsPerTurn = 500;

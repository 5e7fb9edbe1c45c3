import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { Counts, packFacts } from "../../../domain/statistics/counts.ts";
import { bucketsWithin, type FactKind, factKinds } from "../../../domain/statistics/facts.ts";
import type { CommitResult } from "../../../ports/store/deliveries.ts";
import {
  factsOf,
  type StatisticsBatch,
  type StatisticsPage,
  type StatisticsQuery,
  type StatisticsRow,
  type StatisticsStore,
  type SubjectName,
} from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  type BucketCountsRow,
  completedRow,
  type EndedDeliveries,
  endedBuckets,
  type JournalEntry,
  leftInJournal,
  statisticsTables,
  stepCode,
  storeWriter,
  toStatisticsRow,
} from "../../statistics-rows.ts";
import { StatisticsDocuments } from "../../documents/statistics.ts";
import type { SqliteSql } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";

type LastRow = [part: number, countedTo: number, counts: Uint8Array];

interface ReadStatements {
  /** Reads the rows of named tenants and subjects in several buckets, with one seek for each name in each bucket. */
  readonly named: StatementSync;
  readonly tenants: StatementSync;
  readonly subjects: StatementSync;
  readonly subjectsOf: StatementSync;
}

/** Stored numbers of the requested subjects, by the number of their tenant; 0 means all. */
type Named = ReadonlyMap<number, readonly number[]>;

interface Reading {
  readonly query: StatisticsQuery;
  readonly named: Named | null;
}

export class SqliteStatistics extends StatisticsDocuments implements StatisticsStore {
  readonly rowsPerCommitMax = 64;
  readonly writer: StatisticsWriter;
  readonly #state: StoreState;
  readonly #last: Readonly<Record<FactKind, StatementSync>>;
  readonly #silentWriter: StatementSync;
  readonly #journal: StatementSync;
  readonly #forgetJournal: StatementSync;
  readonly #tables: Readonly<Record<FactKind, ReadStatements>>;

  constructor(state: StoreState, sql: SqliteSql) {
    super(sql);
    const { connection } = state;
    this.#state = state;
    this.writer = new StatisticsWriter(state);
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
    const lastOf = (table: string): StatementSync =>
      connection.prepare(
        `SELECT part, counted_to, counts FROM ${table} WHERE step = ${stepCode("minute")} AND bucket = ? AND tenant = ?
         AND subject = ? AND writer = ? ORDER BY counted_to DESC LIMIT 1`,
      );
    this.#last = { delivery: lastOf(statisticsTables.delivery), event: lastOf(statisticsTables.event) };
    this.#silentWriter = connection.prepare(
      "SELECT writer FROM stat_journal GROUP BY writer HAVING max(at) < ? LIMIT 1",
    );
    this.#journal = connection.prepare(
      "SELECT number, facts FROM stat_journal WHERE writer = ? ORDER BY number",
    );
    this.#forgetJournal = connection.prepare("DELETE FROM stat_journal WHERE writer = ?");
  }

  /** Runs after a crash. Only one process uses the file, so no writer in the journal exists any more. */
  recoverAll(): void {
    let more = true;
    while (more) more = this.#state.connection.write(() => this.#recover(Number.MAX_SAFE_INTEGER).more);
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
    return this.#storedIn(buckets, of).map((row) => toStatisticsRow(row, strings));
  }

  #storedIn(buckets: readonly number[], { query, named }: Reading): readonly BucketCountsRow[] {
    const { kind, step, of, limit } = query;
    const table = this.#tables[kind];
    const rows = (statement: StatementSync, ...values: (number | string)[]): BucketCountsRow[] =>
      statement.all(...values, limit + 1) as unknown as BucketCountsRow[];
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

  /** The names whose rows are requested; null if they have to be determined. */
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

  async recover(writtenBefore: number): Promise<StepResult> {
    return this.#state.connection.write(() => this.#recover(writtenBefore));
  }

  /** A journal contains the facts of a few seconds, so one writer is processed at a time. */
  #recover(writtenBefore: number): StepResult {
    const found = this.#silentWriter.get(writtenBefore) as unknown as [writer: number] | undefined;
    if (found === undefined) return { changed: 0, more: false };
    const [writer] = found;
    const entries = (this.#journal.all(writer) as unknown as [number, Uint8Array][]).map(
      ([number, facts]): JournalEntry => ({ number, facts }),
    );
    const countedTo = entries.at(-1)?.number ?? 0;
    let changed = 0;
    for (const left of leftInJournal(entries)) {
      const { kind, start, tenant, subject } = left.bucket;
      const last = this.#last[kind].get(start, tenant, subject, writer) as unknown as LastRow | undefined;
      const counts = completedRow(left, last === undefined ? null : { countedTo: last[1], counts: last[2] });
      if (counts === null) continue;
      this.writer.save({ ...left.bucket, writer, part: last?.[0] ?? 0, countedTo, counts });
      changed += 1;
    }
    this.#forgetJournal.run(writer);
    return { changed, more: true };
  }
}

/** Number of seeks and rows per turn of the event loop, which take one or two milliseconds. */
const readsPerTurn = 500;

/** A bucket of minute statistics as stored here. */
export interface MinuteRow {
  readonly kind: FactKind;
  readonly start: number;
  readonly tenant: number;
  readonly subject: number;
  readonly writer: number;
  readonly part: number;
  readonly countedTo: number;
  readonly counts: Uint8Array;
}

/** Writes statistics in the transaction of the changes that they count. Only inside a write. */
export class StatisticsWriter {
  readonly #state: StoreState;
  readonly #save: Readonly<Record<FactKind, StatementSync>>;
  readonly #note: StatementSync;
  readonly #forget: StatementSync;
  readonly #ended: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    const [delivery, event] = factKinds.map((kind) =>
      connection.prepare(
        `INSERT INTO ${statisticsTables[kind]} VALUES (${stepCode("minute")}, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET counted_to = excluded.counted_to, counts = excluded.counts
         WHERE excluded.counted_to >= counted_to`,
      ),
    ) as [StatementSync, StatementSync];
    this.#save = { delivery, event };
    this.#note = connection.prepare("INSERT INTO stat_journal VALUES (?, ?, ?, ?)");
    this.#ended = connection.prepare(
      `SELECT counts FROM ${statisticsTables.delivery} WHERE step = ${stepCode("minute")} AND bucket = ? AND tenant = ?
       AND subject = ? AND writer = ${storeWriter} AND part = 0`,
    );
    this.#forget = connection.prepare("DELETE FROM stat_journal WHERE writer = ? AND number <= ?");
  }

  /**
   * Adds the committed facts of the batch to the journal, and removes those that the rows of the batch have counted.
   */
  write(batch: StatisticsBatch, result: CommitResult): void {
    const { writer } = batch;
    for (const row of batch.rows) {
      const names = { tenant: this.#ref(row.tenant), subject: this.#ref(row.subject) };
      this.save({ ...row, ...names, writer });
    }
    const facts = factsOf(batch, result);
    if (facts.length > 0) this.#note.run(writer, batch.number, batch.at, packFacts(facts, this.#numberOf));
    this.#forget.run(writer, batch.writtenTo);
  }

  /** Counts deliveries that this transaction ends without a settlement. */
  writeEnded(ended: readonly EndedDeliveries[], at: number): void {
    for (const { bucket, counts } of endedBuckets(ended, at)) {
      const { start, tenant, subject } = bucket;
      const row = this.#ended.get(start, tenant, subject) as unknown as [counts: Uint8Array] | undefined;
      if (row !== undefined) counts.addAll(Counts.unpack(row[0]));
      this.save({ ...bucket, writer: storeWriter, part: 0, countedTo: 0, counts: counts.pack() });
    }
  }

  save(row: MinuteRow): void {
    const { start, tenant, subject, writer, part, countedTo, counts } = row;
    this.#save[row.kind].run(start, tenant, subject, writer, part, countedTo, counts);
  }

  readonly #numberOf = (name: string): number => this.#state.strings.ensure(name);

  #ref(name: string | null): number {
    return name === null ? 0 : this.#state.strings.ensure(name);
  }
}

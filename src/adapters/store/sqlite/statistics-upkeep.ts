import type { StatementSync } from "node:sqlite";
import { stepMs, type StatisticsStep, statisticsSteps } from "../../../core/statistics/buckets.ts";
import { type FactKind, factKinds } from "../../../core/statistics/facts.ts";
import type { StatisticsForgetting } from "../../../ports/store/statistics.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  completedRow,
  type JournalEntry,
  leftInJournal,
  nextRollUp,
  type PortionRow,
  rollUps,
  type RollUpPlace,
  rollUpStart,
  statisticsTables,
  stepCode,
  summedPortion,
} from "../statistics-rows.ts";
import type { StoreState } from "./state.ts";
import type { StatisticsWriter } from "./statistics-writer.ts";

type LastRow = [part: number, countedTo: number, counts: Uint8Array];

interface TableStatements {
  readonly last: StatementSync;
  readonly portion: StatementSync;
  readonly sum: StatementSync;
  readonly first: StatementSync;
  readonly forget: StatementSync;
}

/** Upkeep of statistics. Only inside a write. */
export class StatisticsUpkeep {
  readonly #writer: StatisticsWriter;
  readonly #tables: Readonly<Record<FactKind, TableStatements>>;
  readonly #silentWriter: StatementSync;
  readonly #journal: StatementSync;
  readonly #forgetJournal: StatementSync;
  readonly #doneUntil: StatementSync;
  readonly #saveDone: StatementSync;
  readonly #forgetGauges: StatementSync;
  /** Position within the bucket that is being rolled up. */
  #place: RollUpPlace = rollUpStart;
  #kind: FactKind = "delivery";

  constructor(state: StoreState, writer: StatisticsWriter) {
    const { connection } = state;
    this.#writer = writer;
    const statementsOf = (table: string): TableStatements => ({
      last: connection.prepare(
        `SELECT part, counted_to, counts FROM ${table} WHERE step = ${stepCode("minute")} AND bucket = ? AND tenant = ?
         AND subject = ? AND writer = ? ORDER BY counted_to DESC LIMIT 1`,
      ),
      portion: connection.prepare(
        `SELECT tenant, subject, counts FROM ${table} WHERE step = ? AND bucket = ? AND (tenant, subject) > (?, ?)
         ORDER BY tenant, subject LIMIT ?`,
      ),
      sum: connection.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?, ?, 0, 0, 0, ?)`),
      first: connection.prepare(`SELECT min(bucket) FROM ${table} WHERE step = ?`),
      forget: connection.prepare(
        `DELETE FROM ${table} WHERE (step, bucket, tenant, subject, writer, part) IN
           (SELECT step, bucket, tenant, subject, writer, part FROM ${table} WHERE step = ? AND bucket < ? LIMIT ?)`,
      ),
    });
    this.#tables = {
      delivery: statementsOf(statisticsTables.delivery),
      event: statementsOf(statisticsTables.event),
    };
    this.#silentWriter = connection.prepare(
      "SELECT writer FROM stat_journal GROUP BY writer HAVING max(at) < ? LIMIT 1",
    );
    this.#journal = connection.prepare(
      "SELECT number, facts FROM stat_journal WHERE writer = ? ORDER BY number",
    );
    this.#forgetJournal = connection.prepare("DELETE FROM stat_journal WHERE writer = ?");
    this.#doneUntil = connection.prepare("SELECT done_until FROM stat_progress WHERE step = ?");
    this.#saveDone = connection.prepare("INSERT OR REPLACE INTO stat_progress VALUES (?, ?)");
    this.#forgetGauges = connection.prepare(
      `DELETE FROM gauge_stats WHERE (step, bucket, writer) IN
         (SELECT step, bucket, writer FROM gauge_stats WHERE step = ? AND bucket < ? LIMIT ?)`,
    );
  }

  /** A journal holds the facts of a few seconds, so one writer is one portion. */
  recover(writtenBefore: number): StepResult {
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
      const last = this.#tables[kind].last.get(start, tenant, subject, writer) as unknown as
        | LastRow
        | undefined;
      const counts = completedRow(left, last === undefined ? null : { countedTo: last[1], counts: last[2] });
      if (counts === null) continue;
      this.#writer.save({ ...left.bucket, writer, part: last?.[0] ?? 0, countedTo, counts });
      changed += 1;
    }
    this.#forgetJournal.run(writer);
    return { changed, more: true };
  }

  rollUp(endedBefore: number, limit: number): StepResult {
    for (const each of rollUps) {
      const due = nextRollUp(each.step, each.from, {
        doneUntil: this.doneUntil(each.step),
        first: this.first(each.from),
        endedBefore,
        smallerUntil: each.from === "minute" ? endedBefore : (this.doneUntil(each.from) ?? 0),
      });
      if (due !== null) return { changed: this.#addUp(each, { ...due, limit }), more: true };
    }
    return { changed: 0, more: false };
  }

  #addUp(
    { step, from }: (typeof rollUps)[number],
    due: { readonly start: number; readonly parts: readonly number[]; readonly limit: number },
  ): number {
    const { portion, sum } = this.#tables[this.#kind];
    const { tenant, subject } = this.#place;
    const limit = Math.max(due.limit, portionRowsMin);
    const lists = due.parts.map(
      (part) => portion.all(stepCode(from), part, tenant, subject, limit) as unknown as PortionRow[],
    );
    const { rows, next } = summedPortion(lists, limit);
    for (const row of rows) sum.run(stepCode(step), due.start, row.tenant, row.subject, row.counts);
    this.#place = next ?? rollUpStart;
    if (next !== null) return rows.length;
    const isLast = this.#kind === factKinds.at(-1);
    this.#kind = isLast ? "delivery" : "event";
    if (isLast) this.#saveDone.run(stepCode(step), due.start + stepMs[step]);
    return rows.length;
  }

  doneUntil(step: StatisticsStep): number | null {
    const row = this.#doneUntil.get(stepCode(step)) as unknown as [doneUntil: number] | undefined;
    return row?.[0] ?? null;
  }

  /** The start of the oldest bucket of a step; null when there is none. */
  first(step: StatisticsStep): number | null {
    const starts = factKinds.flatMap(
      (kind) => (this.#tables[kind].first.get(stepCode(step)) as unknown as [number | null])[0] ?? [],
    );
    return starts.length === 0 ? null : Math.min(...starts);
  }

  forget({ before, limit }: StatisticsForgetting): StepResult {
    let changed = 0;
    for (const step of statisticsSteps) {
      const forgetting = [...factKinds.map((kind) => this.#tables[kind].forget), this.#forgetGauges];
      for (const statement of forgetting)
        if (changed < limit)
          changed += Number(statement.run(stepCode(step), before[step], limit - changed).changes);
    }
    return { changed, more: changed >= limit };
  }
}

/** More than the rows of one bucket; otherwise a portion could not pass it. */
const portionRowsMin = 200;

import type { StatementSync } from "node:sqlite";
import { Counts, packFacts } from "../../../domain/statistics/counts.ts";
import { type FactKind, factKinds } from "../../../domain/statistics/facts.ts";
import type { CommitResult } from "../../../ports/store/deliveries.ts";
import { factsOf, type StatisticsBatch } from "../../../ports/store/statistics.ts";
import {
  endedBuckets,
  type EndedDeliveries,
  statisticsTables,
  stepCode,
  storeWriter,
} from "../../statistics-rows.ts";
import type { StoreState } from "../state.ts";

/** A bucket of minutes as stored here. */
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

/** Writes statistics in the transaction of what they count. Only inside a write. */
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

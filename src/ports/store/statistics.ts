import type { StatisticsStep } from "../../core/statistics/buckets.ts";
import type { Fact, FactKind } from "../../core/statistics/facts.ts";
import type { BucketRow } from "../../core/statistics/open-buckets.ts";
import type { CommitResult, PublishResult } from "./deliveries.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Statistics by minute, hour and day, exact to the settlement.
 *
 * A process counts in memory (core/statistics/open-buckets.ts) and writes its buckets now and then with commits that are
 * made anyway. What it counted and has not written yet stands in a journal, written in the same transaction as the
 * deliveries and events it tells of. Promises:
 * - a settlement and its fact are stored together or not at all; one that was refused leaves none;
 * - what the store ends by itself is counted in the transaction that ends it, where the command says so: deliveries that
 *   expire or are cancelled or discarded;
 * - a row replaces the one that the same writer wrote before, unless that has counted further;
 * - `recover` adds to the rows of a writer that is gone what its journal has beyond them, once;
 * - `rollUp` and `forget` may be repeated and interrupted; each call does a bounded portion.
 */
export interface StatisticsStore {
  /** Rows that fit into one commit without slowing it down. */
  readonly rowsPerCommitMax: number;
  /** Counts of several writers stand in rows of their own: the reader adds them up. */
  read(query: StatisticsQuery): Promise<StatisticsPage>;
  /** How far everything is written, and how far hours and days are added up. */
  progress(): Promise<StatisticsProgress>;
  /** Adds what writers left in the journal that were not heard of since a time, Unix milliseconds. */
  recover(step: { readonly writtenBefore: number; readonly limit: number }): Promise<StepResult>;
  /** Adds up hours of minutes, then days of hours, that ended before a time. */
  rollUp(step: { readonly endedBefore: number; readonly limit: number }): Promise<StepResult>;
  /** Removes buckets that began before a time, by step. */
  forget(step: StatisticsForgetting): Promise<StepResult>;
  /** Writes readings of one process, in place of those that it wrote for the same bucket before. */
  writeGauges(row: GaugeRow): Promise<void>;
  /** Readings of all processes, oldest first. */
  readGauges(query: StatisticsRange & { readonly limit: number }): Promise<readonly GaugeRow[]>;
}

/** What a commit carries for statistics. */
export interface StatisticsBatch {
  /** Of this process; no other one has it, nor had it. */
  readonly writer: number;
  /** Grows with each batch of the writer. */
  readonly number: number;
  /** When it was composed, Unix milliseconds. */
  readonly at: number;
  /** What is counted of each settlement that is written; null where nothing is. */
  readonly settled: readonly (Fact | null)[];
  /** What is counted of each publish. */
  readonly published: readonly PublishedCount[];
  readonly rows: readonly BucketRow[];
  /** Every row of this writer, these included, has counted up to this commit: its journal so far is not needed. */
  readonly writtenTo: number;
  /** Before these rows: the first commit that some row had not counted, and since when. For the writer alone. */
  readonly unwritten: { readonly from: number; readonly since: number };
}

/** What a publish counts when it is stored, and when it was there already. */
export interface PublishedCount {
  readonly accepted: readonly Fact[];
  readonly duplicate: Fact;
}

/** The facts of a batch that came true. */
export function factsOf(
  { settled, published }: Pick<StatisticsBatch, "settled" | "published">,
  result: Pick<CommitResult, "settled"> & { readonly publishes: readonly Pick<PublishResult, "kind">[] },
): readonly Fact[] {
  const facts: Fact[] = [];
  for (const [index, count] of published.entries()) {
    const kind = result.publishes[index]?.kind;
    if (kind === "accepted") facts.push(...count.accepted);
    if (kind === "duplicate") facts.push(count.duplicate);
  }
  for (const [index, fact] of settled.entries())
    if (fact !== null && result.settled[index]?.kind === "written") facts.push(fact);
  return facts;
}

/** Buckets that begin in the range; `to` is left out. Unix milliseconds. */
export interface StatisticsRange {
  readonly step: StatisticsStep;
  readonly from: number;
  readonly to: number;
}

/**
 * Whose counts: those of everything, of tenants, or of subjects (webhooks, or types of events); null is each of them. Only
 * a query with a tenant sees types of that tenant; ids of webhooks are their own.
 */
export type StatisticsOf =
  | { readonly level: "all" }
  | { readonly level: "tenants"; readonly tenantIds: readonly string[] | null }
  | {
      readonly level: "subjects";
      readonly tenantId: string | null;
      readonly subjects: readonly string[] | null;
    }
  | { readonly level: "named"; readonly names: readonly SubjectName[] };

/** A subject whose tenant is known, so that its rows are found without a look at others. */
export interface SubjectName {
  readonly tenantId: string;
  readonly subject: string;
}

/** A question about one kind of buckets. */
export interface StatisticsQuery extends StatisticsRange {
  readonly kind: FactKind;
  readonly of: StatisticsOf;
  /** Rows at most. */
  readonly limit: number;
}

/** Rows in the order of time. When there are more than the limit, those left out are of later buckets. */
export interface StatisticsPage {
  readonly rows: readonly StatisticsRow[];
  /** Where the buckets begin that were left out; null when none was. */
  readonly next: number | null;
}

/** What one writer counted in one bucket. */
export interface StatisticsRow {
  /** Where its bucket begins, Unix milliseconds. */
  readonly start: number;
  readonly tenantId: string | null;
  readonly subject: string | null;
  /** As `Counts.pack` writes it. */
  readonly counts: Uint8Array;
}

/** How far statistics are. */
export interface StatisticsProgress {
  /** When the oldest fact was written that stands in no row yet; null when all of them do. Unix milliseconds. */
  readonly unwrittenSince: number | null;
  /** Where the oldest minute begins that is kept; null when there is none. Unix milliseconds. */
  readonly countedSince: number | null;
  /** Hours and days before this are added up; Unix milliseconds. */
  readonly hoursUntil: number;
  readonly daysUntil: number;
}

/** Unix milliseconds. */
export interface StatisticsForgetting {
  readonly before: Readonly<Record<StatisticsStep, number>>;
  readonly limit: number;
}

/** Readings of one process in one bucket. */
export interface GaugeRow {
  readonly step: StatisticsStep;
  readonly start: number;
  readonly writer: number;
  /** Opaque JSON. */
  readonly document: string;
}

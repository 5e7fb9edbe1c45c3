import type { Fact, FactKind, StatisticsStep } from "../../domain/statistics/facts.ts";
import type { BucketRow } from "../../domain/statistics/open-buckets.ts";
import type { CommitResult, PublishResult } from "./deliveries.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Statistics by minute, hour and day, exact to the settlement.
 *
 * A process counts in memory (domain/statistics/open-buckets.ts) and periodically writes its buckets as part of commits
 * that are made anyway. Counts that have not been written yet are in a journal, which is written in the same
 * transaction as the deliveries and events that it describes. Promises:
 * - a settlement and its fact are stored together or not at all; a refused settlement does not leave a fact;
 * - deliveries that the store itself expires, cancels or discards are counted in the same transaction, if the command
 *   requests it;
 * - a row replaces the previous row of the same writer, unless that row includes later commits;
 * - `recover` adds the journal of a dead writer to its rows, once;
 * - `rollUp` and `forget` may be repeated and interrupted; each call does a limited amount of work.
 */
export interface StatisticsStore {
  /** Number of rows that fit into one commit without slowing it down. */
  readonly rowsPerCommitMax: number;
  /** Reads counts. Each writer has its own rows, which the reader adds up. */
  read(query: StatisticsQuery): Promise<StatisticsPage>;
  /**
   * Reads how complete the statistics are: the time up to which rows are written, and the time up to which hours and
   * days are rolled up.
   */
  progress(): Promise<StatisticsProgress>;
  /** Adds the journals of writers that have not written since the given time (Unix milliseconds) to their rows. */
  recover(writtenBefore: number): Promise<StepResult>;
  /** Creates the hours and days that ended before a given time: hours from minutes, and days from hours. */
  rollUp(endedBefore: number, limit: number): Promise<StepResult>;
  /** Removes buckets that began before a given time. Each bucket size has its own time. */
  forget(step: StatisticsForgetting): Promise<StepResult>;
  /** Writes gauge readings of one process. They replace its earlier readings for the same bucket. */
  writeGauges(row: GaugeRow): Promise<void>;
  /** Readings of all processes, oldest first. */
  readGauges(query: StatisticsRange & { readonly limit: number }): Promise<readonly GaugeRow[]>;
}

/** Statistics in a commit. */
export interface StatisticsBatch {
  /** Number of this writer. Numbers are never reused. */
  readonly writer: number;
  /** Increases with each batch that the writer creates. */
  readonly number: number;
  /** When the batch was composed, Unix milliseconds. */
  readonly at: number;
  /** One entry per settlement that is written; null if the settlement is not counted. */
  readonly settled: readonly (Fact | null)[];
  /** One entry per publish. */
  readonly published: readonly PublishedCount[];
  readonly rows: readonly BucketRow[];
  /**
   * All rows of this writer, including the rows of this commit, contain the counts up to this commit. The earlier
   * journal is not needed any more.
   */
  readonly writtenTo: number;
  /**
   * The state before these rows were written: the first commit that at least one row did not include, and the time of
   * that commit. Used by the writer only.
   */
  readonly unwritten: { readonly from: number; readonly since: number };
}

/** What to count if a publish is stored, and what to count if the publish is a duplicate. */
export interface PublishedCount {
  readonly accepted: readonly Fact[];
  readonly duplicate: Fact;
}

/** The facts of those writes of a batch that succeeded. */
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

/** Buckets that begin in the range; `to` is exclusive. Unix milliseconds. */
export interface StatisticsRange {
  readonly step: StatisticsStep;
  readonly from: number;
  readonly to: number;
}

/**
 * Selects the counts to read: totals, tenants, or subjects (webhooks or event types). Null means all of them. Event
 * types are visible only together with their tenant; webhook IDs are globally unique.
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

/** A subject with its tenant, so that its rows are found without a scan. */
export interface SubjectName {
  readonly tenantId: string;
  readonly subject: string;
}

/** A query for one kind of bucket. */
export interface StatisticsQuery extends StatisticsRange {
  readonly kind: FactKind;
  readonly of: StatisticsOf;
  /** Maximum number of rows. */
  readonly limit: number;
}

/** Rows in time order. If there are more than the limit, later buckets are omitted. */
export interface StatisticsPage {
  readonly rows: readonly StatisticsRow[];
  /** Start of the first omitted bucket; null if there is none. */
  readonly next: number | null;
}

/** The counts of one writer in one bucket. */
export interface StatisticsRow {
  /** Start of the bucket, Unix milliseconds. */
  readonly start: number;
  readonly tenantId: string | null;
  readonly subject: string | null;
  /** Encoded in the format of `Counts.pack`. */
  readonly counts: Uint8Array;
}

/** How complete statistics are. */
export interface StatisticsProgress {
  /** Time of the oldest fact that no row contains yet; null if there is none. Unix milliseconds. */
  readonly unwrittenSince: number | null;
  /** Start of the oldest stored minute; null if there is none. Unix milliseconds. */
  readonly countedSince: number | null;
  /** Hours and days before this time are rolled up; Unix milliseconds. */
  readonly hoursUntil: number;
  readonly daysUntil: number;
}

/** Unix milliseconds. */
export interface StatisticsForgetting {
  readonly before: Readonly<Record<StatisticsStep, number>>;
  readonly limit: number;
}

/** Gauge readings of one process in one bucket. */
export interface GaugeRow {
  readonly step: StatisticsStep;
  readonly start: number;
  readonly writer: number;
  /** Opaque JSON. */
  readonly document: string;
}

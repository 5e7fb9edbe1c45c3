import { Counts, unpackFacts } from "../domain/statistics/counts.ts";
import {
  addFact,
  bucketAt,
  type Fact,
  type FactKind,
  type StatisticsStep,
  statisticsSteps,
  stepMs,
} from "../domain/statistics/facts.ts";
import type { StatisticsRow } from "../ports/store/statistics.ts";

/** The table of each kind of bucket. */
export const statisticsTables: Readonly<Record<FactKind, string>> = {
  delivery: "delivery_stats",
  event: "event_stats",
};

export function stepCode(step: StatisticsStep): number {
  return statisticsSteps.indexOf(step);
}

/** The stored names of a bucket, as string numbers; 0 means all. */
interface StoredBucket {
  readonly kind: FactKind;
  readonly start: number;
  readonly tenant: number;
  readonly subject: number;
}

type BucketNames = Pick<Fact<number>, "kind" | "at" | "tenant" | "subject">;

export interface JournalEntry {
  readonly number: number;
  readonly facts: Uint8Array;
  /** Indexes of the facts that count; null if all count. */
  readonly written?: readonly number[] | null;
}

/** Facts that a dead writer did not write, by bucket. */
export function leftInJournal(entries: readonly JournalEntry[]): readonly LeftBucket[] {
  const left = new Map<string, LeftBucket>();
  for (const { number, facts, written = null } of entries) {
    const all = unpackFacts(facts);
    const counted = written === null ? all : written.flatMap((at) => all[at] ?? []);
    for (const fact of counted) for (const bucket of bucketsOf(fact)) noteFact(left, bucket, number, fact);
  }
  return [...left.values()];
}

export interface LeftBucket {
  readonly bucket: StoredBucket;
  readonly facts: { readonly number: number; readonly fact: Fact<number> }[];
}

function noteFact(
  left: Map<string, LeftBucket>,
  bucket: StoredBucket,
  number: number,
  fact: Fact<number>,
): void {
  const name = `${bucket.kind} ${bucket.start} ${bucket.tenant} ${bucket.subject}`;
  const known = left.get(name);
  if (known === undefined) left.set(name, { bucket, facts: [{ number, fact }] });
  else known.facts.push({ number, fact });
}

/** The buckets to which a fact belongs: those of its subject, of its tenant, and of everything. */
function bucketsOf({ kind, at, tenant, subject }: BucketNames): readonly StoredBucket[] {
  const common = { kind, start: bucketAt(at, "minute") };
  return [
    { ...common, tenant, subject },
    { ...common, tenant, subject: 0 },
    { ...common, tenant: 0, subject: 0 },
  ];
}

/** The last row that a writer wrote for a bucket, with its uncounted facts added. Null if all facts were counted. */
export function completedRow(
  { facts }: LeftBucket,
  row: { readonly countedTo: number; readonly counts: Uint8Array } | null,
): Uint8Array | null {
  const missing = facts.filter(({ number }) => number > (row?.countedTo ?? 0));
  if (missing.length === 0) return null;
  const counts = row === null ? new Counts() : Counts.unpack(row.counts);
  for (const { fact } of missing) addFact(counts, fact);
  return counts.pack();
}

/** A row of one of the smaller buckets that are rolled up. */
export type PortionRow = [tenant: number, subject: number, counts: Uint8Array];

interface SummedRow {
  readonly tenant: number;
  readonly subject: number;
  readonly counts: Uint8Array;
}

/** The last tenant and subject that were added to an unfinished larger bucket. */
export interface RollUpPlace {
  readonly tenant: number;
  readonly subject: number;
}

export const rollUpStart: RollUpPlace = { tenant: -1, subject: -1 };

/**
 * Computes one portion of a larger bucket. For each smaller bucket, takes the rows after a place, in the order of
 * tenants and subjects and limited to `limit` rows. Sums the rows up to the place that all lists have reached; `next`
 * is null if the larger bucket is complete.
 */
export function summedPortion(
  lists: readonly (readonly PortionRow[])[],
  limit: number,
): { readonly rows: readonly SummedRow[]; readonly next: RollUpPlace | null } {
  const ends = lists.filter((list) => list.length >= limit).map((list) => list.at(-1) ?? [0, 0]);
  // A list that reached the limit may be incomplete. Process rows only up to the smallest last key of such lists; the
  // next batch handles the rest.
  const [end] = ends.toSorted(([a, b], [c, d]) => a - c || b - d);
  const sums = new Map<string, { tenant: number; subject: number; counts: Counts }>();
  for (const [tenant, subject, counts] of lists.flat()) {
    if (end !== undefined && (tenant > end[0] || (tenant === end[0] && subject >= end[1]))) continue;
    const name = `${tenant} ${subject}`;
    const sum = sums.get(name) ?? { tenant, subject, counts: new Counts() };
    sum.counts.addAll(Counts.unpack(counts));
    sums.set(name, sum);
  }
  const rows = [...sums.values()].toSorted((a, b) => a.tenant - b.tenant || a.subject - b.subject);
  const last = rows.at(-1);
  return {
    rows: rows.map(({ tenant, subject, counts }) => ({ tenant, subject, counts: counts.pack() })),
    next: end === undefined || last === undefined ? null : { tenant: last.tenant, subject: last.subject },
  };
}

/** Each step, with the smaller step from which it is rolled up. */
export const rollUps: readonly { readonly step: StatisticsStep; readonly from: StatisticsStep }[] = [
  { step: "hour", from: "minute" },
  { step: "day", from: "hour" },
];

/**
 * The next bucket to roll up; null if it has not ended or its smaller buckets are not complete. `doneUntil` is null
 * before the first roll-up.
 */
export function nextRollUp(
  step: StatisticsStep,
  from: StatisticsStep,
  facts: {
    readonly doneUntil: number | null;
    /** The start of the oldest smaller bucket. */
    readonly first: number | null;
    readonly endedBefore: number;
    /** Smaller buckets are complete up to this time. */
    readonly smallerUntil: number;
  },
): { readonly start: number; readonly parts: readonly number[] } | null {
  const { doneUntil, first, endedBefore, smallerUntil } = facts;
  if (first === null) return null;
  const start = Math.max(doneUntil ?? 0, bucketAt(first, step));
  const end = start + stepMs[step];
  if (end > Math.min(endedBefore, smallerUntil)) return null;
  const count = stepMs[step] / stepMs[from];
  return { start, parts: Array.from({ length: count }, (_, index) => start + index * stepMs[from]) };
}

/**
 * Deliveries that the store itself ended: expired, cancelled or discarded. No process counts them in memory, so the
 * store adds them to separate rows in the transaction that ends them; a crash keeps or undoes both.
 */
export interface EndedDeliveries {
  readonly tenant: number;
  readonly webhook: number;
  /** See `endingKey`. */
  readonly key: number;
  readonly count: number;
}

/** The writer number of minutes counted by the store; processes have larger numbers (`writerOf`). */
export const storeWriter = 0;

interface EndedBucket {
  readonly bucket: StoredBucket;
  readonly counts: Counts;
}

/** The counts to add to each bucket, in the order in which the rows are locked. */
export function endedBuckets(ended: readonly EndedDeliveries[], at: number): readonly EndedBucket[] {
  const found = new Map<string, EndedBucket>();
  for (const { tenant, webhook: subject, key, count } of ended) {
    for (const bucket of bucketsOf({ kind: "delivery", at, tenant, subject })) {
      const name = `${bucket.tenant} ${bucket.subject}`;
      const known = found.get(name) ?? { bucket, counts: new Counts() };
      known.counts.add(key, count);
      found.set(name, known);
    }
  }
  return [...found.values()].toSorted(
    ({ bucket: left }, { bucket: right }) => left.tenant - right.tenant || left.subject - right.subject,
  );
}

/** A row of a bucket as both stores select it. */
export type BucketCountsRow = [start: number, tenant: number, subject: number, counts: Uint8Array];

/** Resolves the string numbers of names; 0 means all. */
export function toStatisticsRow(
  [start, tenant, subject, counts]: BucketCountsRow,
  strings: { text(ref: number): string },
): StatisticsRow {
  const nameOf = (ref: number): string | null => (ref === 0 ? null : strings.text(ref));
  return { start, tenantId: nameOf(tenant), subject: nameOf(subject), counts };
}

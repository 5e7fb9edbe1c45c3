import { type Ending, endings } from "../delivery-state.ts";
import { failureCategories, type FailureCategory, type Outcome } from "../outcome.ts";

/** Time steps of statistics, in Unix time. Stored data depends on the order. */
export const statisticsSteps = ["minute", "hour", "day"] as const;
export type StatisticsStep = (typeof statisticsSteps)[number];

export const stepMs: Readonly<Record<StatisticsStep, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The start of the bucket that contains a time. */
export function bucketAt(time: number, step: StatisticsStep): number {
  return Math.floor(time / stepMs[step]) * stepMs[step];
}

/** The starts of all buckets in a range; `to` is exclusive. */
export function bucketsWithin(from: number, to: number, step: StatisticsStep): readonly number[] {
  const starts: number[] = [];
  for (let start = bucketAt(from, step); start < to; start += stepMs[step]) starts.push(start);
  return starts;
}

/** Default retention of buckets: 48 hours, 35 days, 800 days. */
export const statisticsKeptMsDefault: Readonly<Record<StatisticsStep, number>> = {
  minute: 48 * stepMs.hour,
  hour: 35 * stepMs.day,
  day: 800 * stepMs.day,
};

/**
 * Keys of counts as stored numbers: a number never changes its meaning, and a new one needs no migration. Deliveries
 * and events have separate tables, so their numbers may coincide.
 */
export const keys = {
  accepted: 1,
  transient: 2,
  terminal: 3,
  /** Whether the receiver processed the request is unknown; counted in addition to the outcome. */
  unknown: 4,
  success: 5,
  exhausted: 6,
  cancelled: 7,
  skipped: 8,
  /** Discarded dead letters; each was also counted as `exhausted` before. */
  discarded: 9,
  /** For deliveries, bytes; for events, deliveries. */
  amount: 10,
  published: 11,
  duplicate: 12,
  unmatched: 13,
  /** Plus the first digit of the status; 0 without a response. */
  statusClass: 20,
  /** Plus the index in `failureCategories`, which is only extended at the end. */
  category: 40,
  /** Codes beyond the most frequent ones of a bucket. */
  statusOther: 999,
  /** Plus the status. */
  status: 1_000,
  statusEnd: 2_000,
  /** Plus the class in a distribution (`distribution.ts`), milliseconds. */
  duration: 2_000,
  lag: 3_000,
  total: 4_000,
} as const;

/** Key range reserved for one distribution. */
export const distributionSpan = 1_000;

export type DistributionName = "duration" | "lag" | "total";

export function isStatusKey(key: number): boolean {
  return key >= keys.status && key < keys.statusEnd;
}

/** The key of an ending without a request. */
export function endingKey(ending: Ending): number {
  if (ending.reason === endings.discarded.reason) return keys.discarded;
  return keys[ending.state];
}

export function outcomeKey(outcome: Outcome): number {
  return keys[outcome];
}

export function categoryKey(category: FailureCategory): number {
  return keys.category + failureCategories.indexOf(category);
}

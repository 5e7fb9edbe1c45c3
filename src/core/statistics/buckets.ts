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

/** Steps of time in which statistics are kept, in Unix time. The order is part of what is stored. */
export const statisticsSteps = ["minute", "hour", "day"] as const;
export type StatisticsStep = (typeof statisticsSteps)[number];

export const stepMs: Readonly<Record<StatisticsStep, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** Where the bucket of a time begins. */
export function bucketAt(time: number, step: StatisticsStep): number {
  return Math.floor(time / stepMs[step]) * stepMs[step];
}

/** The beginnings of all buckets from one time up to another one, which is left out. */
export function bucketsWithin(
  range: { readonly from: number; readonly to: number },
  step: StatisticsStep,
): readonly number[] {
  const starts: number[] = [];
  for (let start = bucketAt(range.from, step); start < range.to; start += stepMs[step]) starts.push(start);
  return starts;
}

/** How long buckets are kept unless somebody says otherwise: 48 hours, 35 days, 800 days. */
export const statisticsKeptMsDefault: Readonly<Record<StatisticsStep, number>> = {
  minute: 48 * stepMs.hour,
  hour: 35 * stepMs.day,
  day: 800 * stepMs.day,
};

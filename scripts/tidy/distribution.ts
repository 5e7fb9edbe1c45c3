/** Median, 90th percentile and maximum, beside what the budget asks for. */
export function distribution(values: readonly number[], medianGoal: number, p90Goal: number): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  const verdict = at(0.5) <= medianGoal && at(0.9) <= p90Goal ? "" : ", over budget";
  return `median ${at(0.5)} (budget ${medianGoal}), p90 ${at(0.9)} (budget ${p90Goal}), max ${at(1)}${verdict}`;
}

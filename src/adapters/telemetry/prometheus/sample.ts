/** One line of the exposition. */
export interface Sample {
  /** Defaults to the metric's name. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

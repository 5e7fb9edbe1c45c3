// What an alert is: a rule, and a story in which it fires and after which it does not.

export type Severity = "critical" | "warning" | "info";

/** A metric over time, in the notation of `promtool test rules`: one value a minute. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

export interface Alert {
  /** Without `Posthorn`, which stands before each. */
  readonly name: string;
  /** Of the page in docs/runbooks. */
  readonly runbook: string;
  readonly expr: string;
  /** How long it has to be so, as Prometheus writes it. */
  readonly lasts?: string;
  readonly severity: Severity;
  readonly summary: string;
  readonly description: string;
  /** What it answers (requirements of the documents). */
  readonly requirement?: string;
  /** `at` it fires with these labels beside its own, and `after` it does not any more. */
  readonly story: {
    /** Of a week and more: rules are evaluated less often, or it takes half a minute. */
    readonly isLong?: boolean;
    readonly series: readonly Series[];
    readonly at: string;
    readonly labels: Readonly<Record<string, string>>;
    /** As people read it then, where a value stands in it. */
    readonly summary?: string;
    readonly after: string;
  };
}

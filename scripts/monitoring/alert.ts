/** An alert rule, with a story in which it fires and then ends. */
export interface Alert {
  /** Without the prefix `Posthorn`. */
  readonly name: string;
  /** Name of the page in docs/runbooks. */
  readonly runbook: string;
  readonly expr: string;
  /** How long `expr` must hold, as Prometheus writes it. */
  readonly lasts?: string;
  readonly severity: "critical" | "warning" | "info";
  readonly summary: string;
  readonly description: string;
  /** Id of the requirement that the alert fulfils. */
  readonly requirement?: string;
  readonly story: {
    /** A week or more: rules are evaluated less often, because promtool would take half a minute. */
    readonly isLong?: boolean;
    /** Metrics over time, in the notation of `promtool test rules`: one value per minute. */
    readonly series: Readonly<Record<string, string>>;
    /** When the alert fires, and when it has ended. */
    readonly at: string;
    readonly after: string;
    /** Labels of the alert, besides the severity. */
    readonly labels?: Readonly<Record<string, string>>;
    /** What `$value` becomes in the summary, formatted. */
    readonly value?: string;
  };
}

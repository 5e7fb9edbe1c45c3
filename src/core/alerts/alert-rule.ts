/** Alert rules as data, both the built-in rules and custom ones. */

export const alertSeverities = ["info", "warning", "critical"] as const;
export type AlertSeverity = (typeof alertSeverities)[number];

/** Metrics for custom rules. The last three describe the whole installation. */
export const alertMetrics = [
  "failure_rate",
  "attempts",
  "exhausted",
  "duration_ms_p95",
  "published",
  "waiting",
  "dead_letters",
  "places_used",
] as const;
export type AlertMetric = (typeof alertMetrics)[number];
const installationMetrics: ReadonlySet<string> = new Set(["waiting", "dead_letters", "places_used"]);

/** Whether the metric describes the whole installation and cannot be limited to one tenant. */
export function isOfInstallation(metric: AlertMetric): boolean {
  return installationMetrics.has(metric);
}

export const alertComparisons = ["above", "below"] as const;
export type AlertComparison = (typeof alertComparisons)[number];

/**
 * What a rule evaluates. `metric` compares the metric that the rule names; the other sources belong to built-in rules.
 */
export type AlertSource =
  | "metric"
  | "circuit"
  | "dead_letters"
  | "success_rate"
  | "places"
  | "waiting"
  | "late"
  | "silent_publisher"
  | "payload_growth"
  | "statistics"
  | "retention"
  | "disk"
  | "workers"
  | "queue"
  | "shared_state"
  | "store"
  | "dns";

export interface AlertRule {
  readonly name: string;
  /** Tenant that owns the rule; null for the operator's rules and the built-in ones. */
  readonly tenantId: string | null;
  readonly isDefault: boolean;
  readonly title: string;
  readonly description: string;
  readonly severity: AlertSeverity;
  readonly source: AlertSource;
  readonly metric: AlertMetric | null;
  readonly comparison: AlertComparison;
  readonly threshold: number;
  /** Length of the window, for sources that have one. */
  readonly windowMs: number;
  /** How long the rule must hold before the alert fires. */
  readonly forMs: number;
  /** How long the rule must not hold before the alert resolves. */
  readonly keepFiringForMs: number;
  /** Minimum attempts in the window; with fewer, rates are not evaluated. */
  readonly attemptsMin: number;
  /** Limits the rule to this webhook or this event type; null means all of them. */
  readonly webhookId: string | null;
  readonly eventType: string | null;
  /** Whose channels are notified: the operator's, or those of the tenant that the alert is about. */
  readonly audience: "operator" | "tenant";
  readonly enabled: boolean;
  readonly mutedUntil: number | null;
  readonly muteReason: string | null;
  /** Page in docs/runbooks; null if there is none. */
  readonly runbook: string | null;
}

/** Fields of built-in rules that can be changed. */
export const changeableOfDefaults = [
  "severity",
  "threshold",
  "forMs",
  "keepFiringForMs",
  "enabled",
  "mutedUntil",
  "muteReason",
] as const satisfies readonly (keyof AlertRule)[];

export function exceeds(value: number, rule: Pick<AlertRule, "comparison" | "threshold">): boolean {
  return rule.comparison === "above" ? value > rule.threshold : value < rule.threshold;
}

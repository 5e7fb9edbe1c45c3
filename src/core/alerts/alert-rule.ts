/** What an alert is raised for: a rule is data, those that Posthorn brings as well as those that people write. */

export const alertSeverities = ["info", "warning", "critical"] as const;
export type AlertSeverity = (typeof alertSeverities)[number];

/** What rules of people may look at. The last three are those of the whole installation. */
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

/** Whether it has no part that belongs to one tenant. */
export function isOfInstallation(metric: AlertMetric): boolean {
  return installationMetrics.has(metric);
}

export const alertComparisons = ["above", "below"] as const;
export type AlertComparison = (typeof alertComparisons)[number];

/** What a rule looks at. `metric` is the one that it names, compared as it says; the others are ours. */
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
  /** Whose rule; null is the operator's, and those that Posthorn brings. */
  readonly tenantId: string | null;
  readonly isDefault: boolean;
  readonly title: string;
  readonly description: string;
  readonly severity: AlertSeverity;
  readonly source: AlertSource;
  readonly metric: AlertMetric | null;
  readonly comparison: AlertComparison;
  readonly threshold: number;
  /** How far back it looks, where it looks back. */
  readonly windowMs: number;
  /** How long it has to hold before it fires. */
  readonly forMs: number;
  /** How long it must not hold before it is over. */
  readonly keepFiringForMs: number;
  /** With fewer attempts in the window a rate says nothing. */
  readonly attemptsMin: number;
  /** Only this webhook, or this type of events; null is all together. */
  readonly webhookId: string | null;
  readonly eventType: string | null;
  /** Whose channels hear of it: the operator's, or those of the tenant that it is about. */
  readonly audience: "operator" | "tenant";
  readonly enabled: boolean;
  readonly mutedUntil: number | null;
  readonly muteReason: string | null;
  /** Page of docs/runbooks; null without one. */
  readonly runbook: string | null;
}

/** What can be changed of the rules that Posthorn brings. */
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

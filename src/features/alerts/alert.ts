/** Defines alert rules as data, both the built-in rules and custom ones. */

export const alertSeverities = ["info", "warning", "critical"] as const;
type AlertSeverity = (typeof alertSeverities)[number];

/** Metrics for custom rules. The last three apply to the whole deployment. */
export const alertMetrics = [
  "failure_rate",
  "attempts",
  "exhausted",
  "duration_ms_p95",
  "published",
  "waiting",
  "dead_letters",
  "request_slots_used",
] as const;
export type AlertMetric = (typeof alertMetrics)[number];
const installationMetrics: ReadonlySet<string> = new Set(["waiting", "dead_letters", "request_slots_used"]);

/** Whether the metric applies to the whole deployment and cannot be limited to one tenant. */
export function isOfInstallation(metric: AlertMetric): boolean {
  return installationMetrics.has(metric);
}

export const alertComparisons = ["above", "below"] as const;
type AlertComparison = (typeof alertComparisons)[number];

/**
 * What a rule evaluates. `metric` compares the metric that the rule names; the other sources belong to built-in rules.
 */
export type AlertSource =
  | "metric"
  | "circuit"
  | "dead_letters"
  | "success_rate"
  | "request_slots"
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
  /** Tenant that owns the rule; null for the operator's rules and the built-in rules. */
  readonly tenantId: string | null;
  readonly isDefault: boolean;
  readonly title: string;
  readonly description: string;
  readonly severity: AlertSeverity;
  readonly source: AlertSource;
  readonly metric: AlertMetric | null;
  readonly comparison: AlertComparison;
  readonly threshold: number;
  /** Length of the window, for sources that use a window. */
  readonly windowMs: number;
  /** How long the rule must hold before the alert fires. */
  readonly forMs: number;
  /** How long the rule must not hold before the alert resolves. */
  readonly keepFiringForMs: number;
  /** Minimum attempts in the window; with fewer, rates are not evaluated. */
  readonly attemptsMin: number;
  /** Limits the rule to this webhook or this event type; null means no limit. */
  readonly webhookId: string | null;
  readonly eventType: string | null;
  /** Whose channels are notified: the operator's, or those of the tenant that the alert is about. */
  readonly audience: "operator" | "tenant";
  readonly enabled: boolean;
  readonly mutedUntil: number | null;
  readonly muteReason: string | null;
  /** Page in docs/runbooks; null if the rule has no page. */
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

export const alertStates = ["pending", "firing", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

/**
 * An alert: one subject for which a rule holds, from the time when the rule began to hold. Kept as history after it
 * resolves. Times are Unix milliseconds.
 */
export interface AlertRecord {
  readonly id: string;
  readonly rule: string;
  /** Tenant that owns the rule; null for the operator's rules. */
  readonly ruleTenantId: string | null;
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly audience: AlertRule["audience"];
  /** Tenant that the alert is about; null for the deployment. */
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  /** Identifies one subject among all that the rule evaluates. */
  readonly subject: string;
  readonly summary: string;
  readonly state: AlertState;
  readonly value: number;
  readonly threshold: number;
  /** When the rule began to hold. */
  readonly since: number;
  readonly lastHeldAt: number;
  readonly firedAt: number | null;
  readonly resolvedAt: number | null;
  /** When recipients were notified that the alert fired, and that it resolved. */
  readonly firedToldAt: number | null;
  readonly resolvedToldAt: number | null;
  /** The rule whose firing alert explains this alert. */
  readonly inhibitedBy: string | null;
}

/** An observation that a rule currently holds for a subject. */
export interface AlertObservation {
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  readonly subject: string;
  readonly value: number;
  /** One human-readable sentence. */
  readonly summary: string;
}

/** Mutes one alert until a given time. */
export interface AlertMute {
  /** The key returned by `alertKey`. */
  readonly key: string;
  readonly until: number;
  readonly reason: string | null;
}

/** Two alerts with the same key are the same alert. */
export function alertKey(of: Pick<AlertRecord, "rule" | "ruleTenantId" | "subject">): string {
  return `${of.ruleTenantId ?? ""}\n${of.rule}\n${of.subject}`;
}

/**
 * The next state of an alert: `pending` until the rule has held for `forMs`, then `firing`, then `resolved` once the
 * rule has not held for `keepFiringForMs`. Null if the alert ended before it fired; such alerts are not stored.
 */
export function nextRecord(
  record: AlertRecord | null,
  rule: AlertRule,
  observation: AlertObservation | null,
  now: number,
  nextId: () => string,
): AlertRecord | null {
  if (observation !== null)
    return held(record ?? begun(rule, observation, now, nextId()), rule, observation, now);
  if (record === null || record.state === "pending") return null;
  if (record.state === "resolved" || now - record.lastHeldAt < rule.keepFiringForMs) return record;
  return { ...record, state: "resolved", resolvedAt: now };
}

function begun(rule: AlertRule, observation: AlertObservation, now: number, id: string): AlertRecord {
  const { tenantId, webhookId, subject, summary, value } = observation;
  return {
    id,
    rule: rule.name,
    ruleTenantId: rule.tenantId,
    title: rule.title,
    audience: rule.audience,
    severity: rule.severity,
    threshold: rule.threshold,
    tenantId,
    webhookId,
    subject,
    summary,
    value,
    state: "pending",
    since: now,
    lastHeldAt: now,
    firedAt: null,
    resolvedAt: null,
    firedToldAt: null,
    resolvedToldAt: null,
    inhibitedBy: null,
  };
}

function held(record: AlertRecord, rule: AlertRule, observation: AlertObservation, now: number): AlertRecord {
  const { value, summary } = observation;
  const { severity, threshold, title } = rule;
  const seen = { ...record, value, summary, severity, threshold, title, lastHeldAt: now };
  if (record.state !== "pending" || now - record.since < rule.forMs) return seen;
  return { ...seen, state: "firing", firedAt: now };
}

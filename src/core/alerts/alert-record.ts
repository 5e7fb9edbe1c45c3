import type { AlertRule, AlertSeverity } from "./alert-rule.ts";

export const alertStates = ["pending", "firing", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

/**
 * One subject for which a rule holds, from when it began to hold. Kept as history after it resolves. Unix milliseconds.
 */
export interface AlertRecord {
  readonly id: string;
  readonly rule: string;
  /** Tenant that owns the rule; null for the operator's rules. */
  readonly ruleTenantId: string | null;
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly audience: AlertRule["audience"];
  /** Tenant that the alert is about; null for the installation. */
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
  /** When recipients were notified that it fired, and that it resolved. */
  readonly firedToldAt: number | null;
  readonly resolvedToldAt: number | null;
  /** The rule whose firing alert explains this one. */
  readonly inhibitedBy: string | null;
}

/** An observation that a rule currently holds for a subject. */
export interface AlertObservation {
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  readonly subject: string;
  readonly value: number;
  /** One sentence for readers. */
  readonly summary: string;
}

/** Mutes one alert until a point in time. */
export interface AlertMute {
  /** The key from `alertKey`. */
  readonly key: string;
  readonly until: number;
  readonly reason: string | null;
}

/** Two alerts with the same key are the same alert. */
export function alertKey(of: Pick<AlertRecord, "rule" | "ruleTenantId" | "subject">): string {
  return `${of.ruleTenantId ?? ""}\n${of.rule}\n${of.subject}`;
}

/**
 * The next state of an alert: `pending` until the rule has held for `forMs`, then `firing`, then `resolved` once it has
 * not held for `keepFiringForMs`. Null if the alert ended before it fired; nothing is kept then.
 */
export function nextRecord(
  record: AlertRecord | null,
  step: {
    readonly rule: AlertRule;
    readonly observation: AlertObservation | null;
    readonly now: number;
    readonly nextId: () => string;
  },
): AlertRecord | null {
  const { rule, observation, now } = step;
  if (observation !== null)
    return held(record ?? begun(rule, { ...step, observation }), rule, observation, now);
  if (record === null || record.state === "pending") return null;
  if (record.state === "resolved" || now - record.lastHeldAt < rule.keepFiringForMs) return record;
  return { ...record, state: "resolved", resolvedAt: now };
}

function begun(
  rule: AlertRule,
  {
    observation,
    now,
    nextId,
  }: { readonly observation: AlertObservation; readonly now: number; readonly nextId: () => string },
): AlertRecord {
  const { tenantId, webhookId, subject, summary, value } = observation;
  return {
    id: nextId(),
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

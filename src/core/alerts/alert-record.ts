import type { AlertRule, AlertSeverity } from "./alert-rule.ts";

export const alertStates = ["pending", "firing", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

/** One thing that a rule holds for, from when it began to hold; kept as history when it is over. Unix milliseconds. */
export interface AlertRecord {
  readonly id: string;
  readonly rule: string;
  /** Whose rule. */
  readonly ruleTenantId: string | null;
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly audience: AlertRule["audience"];
  /** Whom it is about; null is the installation. */
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  /** What it is about among all that the rule looks at. */
  readonly subject: string;
  readonly summary: string;
  readonly state: AlertState;
  readonly value: number;
  readonly threshold: number;
  /** When it began to hold. */
  readonly since: number;
  readonly lastHeldAt: number;
  readonly firedAt: number | null;
  readonly resolvedAt: number | null;
  /** When people were told of it, and of its end. */
  readonly firedToldAt: number | null;
  readonly resolvedToldAt: number | null;
  /** The rule whose alert explains this one. */
  readonly inhibitedBy: string | null;
}

/** That a rule holds for something at this moment. */
export interface AlertObservation {
  readonly tenantId: string | null;
  readonly webhookId: string | null;
  readonly subject: string;
  readonly value: number;
  /** One sentence for people. */
  readonly summary: string;
}

/** Somebody does not want to hear of one thing for a while. */
export interface AlertMute {
  /** As `alertKey`. */
  readonly key: string;
  readonly until: number;
  readonly reason: string | null;
}

/** What makes two alerts the same one. */
export function alertKey(of: Pick<AlertRecord, "rule" | "ruleTenantId" | "subject">): string {
  return `${of.ruleTenantId ?? ""}\n${of.rule}\n${of.subject}`;
}

/**
 * How an alert goes on: `pending` until it has held for long enough, then `firing` until it has not held for long enough,
 * then `resolved`. Null: nothing is to be kept of it, because it ended before it fired.
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
    return held(record ?? begun(rule, { ...step, observation }), { rule, observation, now });
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
    ...{ id: nextId(), rule: rule.name, ruleTenantId: rule.tenantId, title: rule.title },
    ...{ audience: rule.audience, severity: rule.severity, threshold: rule.threshold },
    ...{ tenantId, webhookId, subject, summary, value, state: "pending", since: now, lastHeldAt: now },
    ...{ firedAt: null, resolvedAt: null, firedToldAt: null, resolvedToldAt: null, inhibitedBy: null },
  };
}

function held(
  record: AlertRecord,
  {
    rule,
    observation,
    now,
  }: { readonly rule: AlertRule; readonly observation: AlertObservation; readonly now: number },
): AlertRecord {
  const { value, summary } = observation;
  const { severity, threshold, title } = rule;
  const seen = { ...record, ...{ value, summary, severity, threshold, title, lastHeldAt: now } };
  if (record.state !== "pending" || now - record.since < rule.forMs) return seen;
  return { ...seen, state: "firing", firedAt: now };
}

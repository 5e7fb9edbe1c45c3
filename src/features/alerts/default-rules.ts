import type { AlertRuleName, StoredAlertRule } from "../../ports/store/alerts.ts";
import type { AlertRuleInput } from "../../resources/alert.ts";
import { alertTitle, type BuiltInAlert } from "../notifications/messages.ts";
import { type AlertMute, type AlertRecord, type AlertRule, alertKey } from "./alert.ts";

const minute = 60_000;
const hour = 60 * minute;

/** The initial values of a custom rule. */
const blank: Omit<AlertRule, "name" | "tenantId" | "title" | "audience"> = {
  isDefault: false,
  description: "",
  severity: "warning",
  source: "metric",
  metric: null,
  comparison: "above",
  threshold: 0,
  windowMs: 5 * minute,
  forMs: 0,
  keepFiringForMs: minute,
  attemptsMin: 1,
  webhookId: null,
  eventType: null,
  enabled: true,
  mutedUntil: null,
  muteReason: null,
  runbook: null,
};

type BuiltInRule = Pick<AlertRule, "description" | "severity" | "source" | "threshold"> &
  Partial<AlertRule> & { readonly name: BuiltInAlert };

function rule(given: BuiltInRule): AlertRule {
  return {
    title: alertTitle(given.name),
    ...blank,
    tenantId: null,
    isDefault: true,
    attemptsMin: 0,
    audience: "operator",
    runbook: given.name,
    ...given,
  };
}

/** The built-in rules. Thresholds follow WDS-205 to 241. */
export const defaultAlertRules: readonly AlertRule[] = [
  rule({
    name: "circuit-opened",
    severity: "warning",
    source: "circuit",
    description: "The circuit of a webhook is not closed: only probes are sent to it (WDS-236).",
    threshold: 0,
  }),
  rule({
    name: "circuit-open-long",
    severity: "critical",
    description: "The circuit of a webhook has not closed for an hour (WDS-237).",
    source: "circuit",
    threshold: 0,
    forMs: hour,
  }),
  rule({
    name: "dead-letters",
    severity: "warning",
    source: "dead_letters",
    description: "A tenant has more dead letters than the threshold (WDS-238).",
    threshold: 1_000,
  }),
  rule({
    name: "success-rate",
    severity: "warning",
    source: "success_rate",
    description:
      "The share of a webhook's attempts that were accepted within five minutes is below the threshold (WDS-239).",
    comparison: "below",
    threshold: 0.9,
    attemptsMin: 50,
  }),
  rule({
    name: "workers-busy",
    severity: "warning",
    source: "request_slots",
    description:
      "The share of used slots, for active or for waiting requests, has been above the threshold for ten minutes (WDS-240).",
    threshold: 0.8,
    forMs: 10 * minute,
  }),
  rule({
    name: "queue-deep",
    severity: "critical",
    source: "waiting",
    description: "More deliveries are waiting than the threshold (WDS-241).",
    threshold: 10_000,
  }),
  rule({
    name: "deliveries-late",
    severity: "critical",
    source: "late",
    description:
      "The oldest delivery that no gate, rate limit or receiver holds back has been due for more seconds than the threshold (WDS-241).",
    threshold: 60,
    forMs: minute,
    runbook: "deliveries-late",
  }),
  rule({
    name: "publisher-silent",
    severity: "info",
    description:
      "No event of a type was published in the last whole hour, although the type was published in this hour of each of the last seven days.",
    source: "silent_publisher",
    threshold: 0,
    runbook: "publishers-silent",
  }),
  rule({
    name: "payload-growth",
    severity: "warning",
    source: "payload_growth",
    description:
      "The mean payload size of the last hour exceeds 20,000 bytes and, by this factor, the mean of the seven days before.",
    threshold: 2,
    runbook: null,
  }),
  rule({
    name: "statistics-behind",
    severity: "warning",
    source: "statistics",
    description:
      "Counts older than this many seconds are not stored yet, so rules evaluate outdated numbers.",
    threshold: 300,
    forMs: minute,
  }),
  rule({
    name: "retention-behind",
    severity: "warning",
    source: "retention",
    description:
      "No maintenance run has finished for this many seconds: either the runs fail, or more data is stored than they can remove.",
    threshold: 3_600,
    forMs: minute,
  }),
  rule({
    name: "disk-low",
    severity: "warning",
    source: "disk",
    description: "The disk with the data folder is fuller than this share. PostgreSQL's disk is not covered.",
    threshold: 0.9,
    forMs: minute,
  }),
  rule({
    name: "no-workers",
    severity: "critical",
    source: "workers",
    description: "A worker pool that serves a tenant has no worker.",
    threshold: 0,
    forMs: 30_000,
  }),
  rule({
    name: "queue-away",
    severity: "critical",
    source: "queue",
    description:
      "Three attempts to reconnect to the queue have failed (WDS-212). Deliveries continue through the database.",
    threshold: 0,
    forMs: 15_000,
  }),
  rule({
    name: "shared-state-away",
    severity: "critical",
    source: "shared_state",
    description: "The shared state does not respond (WDS-209). Each worker enforces its share of the limits.",
    threshold: 0,
  }),
  rule({
    name: "store-away",
    severity: "critical",
    source: "store",
    description:
      "Five database calls in a row failed (WDS-205). Nothing is accepted until the database responds again.",
    threshold: 5,
    runbook: "store-stuck",
  }),
  rule({
    name: "dns-failing",
    severity: "warning",
    source: "dns",
    description:
      "The share of a webhook's attempts within ten minutes that found no address is above the threshold (WDS-215).",
    threshold: 0.8,
    windowMs: 10 * minute,
    attemptsMin: 3,
    audience: "tenant",
    runbook: "success-rate",
  }),
];

/**
 * While the source alert fires, the alerts that it explains are not announced. `webhook` limits this to alerts of the
 * same webhook.
 */
const alertInhibitions: readonly {
  readonly source: string;
  readonly silences: readonly string[];
  readonly within: "everything" | "webhook";
}[] = [
  {
    source: "store-away",
    silences: [
      "queue-deep",
      "deliveries-late",
      "success-rate",
      "publisher-silent",
      "no-workers",
      "statistics-behind",
      "retention-behind",
    ],
    within: "everything",
  },
  { source: "no-workers", silences: ["queue-deep", "deliveries-late"], within: "everything" },
  { source: "circuit-opened", silences: ["success-rate"], within: "webhook" },
  { source: "dns-failing", silences: ["success-rate"], within: "webhook" },
];

/** All rules in force, built-in rules first. */
export function allRules(stored: readonly StoredAlertRule[]): readonly AlertRule[] {
  const changes = new Map(stored.filter(isOperators).map((rule) => [rule.name, rule.input]));
  const defaults = defaultAlertRules.map((rule) => ({
    ...rule,
    ...inUnitsOfRule(changes.get(rule.name) ?? {}),
  }));
  return [...defaults, ...stored.filter((rule) => builtInRule(rule) === undefined).map(customRule)];
}

function isOperators({ tenantId }: AlertRuleName): boolean {
  return tenantId === null;
}

/** The built-in rule with this name. */
export function builtInRule({ tenantId, name }: AlertRuleName): AlertRule | undefined {
  return tenantId === null ? defaultAlertRules.find((rule) => rule.name === name) : undefined;
}

export function customRule({
  tenantId,
  name,
  input,
}: Pick<StoredAlertRule, "tenantId" | "name" | "input">): AlertRule {
  return {
    ...blank,
    name,
    tenantId,
    title: name,
    audience: tenantId === null ? "operator" : "tenant",
    ...inUnitsOfRule(input),
  };
}

/** Converts the durations of the input from seconds to milliseconds. */
export function inUnitsOfRule(input: AlertRuleInput): Partial<AlertRule> {
  const { windowSeconds, forSeconds, keepFiringForSeconds, ...same } = input;
  const ms = (seconds: number | undefined) => (seconds === undefined ? seconds : seconds * 1_000);
  const timed = {
    windowMs: ms(windowSeconds),
    forMs: ms(forSeconds),
    keepFiringForMs: ms(keepFiringForSeconds),
  };
  const fields = Object.entries({ ...same, ...timed });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** One message with all pending notifications of one group. */
export interface AlertMessage {
  readonly group: string;
  readonly audience: AlertRule["audience"];
  readonly tenantId: string | null;
  readonly fired: readonly AlertRecord[];
  readonly resolved: readonly AlertRecord[];
}

const never = Number.NEGATIVE_INFINITY;

/** Minimum interval between two messages about the same group. */
export const messageEveryMs = 300_000;

/** The rule whose firing alert explains this alert; null if no other alert explains it. */
export function inhibitorOf(record: AlertRecord, records: readonly AlertRecord[]): string | null {
  for (const { source, silences, within } of alertInhibitions) {
    if (record.ruleTenantId !== null || !silences.includes(record.rule)) continue;
    const explains = records.some(
      (other) =>
        other.rule === source &&
        other.ruleTenantId === null &&
        other.state === "firing" &&
        (within === "everything" || other.webhookId === record.webhookId),
    );
    if (explains) return source;
  }
  return null;
}

export interface Mutes {
  readonly rules: readonly Pick<AlertRule, "name" | "tenantId" | "mutedUntil">[];
  readonly mutes: readonly AlertMute[];
  readonly now: number;
}

/** When the mute of this alert ends; null if it is not muted. */
export function mutedUntil(record: AlertRecord, { rules, mutes, now }: Mutes): number | null {
  const key = alertKey(record);
  const ends = [
    ...rules
      .filter(({ name, tenantId }) => name === record.rule && tenantId === record.ruleTenantId)
      .map((rule) => rule.mutedUntil ?? 0),
    ...mutes.filter((mute) => mute.key === key).map(({ until }) => until),
  ];
  const last = Math.max(0, ...ends);
  return last > now ? last : null;
}

/**
 * The notifications that are due now. The alerts of one tenant form a group, and each group gets at most one message in
 * five minutes. A resolution is announced only if the alert's firing was announced.
 */
export function dueMessages(records: readonly AlertRecord[], muting: Mutes): readonly AlertMessage[] {
  const { now } = muting;
  const groups = Map.groupBy(records, groupOf);
  return [...groups].flatMap(([group, ofGroup]) => {
    const toldAt = Math.max(
      ...ofGroup.map(({ firedToldAt, resolvedToldAt }) =>
        Math.max(firedToldAt ?? never, resolvedToldAt ?? never),
      ),
    );
    if (now - toldAt < messageEveryMs) return [];
    const fired = ofGroup.filter(
      (record) =>
        record.state === "firing" &&
        record.firedToldAt === null &&
        record.inhibitedBy === null &&
        mutedUntil(record, muting) === null,
    );
    const resolved = ofGroup.filter(
      ({ state, firedToldAt, resolvedToldAt }) =>
        state === "resolved" && firedToldAt !== null && resolvedToldAt === null,
    );
    const [first] = [...fired, ...resolved];
    if (first === undefined) return [];
    return [{ group, audience: first.audience, tenantId: first.tenantId, fired, resolved }];
  });
}

function groupOf({ audience, tenantId }: AlertRecord): string {
  return `${audience}:${tenantId ?? ""}`;
}

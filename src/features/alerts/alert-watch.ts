import { messageOf } from "../../domain/thrown.ts";
import type { Leaderships } from "../../engine/cluster/leaderships.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { AlertStore } from "../../ports/store/alerts.ts";
import type { NotificationQueue } from "../../ports/store/notifications.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { MessageName, Wording } from "../notifications/messages.ts";
import type {
  NotificationContent,
  NotificationLanguage,
  NotificationSeverity,
} from "../notifications/notification.ts";
import type { NotificationDesk } from "../notifications/notification-desk.ts";
import { instant, type OperationalEvent, operatorTenantId } from "../notifications/operational-event.ts";
import {
  type AlertObservation,
  type AlertRecord,
  type AlertRule,
  alertKey,
  alertSeverities,
  nextRecord,
} from "./alert.ts";
import { AlertReadings } from "./alert-readings.ts";
import { type AlertMessage, allRules, dueMessages, inhibitorOf } from "./default-rules.ts";
import { type AlertSources, observe, roundMs } from "./observations.ts";

const linesMax = 20;

/** One notification for all alerts of a group. */
export function alertContent(
  { fired, resolved }: AlertMessage,
  language: NotificationLanguage,
  wording: Wording,
): NotificationContent {
  const say = (name: MessageName, alert: AlertRecord) =>
    wording.say(language, name, {
      title: titleOf(alert, language, wording),
      summary: alert.summary,
      since: `${new Date(alert.since).toISOString().slice(0, 16).replace("T", " ")} UTC`,
      minutes: Math.max(1, Math.round(((alert.resolvedAt ?? alert.since) - alert.since) / 60_000)),
    });
  const isOver = fired.length === 0;
  const [first] = isOver ? resolved : fired;
  if (first === undefined) throw new Error("a message is about at least one alert");
  const others = fired.length + resolved.length - 1;
  const more = others > 0 ? ` (${wording.say(language, "alert.more", { count: others })})` : "";
  const lines = [
    ...fired.map((alert) => say("alert.fired.text", alert)),
    ...resolved.map((alert) => say("alert.resolved.text", alert)),
  ];
  return {
    subject: `${say(isOver ? "alert.resolved.subject" : "alert.fired.subject", first)}${more}`,
    text: [...lines.slice(0, linesMax), wording.say(language, "alert.details")].join("\n\n"),
    facts: [],
    severity: isOver ? "info" : worstOf(fired),
    link: null,
    resolves: isOver,
  };
}

/**
 * The title of a rule. Built-in rules have a title in each language; custom rules have the title that they were given.
 */
function titleOf(
  { rule, ruleTenantId, title }: AlertRecord,
  language: NotificationLanguage,
  wording: Wording,
): string {
  return (ruleTenantId === null ? wording.alertTitle(language, rule) : null) ?? title;
}

function worstOf(alerts: readonly AlertRecord[]): NotificationSeverity {
  return (
    alertSeverities.findLast((severity) => alerts.some((alert) => alert.severity === severity)) ?? "info"
  );
}

/** Converts alert messages to operational events, one for each alert that fired or resolved. */
export function alertEvents(messages: readonly AlertMessage[], now: number): readonly OperationalEvent[] {
  return messages.flatMap(({ fired, resolved }) => [
    ...fired.map((alert) => eventOf(alert, "posthorn.alert.fired", now)),
    ...resolved.map((alert) => eventOf(alert, "posthorn.alert.resolved", now)),
  ]);
}

function eventOf(
  alert: AlertRecord,
  type: "posthorn.alert.fired" | "posthorn.alert.resolved",
  at: number,
): OperationalEvent {
  const { id, rule, severity, summary, value, threshold, tenantId, webhookId, firedAt } = alert;
  return {
    key: `${type}:${id}`,
    type,
    tenantId: tenantId ?? operatorTenantId,
    webhookId: null,
    at,
    data: {
      alert_id: id,
      rule,
      severity,
      summary,
      value,
      threshold,
      tenant_id: tenantId,
      webhook_id: webhookId,
      ...(type === "posthorn.alert.resolved" && { fired_at: instant(firedAt ?? at) }),
      occurred_at: instant(at),
    },
    ...(alert.audience === "operator" && { onlyForOperator: true }),
  };
}

interface AlertWatchOptions {
  readonly store: AlertStore;
  readonly sources: AlertSources;
  readonly desk: Pick<NotificationDesk, "enqueue">;
  readonly wording: Wording;
  /** Stores operational events for publishing. */
  readonly events: Pick<NotificationQueue, "appendEvents">;
  /** Ensures that only one of several schedulers evaluates at a time; null if there is only one scheduler. */
  readonly leaderships: Pick<Leaderships, "acquire" | "resign"> | null;
  readonly nextId: () => string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Retry interval while the store is unavailable. */
const askAgainMs = 3_000;
/** Threshold from WDS-205. */
const storeFailuresMax = 5;
const leadership = { name: "alerts", forMs: 60_000 };
/** Alerts that ended longer ago than this are not announced. */
const endedLatelyMs = 86_400_000;
const historyMs = 90 * 86_400_000;
const forgottenAtOnce = 500;

/**
 * Evaluates the rules every 15 s, in one scheduler at a time. All state is in the store, so that another scheduler, or
 * this one after a restart, can continue. It reads buckets and counters, never deliveries.
 */
export class AlertWatch {
  readonly #options: AlertWatchOptions;
  readonly #loop: Loop;
  #storeFailures = 0;
  #storeFailingSince: number | null = null;

  constructor(options: AlertWatchOptions) {
    this.#options = options;
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.round(),
      pauseMs: () => (this.#storeFailures === 0 ? roundMs : askAgainMs),
      failed: (error) => this.#failed(error),
    });
  }

  start(): void {
    this.#loop.soon(roundMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#options.leaderships?.resign();
  }

  /** Evaluates all rules once. Public, so that tests can call it. */
  async round(): Promise<void> {
    const { store, clock, leaderships } = this.#options;
    if (leaderships !== null && !(await leaderships.acquire(leadership.name, leadership.forMs))) {
      this.#storeFailures = 0;
      return;
    }
    const now = clock.now();
    const [stored, current, mutes] = await Promise.all([
      store.rules(),
      store.current(now - endedLatelyMs),
      store.mutes(),
    ]);
    const rules = allRules(stored);
    const { records, gone } = await this.#look(rules, current, now);
    const told = await this.#tell(dueMessages(records, { rules, mutes, now }), records, now);
    const before = new Map(current.map((record) => [record.id, record]));
    const put = told.filter((record) => record !== before.get(record.id));
    if (put.length > 0 || gone.length > 0) await store.save({ put, remove: gone });
    await store.forget(now - historyMs, forgottenAtOnce);
    this.#storeFailures = 0;
    this.#storeFailingSince = null;
  }

  async #look(
    rules: readonly AlertRule[],
    current: readonly AlertRecord[],
    now: number,
  ): Promise<{ readonly records: readonly AlertRecord[]; readonly gone: readonly string[] }> {
    const { sources, nextId } = this.#options;
    const readings = new AlertReadings(sources.store, now);
    const past = current.filter(({ state }) => state === "resolved");
    const open = new Map(
      current.filter(({ state }) => state !== "resolved").map((record) => [alertKey(record), record]),
    );
    const next: AlertRecord[] = [];
    for (const rule of rules) {
      if (!rule.enabled) continue;
      const mine = [...open].filter(
        ([, record]) => record.rule === rule.name && record.ruleTenantId === rule.tenantId,
      );
      const webhookIds = mine.flatMap(([, record]) => record.webhookId ?? []);
      const held = [
        ...(await observe({ rule, readings, sources, webhookIds })),
        ...this.#storeWasAway(rule, now),
      ];
      const byKey = new Map(held.map((each) => [keyOf(rule, each), each]));
      for (const key of new Set([...byKey.keys(), ...mine.map(([known]) => known)])) {
        const record = open.get(key) ?? null;
        const after = nextRecord(record, rule, byKey.get(key) ?? null, now, nextId);
        open.delete(key);
        if (after !== null) next.push(after);
        else if (record !== null) open.set(key, { ...record, state: "pending" });
      }
    }
    // The remaining pending alerts ended before they fired. The remaining firing alerts belong to rules that were
    // deleted or disabled.
    const gone = [...open.values()].filter(({ state }) => state === "pending").map(({ id }) => id);
    const orphans = [...open.values()]
      .filter(({ state }) => state === "firing")
      .map((record) => ended(record, now));
    const all = [...past, ...next, ...orphans];
    return { records: all.map((record) => inhibited(record, all)), gone };
  }

  /** Reports a store outage after it has ended, because it could not be recorded while it was in progress. */
  #storeWasAway(rule: AlertRule, now: number): readonly AlertObservation[] {
    if (rule.source !== "store" || this.#storeFailingSince === null) return [];
    if (this.#storeFailures < rule.threshold) return [];
    const seconds = Math.round((now - this.#storeFailingSince) / 1_000);
    const summary = `the database was unavailable for ${seconds} s, until ${new Date(now).toISOString().slice(0, 19)}Z`;
    const about = { tenantId: null, webhookId: null, subject: "installation" };
    return [{ ...about, value: this.#storeFailures, summary }];
  }

  async #tell(
    messages: readonly AlertMessage[],
    records: readonly AlertRecord[],
    now: number,
  ): Promise<readonly AlertRecord[]> {
    if (messages.length === 0) return records;
    const drafts = messages.map((message) => ({
      // Deduplicates a message that is queued again after a crash.
      key: `alert ${[...message.fired, ...message.resolved].map(({ id, state }) => `${state[0]}${id}`).join(" ")}`.slice(
        0,
        500,
      ),
      tenantId: message.audience === "operator" ? null : message.tenantId,
      topic: "alert" as const,
      group: message.group,
      content: (language: NotificationLanguage) => alertContent(message, language, this.#options.wording),
    }));
    await this.#options.desk.enqueue(drafts);
    await this.#options.events.appendEvents(alertEvents(messages, now));
    const fired = new Set(messages.flatMap((message) => message.fired.map(({ id }) => id)));
    const over = new Set(messages.flatMap((message) => message.resolved.map(({ id }) => id)));
    this.#log(messages);
    return records.map((record) => {
      if (fired.has(record.id)) return { ...record, firedToldAt: now };
      return over.has(record.id) ? { ...record, resolvedToldAt: now } : record;
    });
  }

  #log(messages: readonly AlertMessage[]): void {
    const { log } = this.#options;
    for (const { fired, resolved } of messages) {
      for (const { id, rule, tenantId, webhookId, summary } of fired)
        log.warn({ alertId: id, rule, tenantId, webhookId, summary }, "alert fired");
      for (const { id, rule, tenantId, webhookId } of resolved)
        log.info({ alertId: id, rule, tenantId, webhookId }, "alert resolved");
    }
  }

  #failed(error: unknown): void {
    const { log, clock } = this.#options;
    if (this.#loop.isStopped) return;
    this.#storeFailures += 1;
    this.#storeFailingSince ??= clock.now();
    const fields = { err: messageOf(error), failures: this.#storeFailures };
    if (this.#storeFailures === storeFailuresMax)
      log.error({ ...fields, rule: "store-away" }, "alert fired: the database is unavailable");
    else log.warn(fields, "alert evaluation failed");
  }
}

function keyOf(rule: AlertRule, { subject }: AlertObservation): string {
  return alertKey({ rule: rule.name, ruleTenantId: rule.tenantId, subject });
}

function inhibited(record: AlertRecord, all: readonly AlertRecord[]): AlertRecord {
  if (record.state !== "firing") return record;
  const inhibitedBy = inhibitorOf(record, all);
  return inhibitedBy === record.inhibitedBy ? record : { ...record, inhibitedBy };
}

function ended(record: AlertRecord, now: number): AlertRecord {
  return { ...record, state: "resolved", resolvedAt: now };
}

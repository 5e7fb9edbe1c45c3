import { Counts } from "../../domain/statistics/counts.ts";
import { categoryKey, keys, stepMs } from "../../domain/statistics/facts.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { SharedState } from "../../ports/shared-state.ts";
import type { Store } from "../../ports/store.ts";
import type { WorkQueue } from "../../ports/work-queue.ts";
import { attemptsOf } from "../statistics/series.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { type AlertReadings, bucketsOf, countedValue, gaugeValue } from "./alert-readings.ts";
import {
  type AlertObservation,
  type AlertRule,
  type AlertSource,
  exceeds,
  isOfInstallation,
} from "./alert.ts";

/** The data sources of alert rules. */
export interface AlertSources {
  readonly store: Pick<Store, "statistics" | "deliveries" | "ownership">;
  readonly access: Pick<EngineAccess, "webhooks" | "webhook" | "refresh">;
  readonly tenants: Pick<TenantDirectory, "all">;
  /** Null without a queue. */
  readonly queue: Pick<WorkQueue, "isConnected"> | null;
  readonly sharedState: Pick<SharedState, "isAvailable"> | null;
}

/** A rule and the data to evaluate it against. */
interface Looking {
  readonly rule: AlertRule;
  readonly readings: AlertReadings;
  readonly sources: AlertSources;
  /** Webhooks that had an open alert of this rule after the last round, which any process may have run. */
  readonly webhookIds: readonly string[];
}

type Observe = (looking: Looking) => Promise<readonly AlertObservation[]>;

/** The subjects for which the rule currently holds. */
export async function observe(looking: Looking): Promise<readonly AlertObservation[]> {
  return (await bySource[looking.rule.source](looking)).slice(0, observationsMax);
}

/** Maximum observations per rule. A larger number indicates one common problem. */
const observationsMax = 200;
const failuresLookedAtMs = 360_000;

const ofInstallation = { tenantId: null, webhookId: null, subject: "installation" } as const;

function installation(rule: AlertRule, value: number | null, summary: string): readonly AlertObservation[] {
  return value === null || !exceeds(value, rule) ? [] : [{ ...ofInstallation, value, summary }];
}

const bySource: Readonly<Record<AlertSource, Observe>> = {
  metric: customMetric,
  circuit: openCircuits,
  dead_letters: deadLetters,
  success_rate: (looking) =>
    ofWebhooks(
      looking,
      (counts) => counts.get(keys.accepted) / attemptsOf(counts),
      (value) => `${percent(value)} of its attempts were accepted within five minutes`,
    ),
  dns: (looking) =>
    ofWebhooks(
      looking,
      (counts) => counts.get(categoryKey("dns")) / attemptsOf(counts),
      (value) => `${percent(value)} of its attempts failed because the host name did not resolve`,
    ),
  request_slots: async ({ rule, readings }) => {
    const value = await readings.requestSlotsUsed();
    return installation(rule, value, `${percent(value ?? 0)} of the request slots are in use`);
  },
  waiting: async ({ rule, readings }) => {
    const value = await gaugeValue("waiting", readings);
    return installation(rule, value, `${value} deliveries are waiting`);
  },
  // Age matters more than the count: many deliveries may be waiting for closed gates.
  late: async ({ rule, readings }) => {
    const value = secondsOf(await readings.lasting("oldest_due_ms"));
    return installation(rule, value, `the oldest delivery that is ready to send has been due for ${value} s`);
  },
  silent_publisher: silentPublishers,
  payload_growth: payloadGrowth,
  statistics: async ({ rule, readings }) => {
    const since = await readings.unwrittenSince();
    const value = since === null ? 0 : Math.round((readings.now - since) / 1_000);
    return installation(rule, value, `statistics are ${value} s behind`);
  },
  retention: async ({ rule, readings }) => {
    const value = secondsOf(await readings.largest("upkeep_lag_ms"));
    return installation(
      rule,
      value,
      `no maintenance round has finished for ${Math.round((value ?? 0) / 60)} min`,
    );
  },
  disk: async ({ rule, readings }) => {
    const value = await readings.largest("disk_used");
    return installation(rule, value, `${percent(value ?? 0)} of the disk is used`);
  },
  workers: poolsWithoutWorkers,
  queue: async ({ sources }) =>
    sources.queue === null || sources.queue.isConnected
      ? []
      : [{ ...ofInstallation, value: 1, summary: "RabbitMQ cannot be reached" }],
  shared_state: async ({ sources }) =>
    sources.sharedState === null || sources.sharedState.isAvailable
      ? []
      : [{ ...ofInstallation, value: 1, summary: "Redis does not respond" }],
  // The store cannot be read during an outage; alert-watch.ts reports the outage afterwards.
  store: async () => [],
};

async function customMetric({ rule, readings }: Looking): Promise<readonly AlertObservation[]> {
  const { metric, windowMs, tenantId, webhookId } = rule;
  if (metric === null) return [];
  const value = isOfInstallation(metric)
    ? await gaugeValue(metric, readings)
    : countedValue(rule, sumOf(await readings.counts({ ...bucketsOf(rule), windowMs })));
  if (value === null || !exceeds(value, rule)) return [];
  const subject = webhookId ?? rule.eventType ?? tenantId ?? "installation";
  const summary = `${metric} is ${Number(value.toPrecision(4))}, ${rule.comparison} ${rule.threshold}`;
  return [{ tenantId, webhookId, subject, value, summary }];
}

function sumOf(counts: ReadonlyMap<string | null, Counts>): Counts {
  const sum = new Counts();
  for (const each of counts.values()) sum.addAll(each);
  return sum;
}

/**
 * Finds the webhooks whose circuit is open. This process may have an outdated state of webhooks that another process
 * owns, so it refreshes those whose circuit may be open.
 */
async function openCircuits(looking: Looking): Promise<readonly AlertObservation[]> {
  const { access, store } = looking.sources;
  if (store.ownership !== undefined) {
    const ids = await perhapsOpen(looking);
    if (ids.size > 0) await access.refresh([...ids].slice(0, refreshedMax));
  }
  return Iterator.from(access.webhooks())
    .filter(({ circuit }) => circuit.phase !== "closed")
    .take(observationsMax)
    .map(({ webhook, circuit }) => ({
      tenantId: webhook.tenantId,
      webhookId: webhook.id,
      subject: webhook.id,
      value: 1,
      summary: `the circuit of ${hostOf(webhook.url)} is ${circuit.phase === "open" ? "open" : "half open"}`,
    }))
    .toArray();
}

/**
 * Webhooks whose circuit may be open: those that failed recently or had an open circuit, and in each round a share of
 * all others, because people can open circuits too.
 */
async function perhapsOpen({ sources, readings, webhookIds }: Looking): Promise<ReadonlySet<string>> {
  const ids = new Set(webhookIds);
  const all: string[] = [];
  for (const { webhook, circuit } of sources.access.webhooks()) {
    all.push(webhook.id);
    if (circuit.phase !== "closed") ids.add(webhook.id);
  }
  const windowMs = failuresLookedAtMs;
  for (const tenantId of await failingTenants(readings, windowMs, 1))
    for (const id of (await countsOf(readings, tenantId, windowMs)).keys()) ids.add(id);
  const parts = Math.ceil(all.length / inTurnMax);
  const part = Math.floor(readings.now / roundMs) % Math.max(1, parts);
  for (const id of all.slice(part * inTurnMax, (part + 1) * inTurnMax)) ids.add(id);
  return ids;
}

const refreshedMax = 1_000;
const inTurnMax = 200;
/** Interval of the rounds in alert-watch.ts. */
export const roundMs = 15_000;

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "the webhook";
}

async function deadLetters({ rule, readings }: Looking): Promise<readonly AlertObservation[]> {
  const depth = await readings.depth();
  return [...depth.deadLetters]
    .filter(([, count]) => exceeds(count, rule))
    .map(([tenantId, value]) => ({
      tenantId,
      webhookId: null,
      subject: tenantId,
      value,
      summary: `the tenant ${tenantId} has ${value} dead letters`,
    }));
}

/** Tenants whose number of failed attempts is high enough for one of their webhooks to be failing. */
async function failingTenants(
  readings: AlertReadings,
  windowMs: number,
  failuresMin: number,
): Promise<readonly string[]> {
  const counts = await readings.counts({
    kind: "delivery",
    of: { level: "tenants", tenantIds: null },
    windowMs,
  });
  return [...counts]
    .filter(([, each]) => attemptsOf(each) - each.get(keys.accepted) >= failuresMin)
    .flatMap(([tenantId]) => tenantId ?? []);
}

async function countsOf(
  readings: AlertReadings,
  tenantId: string,
  windowMs: number,
): Promise<ReadonlyMap<string, Counts>> {
  const counts = await readings.counts({
    kind: "delivery",
    of: { level: "subjects", tenantId, subjects: null },
    windowMs,
  });
  return counts as ReadonlyMap<string, Counts>;
}

async function ofWebhooks(
  { rule, readings, sources }: Looking,
  measure: (counts: Counts) => number,
  summaryOf: (value: number) => string,
): Promise<readonly AlertObservation[]> {
  const { windowMs, attemptsMin } = rule;
  const found: AlertObservation[] = [];
  for (const tenantId of await failingTenants(readings, windowMs, 1)) {
    for (const [webhookId, counts] of await countsOf(readings, tenantId, windowMs)) {
      if (attemptsOf(counts) < Math.max(1, attemptsMin)) continue;
      const value = measure(counts);
      const webhook = sources.access.webhook(webhookId)?.webhook;
      if (webhook === undefined || !exceeds(value, rule)) continue;
      const summary = `${hostOf(webhook.url)}: ${summaryOf(value)}`;
      found.push({ tenantId: webhook.tenantId, webhookId, subject: webhookId, value, summary });
    }
  }
  return found;
}

async function poolsWithoutWorkers({ sources }: Looking): Promise<readonly AlertObservation[]> {
  const { store, tenants, access } = sources;
  if (store.ownership === undefined) return [];
  const serving = new Set(Iterator.from(access.webhooks()).map(({ webhook }) => webhook.tenantId));
  const used = new Set(
    tenants.all().flatMap(({ id, workerPool }) => (serving.has(id) ? [workerPool ?? "default"] : [])),
  );
  if (used.size === 0) return [];
  const workers = await store.ownership.pools();
  return [...used]
    .filter((pool) => (workers.get(pool) ?? 0) === 0)
    .map((pool) => ({
      tenantId: null,
      webhookId: null,
      subject: `pool ${pool}`,
      value: 0,
      summary: `the pool ${pool} has no worker`,
    }));
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms / 1_000);
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}%`;
}

// Rules whose data changes hourly and that read more data than others. They are evaluated once per hour.

const days = 7;
/** Maximum number of tenants evaluated. Small deployments have one tenant, and large deployments have custom rules. */
const tenantsMax = 200;
/** Recommended maximum payload size (TS16-51). Growth below this size is not reported. */
const payloadBytesMin = 20_000;
const attemptsMin = 50;

interface Known {
  readonly hour: number;
  readonly found: Promise<readonly AlertObservation[]>;
}

/** Cache of hourly observations, keyed by the alert readings object. Each evaluating process has one. */
const known = new WeakMap<object, Map<string, Known>>();

function onceAnHour(
  { rule, sources }: Looking,
  hour: number,
  look: () => Promise<readonly AlertObservation[]>,
): Promise<readonly AlertObservation[]> {
  const ofSources = known.get(sources) ?? new Map<string, Known>();
  known.set(sources, ofSources);
  const name = `${rule.name} ${rule.threshold}`;
  const before = ofSources.get(name);
  if (before?.hour === hour) return before.found;
  const found = look();
  ofSources.set(name, { hour, found });
  found.catch(() => ofSources.delete(name));
  return found;
}

/** The last complete hour; null before the first complete hour. */
async function lastHourOf({ readings }: Looking): Promise<number | null> {
  const { hoursUntil } = await readings.progress();
  return hoursUntil < stepMs.hour ? null : hoursUntil - stepMs.hour;
}

/**
 * Event types that had no events in the last complete hour, although they had events in the same hour on each of the
 * previous days.
 */
async function silentPublishers(looking: Looking): Promise<readonly AlertObservation[]> {
  const hour = await lastHourOf(looking);
  if (hour === null) return [];
  return onceAnHour(looking, hour, () => silentAt(looking, hour));
}

async function silentAt({ readings }: Looking, hour: number): Promise<readonly AlertObservation[]> {
  const usual = await readings.counts({
    kind: "event",
    of: { level: "tenants", tenantIds: null },
    hour: hour - stepMs.day,
  });
  const found: AlertObservation[] = [];
  for (const tenantId of [...usual.keys()].slice(0, tenantsMax)) {
    if (tenantId === null) continue;
    const of = { level: "subjects", tenantId, subjects: null } as const;
    const typesAt = async (at: number): Promise<ReadonlySet<string>> => {
      const counts = await readings.counts({ kind: "event", of, hour: at });
      return new Set(
        [...counts].flatMap(([type, each]) => (type !== null && publishedIn(each) ? [type] : [])),
      );
    };
    let usualTypes = await typesAt(hour - stepMs.day);
    for (let day = 2; day <= days && usualTypes.size > 0; day += 1)
      usualTypes = usualTypes.intersection(await typesAt(hour - day * stepMs.day));
    if (usualTypes.size === 0) continue;
    for (const type of usualTypes.difference(await typesAt(hour)))
      found.push({
        tenantId,
        webhookId: null,
        subject: `${tenantId} ${type}`,
        value: 0,
        summary: `no event ${type} of the tenant ${tenantId} was published in the hour from ${timeOf(hour)}`,
      });
  }
  return found;
}

function publishedIn(counts: Counts): boolean {
  return counts.get(keys.published) > 0;
}

/** Compares the mean payload size of the last hour with that of the previous days. */
async function payloadGrowth(looking: Looking): Promise<readonly AlertObservation[]> {
  const hour = await lastHourOf(looking);
  if (hour === null) return [];
  return onceAnHour(looking, hour, () => growthAt(looking, hour));
}

async function growthAt({ rule, readings }: Looking, hour: number): Promise<readonly AlertObservation[]> {
  const of = { level: "all" } as const;
  const before = await readings.counts({ kind: "delivery", of, from: hour - days * stepMs.day, to: hour });
  const now = await readings.counts({ kind: "delivery", of, hour });
  const [then, last] = [meanOf(before.get(null)), meanOf(now.get(null))];
  if (then === null || last === null || last < payloadBytesMin || last <= then * rule.threshold) return [];
  const value = Number((last / then).toPrecision(3));
  const summary = `the mean payload is ${Math.round(last)} bytes, ${value} times that of the week before`;
  return [{ tenantId: null, webhookId: null, subject: "installation", value, summary }];
}

function meanOf(counts: Counts | undefined): number | null {
  const attempts = counts === undefined ? 0 : attemptsOf(counts);
  return counts === undefined || attempts < attemptsMin ? null : counts.get(keys.amount) / attempts;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

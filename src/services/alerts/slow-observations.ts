/** Rules that change by the hour and read more data than others: evaluated once per hour. */
import type { AlertObservation } from "../../core/alerts/alert-record.ts";
import { stepMs } from "../../core/statistics/buckets.ts";
import type { Counts } from "../../core/statistics/counts.ts";
import { keys } from "../../core/statistics/keys.ts";
import { attemptsOf } from "../statistics/measures.ts";
import type { Looking } from "./observations.ts";

const days = 7;
/** Limit of tenants that are evaluated; small deployments have one, and large ones have custom rules. */
const tenantsMax = 200;
/** Recommended upper size of a payload (TS16-51); payloads below it may grow. */
const payloadBytesMin = 20_000;
const attemptsMin = 50;

interface Known {
  readonly hour: number;
  readonly found: Promise<readonly AlertObservation[]>;
}

/** Keyed by the reader, of which each evaluating process has one. */
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

/** The last complete hour; null before there is one. */
async function lastHourOf({ readings }: Looking): Promise<number | null> {
  const progress = await readings.progress();
  return progress === null || progress.hoursUntil < stepMs.hour ? null : progress.hoursUntil - stepMs.hour;
}

/** Event types without any event in an hour in which there were some on each of the last days. */
export async function silentPublishers(looking: Looking): Promise<readonly AlertObservation[]> {
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

/** Compares the mean payload of the last hour with that of the days before. */
export async function payloadGrowth(looking: Looking): Promise<readonly AlertObservation[]> {
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

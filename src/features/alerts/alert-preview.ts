import { Counts } from "../../domain/statistics/counts.ts";
import { bucketAt, type StatisticsStep, stepMs } from "../../domain/statistics/facts.ts";
import { type GaugeSpan, summaryOf } from "../../domain/statistics/gauges.ts";
import type { StatisticsStore } from "../../ports/store/statistics.ts";
import { bucketsOf, countedValue, requestSlotsUsedOf } from "./alert-readings.ts";
import { type AlertRecord, type AlertRule, exceeds, isOfInstallation, nextRecord } from "./alert.ts";

/** The result of evaluating a rule against past statistics. */
export interface AlertPreview {
  readonly from: number;
  readonly to: number;
  /** Number of times the rule would have fired. */
  readonly fired: number;
  readonly firingMs: number;
  readonly points: readonly PreviewPoint[];
}

/** `value` is null without data. */
export interface PreviewPoint {
  readonly at: number;
  readonly value: number | null;
  readonly isFiring: boolean;
}

interface Point {
  readonly at: number;
  readonly value: number | null;
}

const previewMs = 7 * stepMs.day;
/** Statistics per minute are kept for two days; earlier days are evaluated per hour. */
const minutesMs = 47 * stepMs.hour;
const gridMsMin = 5 * stepMs.minute;
const rowsMax = 50_000;

/** Evaluates a custom rule against the last seven days. */
export async function previewOf(rule: AlertRule, store: StatisticsStore, now: number): Promise<AlertPreview> {
  const from = bucketAt(now - previewMs, "hour");
  const read = rule.metric !== null && isOfInstallation(rule.metric) ? gaugePoints : countedPoints;
  const points = await read(rule, { store, from, now });
  return { from, to: now, ...simulated(rule, points) };
}

interface Reading {
  readonly store: StatisticsStore;
  readonly from: number;
  readonly now: number;
}

async function countedPoints(rule: AlertRule, { store, from, now }: Reading): Promise<readonly Point[]> {
  const middle = bucketAt(now - minutesMs, "hour");
  const byHour = await countsBy(rule, store, "hour", from, middle);
  const hours = startsOf(from, middle, stepMs.hour).map((at) => ({
    at: at + stepMs.hour,
    value: countedValue(rule, byHour.get(at) ?? new Counts()),
  }));
  const byMinute = await countsBy(rule, store, "minute", middle - rule.windowMs, now);
  const everyMs = Math.max(gridMsMin, bucketAt(rule.windowMs / 12, "minute"));
  const minutes = startsOf(middle + everyMs, now, everyMs).map((at) => ({
    at,
    value: countedValue(rule, within(byMinute, at - rule.windowMs, at)),
  }));
  return [...hours, ...minutes];
}

async function countsBy(
  rule: AlertRule,
  store: StatisticsStore,
  step: StatisticsStep,
  from: number,
  to: number,
): Promise<ReadonlyMap<number, Counts>> {
  const { rows } = await store.read({ ...bucketsOf(rule), step, from, to, limit: rowsMax });
  const sums = new Map<number, Counts>();
  for (const { start, counts } of rows) {
    const sum = sums.get(start) ?? new Counts();
    sum.addAll(Counts.unpack(counts));
    sums.set(start, sum);
  }
  return sums;
}

function within(byMinute: ReadonlyMap<number, Counts>, from: number, to: number): Counts {
  const sum = new Counts();
  for (let at = from; at < to; at += stepMs.minute) {
    const counts = byMinute.get(at);
    if (counts !== undefined) sum.addAll(counts);
  }
  return sum;
}

async function gaugePoints(rule: AlertRule, { store, from, now }: Reading): Promise<readonly Point[]> {
  const middle = bucketAt(now - minutesMs, "hour");
  const points: Point[] = [];
  for (const range of [
    { step: "hour", from, to: middle, limit: rowsMax },
    { step: "minute", from: middle, to: now, limit: rowsMax },
  ] as const) {
    const byStart = Map.groupBy(await store.readGauges(range), ({ start }) => start);
    for (const [at, rows] of [...byStart].toSorted(([one], [other]) => one - other)) {
      const spans = rows.map(({ document }) => JSON.parse(document) as GaugeSpan);
      points.push({ at, value: gaugeOf(rule, spans) });
    }
  }
  return points;
}

function gaugeOf({ metric }: AlertRule, spans: readonly GaugeSpan[]): number | null {
  if (metric === "request_slots_used") return requestSlotsUsedOf(spans);
  if (metric === "dead_letters") return summaryOf("dead_letters", spans)?.max ?? null;
  const waiting = (["waiting_high", "waiting_normal", "waiting_low"] as const).map((name) =>
    summaryOf(name, spans),
  );
  return waiting.every((each) => each === null)
    ? null
    : waiting.reduce((sum, each) => sum + (each?.max ?? 0), 0);
}

function startsOf(from: number, to: number, everyMs: number): readonly number[] {
  return Array.from(
    { length: Math.max(0, Math.ceil((to - from) / everyMs)) },
    (_, at) => from + at * everyMs,
  );
}

/** Simulates the rule with the same state machine as the live evaluation. */
function simulated(
  rule: AlertRule,
  points: readonly Point[],
): Pick<AlertPreview, "fired" | "firingMs" | "points"> {
  let record: AlertRecord | null = null;
  let fired = 0;
  let firingMs = 0;
  let last: number | null = null;
  const shown = points.map(({ at, value }) => {
    const before: AlertRecord | null = record?.state === "resolved" ? null : record;
    const holds = value !== null && exceeds(value, rule);
    const observation = holds
      ? { tenantId: null, webhookId: null, subject: "preview", value, summary: "" }
      : null;
    const after: AlertRecord | null = nextRecord(before, rule, observation, at, () => "preview");
    const isFiring = after?.state === "firing";
    if (isFiring && before?.state !== "firing") fired += 1;
    if (before?.state === "firing" && last !== null) firingMs += at - last;
    record = after;
    last = at;
    return { at, value, isFiring };
  });
  return { fired, firingMs, points: shown };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { Counts } from "../../domain/statistics/counts.ts";
import { bucketsWithin, keys, stepMs } from "../../domain/statistics/facts.ts";
import type { StatisticsProgress, StatisticsQuery, StatisticsRow } from "../../ports/store/statistics.ts";
import { failureRateOf } from "./series.ts";
import { LastDayCounts, StatisticsReader } from "./statistics-reader.ts";

const noon = Date.UTC(2026, 0, 2, 12);
const { minute, hour, day } = stepMs;

/**
 * Since `countedSince`, each webhook has one accepted attempt per minute. Since `failingSince`, it also has one failed
 * attempt per minute.
 */
class MinuteCounts {
  progressNow: StatisticsProgress;
  failingSince = Number.POSITIVE_INFINITY;
  /** Number of buckets that were searched for a row. */
  seeks = 0;
  seeksAtOnce = 0;

  constructor(progress: Partial<StatisticsProgress> = {}) {
    const whole = { unwrittenSince: null, countedSince: noon - 2 * day, hoursUntil: noon, daysUntil: 0 };
    this.progressNow = { ...whole, ...progress };
  }

  async progress(): Promise<StatisticsProgress> {
    return this.progressNow;
  }

  async read({ of, step, ...range }: StatisticsQuery): Promise<{ rows: StatisticsRow[]; next: null }> {
    assert.ok(of.level === "named");
    const starts = bucketsWithin(range.from, range.to, step);
    const seeks = starts.length * of.names.length;
    this.seeks += seeks;
    this.seeksAtOnce = Math.max(this.seeksAtOnce, seeks);
    const since = this.progressNow.countedSince ?? Number.POSITIVE_INFINITY;
    const rows = of.names.flatMap(({ tenantId, subject }) =>
      starts
        .filter((start) => start + stepMs[step] > since)
        .map((start) => ({ start, tenantId, subject, counts: this.#counts(start, stepMs[step]) })),
    );
    return { rows, next: null };
  }

  #counts(start: number, spanMs: number): Uint8Array {
    const counts = new Counts();
    counts.add(keys.accepted, spanMs / minute);
    const failing = Math.min(spanMs, Math.max(0, start + spanMs - this.failingSince));
    counts.add(keys.transient, failing / minute);
    return counts.pack();
  }
}

function lastDayOf(counts: MinuteCounts, options?: { readonly keptMax: number }): LastDayCounts {
  return new LastDayCounts(
    new StatisticsReader(counts as unknown as ConstructorParameters<typeof StatisticsReader>[0]),
    options,
  );
}

const names = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ tenantId: "oak", subject: `webhook-${index}` }));
const only = names(1);
const rateOf = (found: ReadonlyMap<string, Counts>) =>
  Math.round((failureRateOf(found.get("webhook-0") ?? new Counts()) ?? -1) * 1_000) / 1_000;

test("the first query reads the day, later ones only the minutes since", async () => {
  const counts = new MinuteCounts();
  const lastDay = lastDayOf(counts);
  assert.equal(rateOf(await lastDay.of(only, noon + 10 * minute)), 0);
  assert.equal(counts.seeks, 24 + 9 + 1);
  counts.failingSince = noon + 10 * minute;
  for (let later = 11; later < 60; later += 1) {
    counts.seeks = 0;
    const attempts = 24 * 60 + later;
    const failed = later - 10;
    const expected = Math.round((failed / (attempts + failed)) * 1_000) / 1_000;
    assert.equal(rateOf(await lastDay.of(only, noon + later * minute)), expected, `after ${later} minutes`);
    assert.ok(counts.seeks <= 3, `${counts.seeks} buckets`);
  }
});

test("concurrent queries count nothing twice", async () => {
  const counts = new MinuteCounts();
  const lastDay = lastDayOf(counts);
  await lastDay.of(only, noon + 5 * minute);
  counts.failingSince = noon;
  const found = await Promise.all([0, 1, 2].map(() => lastDay.of(only, noon + 30 * minute)));
  const again = await lastDay.of(only, noon + 30 * minute);
  assert.deepEqual(found.map(rateOf), [rateOf(again), rateOf(again), rateOf(again)]);
});

test("the day moves on each hour", async () => {
  const counts = new MinuteCounts({ countedSince: noon - day });
  const lastDay = lastDayOf(counts);
  counts.failingSince = noon - day;
  await lastDay.of(only, noon + minute);
  counts.seeks = 0;
  counts.progressNow = { ...counts.progressNow, hoursUntil: noon + hour };
  assert.equal(rateOf(await lastDay.of(only, noon + hour + 10 * minute)), 0.5);
  assert.equal(counts.seeks, 24 + 9 + 1);
});

test("in the first hour, and after a long gap, as many webhooks are read as there are", async () => {
  const first = new MinuteCounts({ countedSince: noon + minute, hoursUntil: 0 });
  assert.equal((await lastDayOf(first).of(names(250), noon + 10 * minute)).size, 250);
  assert.ok(first.seeks <= 250 * 10, `${first.seeks} buckets`);
  assert.equal(
    (await lastDayOf(new MinuteCounts({ countedSince: null, hoursUntil: 0 })).of(names(250), noon)).size,
    0,
  );
  const behind = new MinuteCounts({ hoursUntil: noon - day });
  assert.equal((await lastDayOf(behind).of(names(250), noon + 10 * minute)).size, 250);
  assert.ok(behind.seeksAtOnce < 15_000, `${behind.seeksAtOnce} buckets at once`);
});

test("webhooks not queried for the longest time are dropped, and read again", async () => {
  const counts = new MinuteCounts();
  const lastDay = lastDayOf(counts, { keptMax: 2 });
  const [first, second, third] = names(3);
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  for (const name of [first, second, first, third]) await lastDay.of([name], noon);
  const seeksFor = async (name: typeof first): Promise<number> => {
    counts.seeks = 0;
    await lastDay.of([name], noon);
    return counts.seeks;
  };
  assert.ok((await seeksFor(first)) <= 3);
  assert.ok((await seeksFor(third)) <= 3);
  assert.ok((await seeksFor(second)) > 20, "it was forgotten");
});

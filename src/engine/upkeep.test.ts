import assert from "node:assert/strict";
import { test } from "node:test";
import { statisticsKeptMsDefault } from "../domain/statistics/facts.ts";
import type { UpkeepStore } from "../ports/store/upkeep.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Directory } from "./endpoint/directory.ts";
import { ManualClock } from "./manual-clock.fixture.ts";
import { Upkeep, type UpkeepOptions } from "./upkeep.ts";

const nothing = { changed: 0, more: false };
const log = { debug() {}, info() {}, warn() {}, error() {} };

const idleStore: UpkeepStore = {
  expire: async () => nothing,
  hasFutureDeliveries: async () => false,
  bringNear: async () => ({ changed: 0, next: null }),
  cancelWebhook: async () => nothing,
  forgetPayloads: async () => nothing,
  forgetHistory: async () => nothing,
  forgetAudit: async () => nothing,
  forgetKeys: async () => nothing,
};

const idleGateway: UpkeepOptions["gateway"] = {
  forgetRequests: async () => nothing,
  answers: { purge: async () => nothing },
};

function newUpkeep(clock: ManualClock, more: Partial<UpkeepOptions>): Upkeep {
  return new Upkeep({
    store: idleStore,
    gateway: idleGateway,
    clock,
    telemetry: { log, metrics: {} as Telemetry["metrics"] },
    directory: { all: () => [] } as unknown as Directory,
    webhooks: { deletedWithWork: async () => [] },
    dispatcher: { headsChanged() {}, dueTimesChanged() {}, considerEndpoint() {} },
    fanOuts: { run: async () => {} },
    told() {},
    lifecycle: { suspensionElapsed() {} },
    states: { write() {}, changed() {} },
    ownership: { isLeader: async () => true },
    retention: { payloadMs: 1, historyMs: 1 },
    statistics: { recover: async () => nothing, rollUp: async () => nothing, forget: async () => nothing },
    notifications: { forget: async () => nothing },
    problems: {
      reload: async () => undefined,
      resolveQuiet: async () => nothing,
      forget: async () => nothing,
    },
    statisticsKeptMs: statisticsKeptMsDefault,
    countsEnds: false,
    ageMsDefault: 1,
    schedules: true,
    ...more,
  });
}

interface Step {
  readonly limit: number;
  readonly startedAt: number;
}

/** Runs one round of upkeep over a store with this many expired rows. Removing a row takes `rowMs`. */
async function round(
  rows: number,
  rowMs: (step: number) => number,
  kept: Partial<Pick<UpkeepOptions, "statistics" | "notifications" | "gateway">> = {},
): Promise<readonly Step[]> {
  const clock = new ManualClock();
  const steps: Step[] = [];
  let left = rows;
  const store: UpkeepStore = {
    ...idleStore,
    async forgetHistory({ limit }) {
      const changed = Math.min(limit, left);
      steps.push({ limit, startedAt: clock.time });
      left -= changed;
      clock.time += changed * rowMs(steps.length);
      return { changed, more: left > 0 };
    },
  };
  const upkeep = newUpkeep(clock, { store, ...kept });
  let isDone = false;
  const done = upkeep.round().finally(() => (isDone = true));
  while (!isDone) {
    clock.advance(1);
    await clock.turn();
  }
  await done;
  return steps;
}

test("a step of retention takes what fits into some milliseconds, and pauses for several times as long", async () => {
  const rowMs = 0.1;
  const steps = await round(3_000, () => rowMs);
  const [first] = steps;
  assert.ok(first !== undefined && first.limit <= 50, "it begins carefully");
  assert.ok(Math.max(...steps.map(({ limit }) => limit)) * rowMs <= 8);
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1];
    if (next === undefined) break;
    const restedMs = next.startedAt - step.startedAt - step.limit * rowMs;
    assert.ok(restedMs >= 4 * step.limit * rowMs - 1, `rested ${restedMs} ms after ${step.limit} rows`);
  }
});

test("retention is faster if rows cost little, and slows down at once if they cost more", async () => {
  const quick = await round(10_000, () => 0.001);
  assert.equal(quick.at(-1)?.limit, 500);
  const slow = await round(3_000, (step) => (step < 6 ? 0.001 : 1));
  assert.equal(slow[5]?.limit, 500);
  assert.equal(slow[6]?.limit, 10);
});

test("old unfinished statistics are completed before hours are added up, and expired ones are deleted", async () => {
  const began = new ManualClock().now();
  const steps: [what: string, msBefore: number][] = [];
  const noted = (what: string, time: number) => {
    steps.push([what, Math.round((began - time) / 60_000)]);
    return nothing;
  };
  await round(0, () => 0, {
    statistics: {
      recover: async (writtenBefore) => noted("recover", writtenBefore),
      rollUp: async (endedBefore) => noted("roll up", endedBefore),
      forget: async ({ before }) => noted("forget minutes", before.minute),
    },
  });
  assert.deepEqual(steps, [
    ["recover", 1],
    ["roll up", 5],
    ["forget minutes", 48 * 60],
  ]);
});

test("a round that hangs or fails leaves upkeep behind; a process that does not lead reports nothing", async () => {
  const clock = new ManualClock();
  let [fails, leads] = [false, true];
  const upkeep = newUpkeep(clock, {
    store: { ...idleStore, expire: async () => (fails ? Promise.reject(new Error("away")) : nothing) },
    ownership: { isLeader: async () => leads },
  });
  assert.equal(upkeep.lagMs, null);
  await upkeep.round();
  assert.equal(upkeep.lagMs, 0);
  fails = true;
  for (let round = 0; round < 60; round += 1) {
    clock.time += 60_000;
    await assert.rejects(upkeep.round());
  }
  assert.equal(upkeep.lagMs, 3_600_000);
  fails = false;
  await upkeep.round();
  assert.equal(upkeep.lagMs, 0);
  leads = false;
  await upkeep.round();
  assert.equal(upkeep.lagMs, null);
});

test("ended messages and published operational events are deleted after 30 days", async () => {
  const began = new ManualClock().now();
  const days: number[] = [];
  const forget = async (before: number) => {
    days.push(Math.round((began - before) / 86_400_000));
    return nothing;
  };
  await round(0, () => 0, { notifications: { forget } });
  assert.deepEqual(days, [30]);
});

test("received gateway requests are deleted after seven days, bodies after one, and stored responses when they expire", async () => {
  const began = new ManualClock().now();
  const days = (time: number): number => Math.round((began - time) / 86_400_000);
  const asked: string[] = [];
  const steps = (text: string): { readonly changed: number; readonly more: boolean } => {
    asked.push(text);
    return { changed: 1, more: asked.filter((one) => one === text).length < 3 };
  };
  const gateway: UpkeepOptions["gateway"] = {
    forgetRequests: async ({ before, bodiesBefore }) =>
      steps(`requests ${days(before)} ${days(bodiesBefore)}`),
    answers: { purge: async (now) => steps(`answers ${days(now)}`) },
  };
  await round(0, () => 0, { gateway });
  assert.deepEqual(asked, [...Array(3).fill("requests 7 1"), ...Array(3).fill("answers 0")]);
});

import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { Alarm, Loop, RequestPace, withDeadline } from "./clock.ts";

function newAlarm() {
  const clock = new ManualClock();
  const rung: string[] = [];
  const alarm = new Alarm(clock);
  const set = (delayMs: number, name: string): void => alarm.set(delayMs, () => rung.push(name));
  return { clock, alarm, set, rung };
}

describe("an alarm", () => {
  it("calls back once, and is not set any more", () => {
    const { clock, alarm, set, rung } = newAlarm();
    set(100, "first");
    assert.ok(alarm.isSet);
    clock.advance(100);
    assert.equal(alarm.isSet, false);
    clock.advance(1_000);
    assert.deepEqual(rung, ["first"]);
  });

  it("forgets what was set before", () => {
    const { clock, set, rung } = newAlarm();
    set(100, "first");
    set(200, "second");
    clock.advance(1_000);
    assert.deepEqual(rung, ["second"]);
  });

  it("can be set by its own callback", () => {
    const { clock, alarm, set, rung } = newAlarm();
    alarm.set(100, () => set(100, "again"));
    clock.advance(100);
    assert.ok(alarm.isSet);
    clock.advance(100);
    assert.deepEqual(rung, ["again"]);
  });

  it("does not ring once cancelled, until it is set again", () => {
    const { clock, alarm, set, rung } = newAlarm();
    set(100, "cancelled");
    alarm.cancel();
    assert.equal(clock.timers, 0);
    set(100, "set again");
    clock.advance(100);
    assert.deepEqual(rung, ["set again"]);
  });

  it("cannot be set once closed", () => {
    const { clock, alarm, set } = newAlarm();
    set(100, "first");
    alarm.close();
    set(100, "second");
    assert.equal(clock.timers, 0);
    assert.equal(alarm.isSet, false);
  });
});

const timeoutMs = 100;

describe("a promise with a deadline", () => {
  it("gives a result that arrives in time, and leaves no timer", async () => {
    const clock = new ManualClock();
    assert.equal(await withDeadline(Promise.resolve("done"), { clock, timeoutMs }), "done");
    assert.equal(clock.timers, 0);
  });

  it("gives null once the time is up, and not before", async () => {
    const clock = new ManualClock();
    const work = Promise.withResolvers<string>();
    let result: string | null | undefined;
    const waiting = withDeadline(work.promise, { clock, timeoutMs }).then((given) => (result = given));
    clock.advance(timeoutMs - 1);
    await clock.turn();
    assert.equal(result, undefined);
    clock.advance(1);
    assert.equal(await waiting, null);
  });

  it("rejects once the time is up if lateness is an error", async () => {
    const clock = new ManualClock();
    const overdue = new Error("no answer");
    const waiting = withDeadline(new Promise(() => undefined), { clock, timeoutMs, overdue: () => overdue });
    clock.advance(timeoutMs);
    await assert.rejects(waiting, overdue);
  });

  it("distinguishes a null result from lateness if lateness is an error", async () => {
    const clock = new ManualClock();
    const given = withDeadline(Promise.resolve(null), { clock, timeoutMs, overdue: () => new Error("late") });
    assert.equal(await given, null);
  });

  it("rejects with the work, and leaves no timer", async () => {
    const clock = new ManualClock();
    const failure = new Error("refused");
    await assert.rejects(withDeadline(Promise.reject(failure), { clock, timeoutMs }), failure);
    assert.equal(clock.timers, 0);
  });

  it("ignores work that fails after the deadline", async () => {
    const clock = new ManualClock();
    const work = Promise.withResolvers<string>();
    const waiting = withDeadline(work.promise, { clock, timeoutMs });
    clock.advance(timeoutMs);
    assert.equal(await waiting, null);
    // An unhandled rejection would fail this file.
    work.reject(new Error("too late"));
    await clock.turn();
  });
});

const pauseMs = 1_000;

/** The test decides when each round ends. */
function newLoop({ isPeriodic = true } = {}) {
  const clock = new ManualClock();
  const ends: PromiseWithResolvers<null>[] = [];
  const failures: unknown[] = [];
  const took: number[] = [];
  const loop = new Loop({
    clock,
    round: () => {
      const end = Promise.withResolvers<null>();
      ends.push(end);
      return end.promise.then(() => undefined);
    },
    ...(isPeriodic && {
      pauseMs: (tookMs: number) => {
        took.push(tookMs);
        return pauseMs;
      },
    }),
    failed: (error) => failures.push(error),
  });
  return { clock, loop, ends, failures, took };
}

async function isOver(promise: Promise<unknown>, clock: ManualClock): Promise<boolean> {
  let over = false;
  void promise.then(() => (over = true));
  await clock.turn();
  return over;
}

describe("the timer of a loop", () => {
  it("starts after a pause", () => {
    const { clock, loop, ends } = newLoop();
    loop.start();
    clock.advance(pauseMs - 1);
    assert.equal(ends.length, 0);
    clock.advance(1);
    assert.equal(ends.length, 1);
  });

  it("counts a pause from the end of a round, so two rounds never overlap", async () => {
    const { clock, loop, ends, took } = newLoop();
    loop.soon(0);
    clock.advance(10 * pauseMs);
    assert.equal(ends.length, 1);
    ends[0]?.resolve(null);
    await clock.turn();
    assert.deepEqual(took, [10 * pauseMs]);
    clock.advance(pauseMs - 1);
    assert.equal(ends.length, 1);
    clock.advance(1);
    assert.equal(ends.length, 2);
  });

  it("continues after a failed round, and reports it", async () => {
    const { clock, loop, ends, failures } = newLoop();
    loop.soon(0);
    clock.advance(0);
    ends[0]?.reject(new Error("away"));
    await clock.turn();
    assert.match(String(failures), /away/);
    clock.advance(pauseMs);
    assert.equal(ends.length, 2);
  });

  it("can be moved earlier, never later, by a request for an early round", () => {
    const { clock, loop, ends } = newLoop();
    loop.start();
    loop.soon(20);
    loop.soon(500);
    loop.soon(30);
    clock.advance(20);
    assert.equal(ends.length, 1);
    assert.equal(clock.timers, 0);
  });

  it("merges requests for an early round, and rests if there is no pause", async () => {
    const { clock, loop, ends } = newLoop({ isPeriodic: false });
    loop.start();
    assert.equal(clock.timers, 0);
    loop.soon(20);
    clock.advance(10);
    loop.soon(20);
    clock.advance(10);
    assert.equal(ends.length, 1);
    ends[0]?.resolve(null);
    await clock.turn();
    assert.equal(clock.timers, 0);
    loop.soon(20);
    assert.equal(clock.timers, 1);
  });
});

describe("a requested round of a loop", () => {
  it("starts at once, and does not affect the timer", async () => {
    const { clock, loop, ends } = newLoop();
    loop.start();
    clock.advance(pauseMs / 2);
    const asked = loop.run();
    assert.equal(ends.length, 1);
    ends[0]?.resolve(null);
    await asked;
    clock.advance(pauseMs / 2);
    assert.equal(ends.length, 2);
  });

  it("is one more for all requests during a round", async () => {
    const { clock, loop, ends } = newLoop();
    const first = loop.run();
    const late = Promise.all([loop.run(), loop.run()]);
    assert.equal(ends.length, 1);
    ends[0]?.resolve(null);
    assert.equal(await isOver(late, clock), false);
    assert.equal(ends.length, 2);
    ends[1]?.resolve(null);
    await Promise.all([first, late]);
    const again = loop.run();
    assert.equal(ends.length, 3);
    ends[2]?.resolve(null);
    await again;
  });

  it("shares its additional round with the timer", async () => {
    const { clock, loop, ends } = newLoop();
    void loop.run();
    loop.soon(10);
    clock.advance(10);
    ends[0]?.resolve(null);
    await clock.turn();
    assert.equal(ends.length, 2);
    ends[1]?.resolve(null);
    await clock.turn();
    assert.equal(clock.timers, 1);
  });

  it("resolves even if it failed", async () => {
    const { loop, ends, failures } = newLoop();
    const asked = loop.run();
    ends[0]?.reject(new Error("away"));
    await asked;
    assert.equal(failures.length, 1);
  });
});

describe("stopping a loop", () => {
  it("is permanent", async () => {
    const { clock, loop, ends } = newLoop();
    loop.start();
    await loop.stop();
    loop.start();
    loop.soon(0);
    await loop.run();
    clock.advance(10 * pauseMs);
    assert.equal(ends.length, 0);
    assert.ok(loop.isStopped);
  });

  it("waits for the current round, and lets no other start", async () => {
    const { clock, loop, ends } = newLoop();
    void loop.run();
    const more = loop.run();
    const stopping = loop.stop();
    assert.equal(await isOver(stopping, clock), false);
    ends[0]?.resolve(null);
    await Promise.all([stopping, more]);
    assert.equal(ends.length, 1);
    assert.equal(clock.timers, 0);
  });
});

/** Whether the promise resolves within the current turn of the event loop. */
async function isAtOnce(work: Promise<void>): Promise<boolean> {
  let isDone = false;
  void work.then(() => (isDone = true));
  for (let index = 0; index < 10; index += 1) await Promise.resolve();
  return isDone;
}

test("a request that worked for some milliseconds yields to the event loop", async () => {
  const clock = new ManualClock();
  const pace = new RequestPace(clock);
  assert.equal(await isAtOnce(pace.worked()), true);
  clock.time += 8;
  const waiting = pace.worked();
  assert.equal(await isAtOnce(waiting), false);
  await clock.turn();
  await waiting;
  assert.equal(await isAtOnce(pace.worked()), true);
});

test("a request has at most one transaction's worth of rows on the way to the store", async () => {
  const pace = new RequestPace(new ManualClock());
  const written = Promise.withResolvers<null>();
  assert.equal(await isAtOnce(pace.submitted(written.promise, 1_500)), true);
  const second = pace.submitted(Promise.resolve(), 1_500);
  assert.equal(await isAtOnce(second), false);
  written.resolve(null);
  await second;
  assert.equal(await isAtOnce(pace.submitted(Promise.withResolvers<null>().promise, 1_500)), true);
});

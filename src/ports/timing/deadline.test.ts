import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { withDeadline } from "./alarm.ts";

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

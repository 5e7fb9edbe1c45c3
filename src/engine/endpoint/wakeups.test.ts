import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Sleep, Sleeper, Wakeups } from "./wakeups.ts";

class Recorder extends Sleeper {
  readonly woken: number[] = [];
  wake(now: number): void {
    this.woken.push(now);
  }
}

test("wakes at the time, once", () => {
  const clock = new ManualClock();
  const wakeups = new Wakeups(clock);
  const sleeper = new Recorder();
  wakeups.at(sleeper, clock.time + 500);
  clock.advance(499);
  assert.deepEqual(sleeper.woken, []);
  clock.advance(1);
  assert.equal(sleeper.woken.length, 1);
  clock.advance(60_000);
  assert.equal(sleeper.woken.length, 1);
  assert.equal(clock.timers, 0, "an idle engine has no timer");
});

test("an earlier time replaces a later one, a later one is ignored", () => {
  const clock = new ManualClock();
  const start = clock.time;
  const wakeups = new Wakeups(clock);
  const sleeper = new Recorder();
  wakeups.at(sleeper, start + 900);
  wakeups.at(sleeper, start + 300);
  wakeups.at(sleeper, start + 600);
  clock.advance(10_000);
  assert.deepEqual(sleeper.woken, [start + 300]);
});

test("a wall clock that jumps ahead is noticed within ten seconds", () => {
  const clock = new ManualClock();
  const wakeups = new Wakeups(clock);
  const sleeper = new Recorder();
  wakeups.at(sleeper, clock.time + 86_400_000);
  clock.time += 86_400_000;
  clock.advance(10_000);
  assert.equal(sleeper.woken.length, 1);
});

test("all waiters wake in order of their time, whatever the order of scheduling", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 100 }), (delays) => {
      const clock = new ManualClock();
      const start = clock.time;
      const wakeups = new Wakeups(clock);
      const woken: number[] = [];
      for (const delay of delays) {
        wakeups.at(new Sleep(() => void woken.push(delay)), start + delay);
      }
      clock.advance(100_000);
      assert.deepEqual(
        woken,
        delays.toSorted((a, b) => a - b),
      );
    }),
  );
});

test("nothing fires after stop", () => {
  const clock = new ManualClock();
  const wakeups = new Wakeups(clock);
  const sleeper = new Recorder();
  wakeups.at(sleeper, clock.time + 5);
  wakeups.stop();
  wakeups.at(sleeper, clock.time + 6);
  clock.advance(100);
  assert.deepEqual(sleeper.woken, []);
  assert.equal(clock.timers, 0);
});

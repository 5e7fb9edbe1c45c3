import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import type { Clock } from "../../ports/clock.ts";
import { Deadlines } from "./exchange.ts";

class ManualClock implements Clock {
  nowMs = 0;
  timers: { atMs: number; callback: () => void }[] = [];
  scheduledCount = 0;

  now(): number {
    return this.nowMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  schedule(delayMs: number, callback: () => void): { cancel(): void } {
    this.scheduledCount++;
    const timer = { atMs: this.nowMs + delayMs, callback };
    this.timers.push(timer);
    return { cancel: () => void (this.timers = this.timers.filter((one) => one !== timer)) };
  }

  defer(callback: () => void): void {
    callback();
  }

  advanceTo(nowMs: number): void {
    for (;;) {
      const due = this.timers.filter((one) => one.atMs <= nowMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((one) => one !== due);
      this.nowMs = Math.max(this.nowMs, due.atMs);
      due.callback();
    }
    this.nowMs = nowMs;
  }
}

function setUp() {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  const add = (name: string, deadlineMs: number) => {
    const item = {
      deadlineMs,
      expire: () => {
        expired.push(`${name}@${clock.nowMs}`);
        deadlines.remove(item);
      },
    };
    deadlines.add(item);
    return item;
  };
  return { clock, deadlines, expired, add };
}

describe("deadlines", () => {
  it("expires each item at its deadline or within the slack, never before", () => {
    const { clock, expired, add } = setUp();
    add("late", 1000);
    add("soon", 100);
    add("soon too", 101);
    add("middle", 500);
    clock.advanceTo(99);
    assert.deepEqual(expired, []);
    clock.advanceTo(2000);
    assert.deepEqual(expired, ["soon@100", "soon too@120", "middle@500", "late@1000"]);
    assert.equal(clock.timers.length, 0);
  });

  it("does not expire what was removed", () => {
    const { clock, deadlines, expired, add } = setUp();
    deadlines.remove(add("done", 100));
    add("open", 200);
    clock.advanceTo(1000);
    assert.deepEqual(expired, ["open@200"]);
  });

  it("uses few timers for many items", () => {
    const { clock, deadlines, add } = setUp();
    for (let count = 0; count < 10_000; count++) {
      clock.advanceTo(count / 10);
      deadlines.remove(add("x", clock.nowMs + 30_000));
    }
    clock.advanceTo(100_000);
    assert.ok(clock.scheduledCount <= 3, `${clock.scheduledCount} timers`);
    assert.equal(clock.timers.length, 0);
  });

  it("accepts items added while others expire", () => {
    const { clock, deadlines, expired, add } = setUp();
    const first = {
      deadlineMs: 50,
      expire: () => {
        deadlines.remove(first);
        add("second", 60);
      },
    };
    deadlines.add(first);
    clock.advanceTo(50);
    clock.advanceTo(55);
    assert.deepEqual(expired, []);
    clock.advanceTo(100);
    assert.deepEqual(expired, ["second@60"]);
  });

  it("ends everything and stops its timer when drained", () => {
    const { clock, deadlines, expired, add } = setUp();
    add("a", 10);
    add("b", 20);
    deadlines.drain((item) => item.expire());
    assert.deepEqual(expired, ["a@0", "b@0"]);
    assert.equal(clock.timers.length, 0);
  });
});

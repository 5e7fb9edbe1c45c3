import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { Alarm } from "./alarm.ts";

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

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { InFlight } from "./publisher.ts";

interface World {
  readonly clock: ManualClock;
  readonly inFlight: InFlight;
  /** When `unanswered` was called, in seconds after the start. */
  readonly complaints: number[];
  readonly pass: (seconds: number) => void;
}

function newWorld(): World {
  const clock = new ManualClock();
  const startMs = clock.monotonicMs();
  const complaints: number[] = [];
  const inFlight = new InFlight({
    clock,
    unanswered: () => complaints.push((clock.monotonicMs() - startMs) / 1_000),
  });
  const pass = (seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) clock.advance(1_000);
  };
  return { clock, inFlight, complaints, pass };
}

suite("in flight", () => {
  test("a message unanswered for ten seconds is reported, again and again while that lasts", () => {
    const { inFlight, complaints, pass } = newWorld();
    const answers: boolean[] = [];
    const first = inFlight.add((isTaken) => answers.push(isTaken));
    pass(6);
    const second = inFlight.add((isTaken) => answers.push(isTaken));
    first(true);
    pass(9);
    assert.deepEqual(complaints, []);
    pass(16);
    assert.deepEqual(complaints, [16, 26]);
    second(false);
    pass(60);
    assert.deepEqual(complaints, [16, 26]);
    assert.deepEqual(answers, [true, false]);
  });

  test("an excuse restarts the time limit", () => {
    const { inFlight, complaints, pass } = newWorld();
    inFlight.add(() => undefined);
    pass(19);
    assert.deepEqual(complaints, [10]);
    inFlight.excuse();
    pass(9);
    assert.deepEqual(complaints, [10]);
    pass(1);
    assert.deepEqual(complaints, [10, 29]);
    inFlight.fail();
  });

  test("answers may arrive in another order", () => {
    const { inFlight, complaints, pass } = newWorld();
    const stuck = inFlight.add(() => undefined);
    for (let second = 0; second < 9; second += 1) {
      inFlight.add(() => undefined)(true);
      pass(1);
    }
    assert.equal(inFlight.size, 1);
    pass(1);
    assert.deepEqual(complaints, [10]);
    stuck(true);
    assert.equal(inFlight.size, 0);
  });

  test("each message is answered once, even after it was failed, and no timer is left", () => {
    const { clock, inFlight } = newWorld();
    const answers: string[] = [];
    const late = inFlight.add((isTaken) => answers.push(`a ${isTaken}`));
    inFlight.add((isTaken) => answers.push(`b ${isTaken}`));
    assert.equal(clock.timers, 1);
    inFlight.fail();
    late(true);
    assert.deepEqual(answers, ["a false", "b false"]);
    assert.equal(inFlight.size, 0);
    assert.equal(clock.timers, 0);
  });
});

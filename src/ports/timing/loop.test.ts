import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { Loop } from "./loop.ts";

const pauseMs = 1_000;

/** Each round ends when the test says so. */
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

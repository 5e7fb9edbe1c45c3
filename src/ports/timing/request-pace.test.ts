import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { RequestPace } from "./request-pace.ts";

/** Whether it resolves before the event loop turns. */
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

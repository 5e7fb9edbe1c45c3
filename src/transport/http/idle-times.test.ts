import { strict as assert } from "node:assert";
import { test } from "node:test";
import { systemClock } from "../../system/clock.ts";
import { IdleTimes } from "./connections.ts";

const origin = "https://a.test";
const hourMs = 60 * 60_000;

test("after a receiver twice closes an idle connection at the same age, they end earlier for an hour", () => {
  let nowMs = 0;
  const times = new IdleTimes({ ...systemClock, monotonicMs: () => nowMs }, 55_000);
  times.closedByReceiver(origin, 5020);
  assert.equal(times.msFor(origin), 55_000);
  times.closedByReceiver(origin, 5000);
  assert.equal(times.msFor(origin), 4000);
  assert.equal(times.msFor("https://b.test"), 55_000);
  nowMs += hourMs;
  assert.equal(times.msFor(origin), 55_000);
});

test("restarts of a receiver are not a habit", () => {
  const times = new IdleTimes(systemClock, 55_000);
  for (const idleMs of [20, 30, 700, 9000, 31_000]) times.closedByReceiver(origin, idleMs);
  assert.equal(times.msFor(origin), 55_000);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "../config/resolve.ts";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import type { Logger } from "../ports/telemetry.ts";
import { stopInTime } from "./posthorn.ts";

const shutdownGraceMs = 20_000;

function stopping(end: Promise<void>) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const statuses: number[] = [];
  const note =
    (level: string): Logger["warn"] =>
    (fields, message) =>
      void lines.push(`${level} ${(fields as { part?: string }).part} ${message}`);
  const log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const running = {
    settings: { ...defaultSettings(), shutdownGraceMs },
    log,
    stop: () => end,
    stopping: () => ({ part: "api", inFlight: 0, uncommitted: 0, storeTrouble: null }),
  };
  let hasEnded = false;
  const exit = ((status: number) => statuses.push(status)) as never;
  void stopInTime(running, { clock, exit }).then(() => (hasEnded = true));
  return { clock, lines, statuses, hasEnded: () => hasEnded };
}

test("a shutdown that hangs names what it waits for, and then exits with status 1", async () => {
  const { clock, lines, statuses } = stopping(new Promise(() => undefined));
  clock.advance(shutdownGraceMs + 4_999);
  await clock.turn();
  assert.deepEqual(lines, []);
  clock.advance(1);
  assert.deepEqual(lines, ["warn api shutdown is taking longer than the grace period"]);
  clock.advance(24_999);
  await clock.turn();
  assert.deepEqual(statuses, []);
  clock.advance(1);
  await clock.turn();
  assert.equal(lines[1], "error api shutdown did not finish in time; exiting now");
  assert.deepEqual(statuses, [1]);
});

test("a completed shutdown leaves no timer and logs nothing", async () => {
  const { clock, lines, statuses, hasEnded } = stopping(Promise.resolve());
  await clock.turn();
  assert.ok(hasEnded());
  assert.equal(clock.timers, 0);
  assert.deepEqual([lines, statuses], [[], []]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptsMax, validateSchedule } from "../retry-schedule.ts";
import { findProfile, profiles } from "./index.ts";
import { standard } from "./standard.ts";

test("the registry finds profiles by exact name, `standard` first", () => {
  assert.equal(profiles[0], standard);
  assert.equal(findProfile("standard"), standard);
  for (const name of ["Standard", "", "__proto__", "unknown"]) assert.equal(findProfile(name), undefined);
  assert.equal(new Set(profiles.map((profile) => profile.name)).size, profiles.length);
});

test("every profile is finite: a valid schedule, a maximum age, a bounded timeout", () => {
  for (const profile of profiles) {
    // The limit on attempts applies only to schedules that owners set. The schedule of EDS-9.6-4, capped at ten
    // minutes, needs more attempts to last a day.
    const problems = validateSchedule(profile.schedule).filter(({ field }) => field !== "attemptsMax");
    assert.deepEqual(problems, []);
    assert.ok(attemptsMax(profile.schedule) <= 500);
    assert.ok(profile.ageMsMax > 0 && Number.isFinite(profile.ageMsMax));
    assert.ok(profile.timeoutMs >= 15_000 && profile.timeoutMs <= 30_000, "TS16-99");
  }
});

test("the schedule is that of TS16-106: ten requests at these times", () => {
  assert.ok(standard.schedule.kind === "list");
  let elapsedMs = 0;
  const times = standard.schedule.delaysMs.map((delayMs) => {
    elapsedMs += delayMs;
    const seconds = elapsedMs / 1_000;
    const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
    return parts.map((part) => String(part).padStart(2, "0")).join(":");
  });
  const printed = "00:00:05 00:05:05 00:35:05 02:35:05 07:35:05 17:35:05 31:35:05 51:35:05 75:35:05";
  assert.deepEqual(times, printed.split(" "));
  assert.equal(attemptsMax(standard.schedule), 10);
});

test("even with maximum jitter the last request is sent before the maximum age", () => {
  assert.ok(standard.schedule.kind === "list");
  const longestMs = standard.schedule.delaysMs.reduce((sum, delayMs) => sum + delayMs * 1.2, 0);
  assert.ok(longestMs < standard.ageMsMax);
});

test("pauses and disable rules are the documented ones", () => {
  assert.deepEqual(standard.pauses.retryAfterStatuses, [429, 503]);
  assert.deepEqual(standard.pauses.categoriesMs, { rate_limit: 60_000, timeout: 60_000 });
  assert.deepEqual(Object.keys(standard.pauses.throttleStatusesMs), ["502", "504"]);
  assert.deepEqual(standard.disable.suspendStatuses, [410]);
  assert.deepEqual(standard.disable.persistentStatuses, [404]);
  assert.equal(standard.disable.persistentMs, 86_400_000);
  assert.equal(standard.disable.suspendedToDisabledMs, 86_400_000);
  assert.equal(standard.disable.consecutiveTerminalMax, 20);
  assert.equal(standard.disable.onExhausted, "without_success");
  assert.equal(standard.disable.exhaustedMsMin, 86_400_000);
});

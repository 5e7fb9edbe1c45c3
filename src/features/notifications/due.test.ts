import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { dueAt, isTimeZone, minuteOfDay, nextAt } from "./due.ts";
import type { NotificationChannel } from "./notification.ts";

const at = (text: string): number => Date.parse(text);
const shown = (time: number): string => new Date(time).toISOString().replace(":00.000Z", "Z");

type Timing = Pick<NotificationChannel, "frequency" | "timeZone" | "quietHours">;
const berlin: Timing = { frequency: "immediate", timeZone: "Europe/Berlin", quietHours: null };
const night = { from: "22:00", until: "07:00" };

suite("the time at which a message is sent to a channel", () => {
  const cases: readonly [what: string, timing: Timing, now: string, due: string][] = [
    ["at once", berlin, "2026-06-01T12:34Z", "2026-06-01T12:34Z"],
    ["at the next full hour", { ...berlin, frequency: "hourly" }, "2026-06-01T12:34Z", "2026-06-01T13:00Z"],
    [
      "at the next full hour of a zone that is half an hour off",
      { ...berlin, frequency: "hourly", timeZone: "Asia/Kolkata" },
      "2026-06-01T12:34Z",
      "2026-06-01T13:30Z",
    ],
    ["at eight of the zone", { ...berlin, frequency: "daily" }, "2026-06-01T05:59Z", "2026-06-01T06:00Z"],
    ["at eight of the next day", { ...berlin, frequency: "daily" }, "2026-06-01T06:01Z", "2026-06-02T06:00Z"],
    [
      "over the end of summer time",
      { ...berlin, frequency: "daily" },
      "2026-10-24T20:00Z",
      "2026-10-25T07:00Z",
    ],
    ["after the night", { ...berlin, quietHours: night }, "2026-06-01T20:00Z", "2026-06-02T05:00Z"],
    ["early in the morning", { ...berlin, quietHours: night }, "2026-06-01T04:59Z", "2026-06-01T05:00Z"],
    ["when the night is over", { ...berlin, quietHours: night }, "2026-06-01T05:00Z", "2026-06-01T05:00Z"],
    [
      "a digest that falls into the quiet hours",
      { ...berlin, frequency: "daily", quietHours: { from: "00:00", until: "09:00" } },
      "2026-06-01T05:00Z",
      "2026-06-01T07:00Z",
    ],
    [
      "where the quiet hours end within the hour that clocks leap over",
      { ...berlin, quietHours: { from: "22:00", until: "02:30" } },
      "2026-03-28T22:00Z",
      "2026-03-29T01:30Z",
    ],
  ];
  for (const [what, timing, now, due] of cases) {
    test(what, () => assert.equal(shown(dueAt(timing, at(now))), due));
  }
});

suite("wall clocks", () => {
  test("time zones are those that the runtime knows", () => {
    assert.equal(isTimeZone("Europe/Berlin"), true);
    assert.equal(isTimeZone("Europe/Nowhere"), false);
    assert.equal(isTimeZone(""), false);
  });

  test("every minute of a day with a clock change is found, and never in the past", () => {
    for (const from of ["2026-03-28T12:00Z", "2026-10-24T12:00Z", "2026-07-01T00:00Z"]) {
      for (let minute = 0; minute < 1_440; minute += 7) {
        const found = nextAt(at(from), minute, "Europe/Berlin");
        assert.ok(found >= at(from));
        assert.ok(found - at(from) <= 25 * 3_600_000);
        const isLeapt = from.includes("-03-") && minute >= 120 && minute < 180;
        if (!isLeapt) assert.equal(minuteOfDay(found, "Europe/Berlin"), minute, `${from} ${minute}`);
      }
    }
  });
});

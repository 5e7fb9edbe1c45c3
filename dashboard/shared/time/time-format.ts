/** Display formats of times and durations. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `3 s`, `12 min`, `4 h`, `2 d`: one unit, rounded down. */
export function shortSpan(spanMs: number): string {
  const ms = Math.abs(spanMs);
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} d`;
}

/** Duration of a request: `18 ms`, `1.24 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < secondMs ? `${Math.round(ms)} ms` : `${(ms / secondMs).toFixed(2)} s`;
}

// Creating a format is expensive, so reuse them.
const timeOfDay = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
const today = new Intl.DateTimeFormat(undefined, timeOfDay);
const otherDay = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  ...timeOfDay,
});
const inFull = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** Local time, with the date unless it is today. */
export function localTime(unixMs: number, { now }: { readonly now: number }): string {
  const isToday = new Date(unixMs).toDateString() === new Date(now).toDateString();
  return (isToday ? today : otherDay).format(unixMs);
}

/** UTC and local time in full, for tooltips. */
export function fullTime(unixMs: number): string {
  const utc = new Date(unixMs).toISOString().replace("T", " ").replace("Z", " UTC");
  return `${utc}\n${inFull.format(unixMs)}`;
}

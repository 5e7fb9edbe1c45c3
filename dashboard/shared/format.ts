/** Formats for times, durations and counts. */

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/**
 * The largest unit that fits, and its length. Durations below two days are given in hours, because days are too coarse
 * for 30 hours.
 */
function unitOf(ms: number) {
  return units.find(([unit, length]) => Math.abs(ms) >= length * (unit === "day" ? 2 : 1)) ?? units[3];
}

/**
 * Formats relative times in a language: `3m ago`, `in 4 hours`. Keep the returned function, because creating a format
 * is expensive. Times are in Unix milliseconds.
 */
export function relativeTimes(
  locale: string,
  style: Intl.RelativeTimeFormatStyle,
): (unixMs: number, now: number) => string {
  const format = new Intl.RelativeTimeFormat(locale, { style });
  const atOnce = new Intl.RelativeTimeFormat(locale, { style, numeric: "auto" }).format(0, "second");
  return (unixMs, now) => {
    const [unit, length] = unitOf(unixMs - now);
    const count = Math.trunc((unixMs - now) / length);
    return count === 0 ? atOnce : format.format(count, unit);
  };
}

/** `3m ago`, `in 12m`. */
export const relativeTime = relativeTimes("en", "narrow");

/** Duration in words, in a given language: `30 seconds`, `1.5 hours`, `1 day`. */
export function longSpan(locale: string, ms: number): string {
  const [unit, length] = units.find(([, one]) => ms >= one) ?? units[3];
  const options = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale, options).format(ms / length);
}

const englishPlurals = new Intl.PluralRules("en");

/** The English noun for a count. */
export function plural(count: number, one: string, many: string): string {
  return englishPlurals.select(count) === "one" ? one : many;
}

/** `1 delivery`, `1,204 deliveries`. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString()} ${plural(count, one, many)}`;
}

/**
 * The message for a count: `key.one`, `key.few` or another plural form of the language, else `key.other`. Undefined if
 * the language has no such message.
 */
export function pluralMessage(
  messages: Readonly<Record<string, string | undefined>>,
  locale: string,
  key: string,
  count: number,
): string | undefined {
  return messages[`${key}.${new Intl.PluralRules(locale).select(count)}`] ?? messages[`${key}.other`];
}

const symbols = { day: "d", hour: "h", minute: "min", second: "s" } as const;

/** `3 s`, `12 min`, `4 h`, `2 d`: one unit, rounded down. */
export function shortSpan(spanMs: number): string {
  const [unit, length] = unitOf(spanMs);
  return `${Math.floor(Math.abs(spanMs) / length)} ${symbols[unit]}`;
}

/** Duration of a request: `18 ms`, `1.24 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(2)} s`;
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

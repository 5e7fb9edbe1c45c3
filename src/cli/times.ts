/** Parsing and formatting of times. */
import { UsageError } from "./failures.ts";

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * Converts durations such as `90m`, `1h` and `7d` into a time before or after `now`. Other strings, such as RFC 3339
 * times and dates, are returned unchanged for the server to validate.
 */
export function timeOf(text: string, flag: string, now: number, direction: "ago" | "ahead"): string {
  const [, count = "", unit = ""] = /^(\d{1,6})\s*([a-z]+)$/i.exec(text) ?? [];
  if (count === "") return text;
  const spanMs = Number(count) * (unitMs[unit.toLowerCase()] ?? Number.NaN);
  const time = new Date(now + (direction === "ago" ? -spanMs : spanMs));
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`${flag} takes a time such as 2026-01-31, or a duration such as 90m, 1h or 7d`);
  return time.toISOString();
}

/** Formats a time as `3 min ago`, `in 40 s` or `now`. Empty if the value is not a time. */
export function relativeTime(instant: unknown, now: number): string {
  const at = typeof instant === "string" ? Date.parse(instant) : Number.NaN;
  if (Number.isNaN(at)) return "";
  const span = spanText(Math.abs(at - now));
  if (span === "") return "now";
  return at > now ? `in ${span}` : `${span} ago`;
}

function spanText(spanMs: number): string {
  const seconds = Math.round(spanMs / 1_000);
  if (seconds < 1) return "";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

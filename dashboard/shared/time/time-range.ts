/** Spans of time as people write them and as addresses keep them. */

/** Since when and until when, in Unix milliseconds; null is open. */
export interface TimeRange {
  readonly from: number | null;
  readonly to: number | null;
}

const unitsMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Offered by the picker; a relative range stays relative in the address. */
export const offeredRanges = ["15m", "1h", "6h", "24h", "7d", "30d"] as const;

/** `15m`, `7d`: the time up to now. Null for anything else. */
export function parseRange(text: string, now: number): TimeRange | null {
  const spanMs = parseSpan(text);
  return spanMs === null ? null : { from: now - spanMs, to: null };
}

function parseSpan(text: string): number | null {
  const match = /^(\d{1,5})([smhdw])$/.exec(text.trim());
  if (match === null) return null;
  return Number(match[1]) * (unitsMs[match[2] ?? ""] ?? 0);
}

/**
 * A point in time: `now`, `now-2h`, `2h ago`, `today`, `yesterday` (in the local zone), RFC 3339 as it stands in a log, or a
 * date. Null for anything else.
 */
export function parseTime(text: string, now: number): number | null {
  const given = text.trim().toLowerCase();
  if (given === "now") return now;
  const span = /^now\s*-\s*(\w+)$/.exec(given)?.[1] ?? /^(\w+)\s+ago$/.exec(given)?.[1];
  if (span !== undefined) {
    const spanMs = parseSpan(span);
    return spanMs === null ? null : now - spanMs;
  }
  if (given === "today") return startOfDay(now, { daysBack: 0 });
  if (given === "yesterday") return startOfDay(now, { daysBack: 1 });
  if (!/^\d{4}-\d{2}-\d{2}/.test(given)) return null;
  const parsed = Date.parse(text.trim().replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T"));
  return Number.isNaN(parsed) ? null : parsed;
}

function startOfDay(now: number, { daysBack }: { readonly daysBack: number }): number {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - daysBack);
  return day.getTime();
}

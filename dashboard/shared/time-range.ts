/** Time ranges as typed and as stored in URLs. */

/** Start and end in Unix milliseconds. Null means that the range is open at that end. */
interface TimeRange {
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

/** Ranges offered by the picker. */
export const offeredRanges = ["15m", "1h", "6h", "24h", "7d", "30d"] as const;

/** `15m`, `7d`: a range that ends now. Null for anything else. */
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
 * Parses `now`, `now-2h`, `2h ago`, `today`, `yesterday` (in the local zone), RFC 3339, a date, seconds or
 * milliseconds since 1970, or a log line that contains a time. Null for anything else.
 */
export function parseTime(text: string, now: number): number | null {
  const given = text.trim().toLowerCase();
  if (given === "now") return now;
  const span = /^now\s*-\s*(\w+)$/.exec(given)?.[1] ?? /^(\w+)\s+ago$/.exec(given)?.[1];
  if (span !== undefined) {
    const spanMs = parseSpan(span);
    return spanMs === null ? null : now - spanMs;
  }
  if (given === "today") return startOfDay(now, 0);
  if (given === "yesterday") return startOfDay(now, 1);
  return loggedTime(text.trim());
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Finds a time in common log formats, anywhere in a line. Times without a zone are local. */
function loggedTime(text: string): number | null {
  const epoch = /^(?:\d{10}(?:\.\d{1,6})?|\d{13})$/.exec(text)?.[0];
  if (epoch !== undefined) return epoch.length === 13 ? Number(epoch) : Math.round(Number(epoch) * 1_000);
  const iso =
    /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?/i.exec(
      text,
    )?.[0];
  if (iso !== undefined) return valid(Date.parse(rfc3339(iso)));
  // 22/Nov/2026:20:04:11 +0000, the format of web servers.
  const web = /(\d{2})\/([a-z]{3})\/(\d{4}):(\d{2}:\d{2}:\d{2})(?: ([+-]\d{2})(\d{2}))?/i.exec(text);
  if (web === null) return null;
  const [, day, month = "", year, time, hours, minutes] = web;
  const number = months.indexOf(month.toLowerCase()) + 1;
  if (number === 0) return null;
  const zone = hours === undefined ? "" : `${hours}:${minutes}`;
  return valid(Date.parse(`${year}-${String(number).padStart(2, "0")}-${day}T${time}${zone}`));
}

function rfc3339(text: string): string {
  return text
    .replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T")
    .replace(",", ".")
    .replace(/ ?(?:utc|z)$/i, "Z")
    .replace(/ ?([+-]\d{2}):?(\d{2})$/, (zone, hours: string, minutes: string, at: number) =>
      at < 11 ? zone : `${hours}:${minutes}`,
    );
}

function valid(unixMs: number): number | null {
  return Number.isNaN(unixMs) ? null : unixMs;
}

/** Splits two times separated by `/`, `..`, `–` or `to`. Null for anything else. */
export function splitRange(text: string): readonly [string, string] | null {
  const parts = text.split(/\s*(?:\.\.|–|—)\s*|\s+(?:to|until)\s+|(?<=[\dZz])\/(?=\d{4}-)/);
  const [from = "", to = ""] = parts;
  return parts.length === 2 && from !== "" && to !== "" ? [from.trim(), to.trim()] : null;
}

/**
 * API parameters for the range in the URL, which is stored as `range`, or as `from` and `to`. `fallback`, such as
 * `24h`, applies if the URL has no range. Relative times are converted to absolute times. `now` is rounded down to a
 * minute, so that a cached response can be reused for a while.
 */
export function rangeQuery(
  params: URLSearchParams,
  now: number,
  fallback = "",
): Readonly<Record<string, string>> {
  const minute = Math.floor(now / 60_000) * 60_000;
  const isByHand = params.has("from") || params.has("to");
  const span = parseRange(params.get("range") ?? (isByHand ? "" : fallback), minute);
  const { from, to } = span ?? {
    from: parseTime(params.get("from") ?? "", minute),
    to: parseTime(params.get("to") ?? "", minute),
  };
  return {
    ...(from !== null && { from: new Date(from).toISOString() }),
    ...(to !== null && { to: new Date(to).toISOString() }),
  };
}

function startOfDay(now: number, daysBack: number): number {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - daysBack);
  return day.getTime();
}

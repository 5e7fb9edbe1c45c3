/**
 * The `Retry-After` response field (RFC 9110, section 10.2.3): seconds, or one of the three HTTP-date forms.
 *
 * For both `none` and `unparsable` the sender's own schedule applies. The difference is recorded, because an unparsable
 * value is a mistake that the endpoint's owner can fix.
 */
export type RetryAfter =
  | { readonly kind: "delay"; readonly delayMs: number }
  | { readonly kind: "none" }
  | { readonly kind: "unparsable" };

const yearMs = 365.25 * 86_400_000;
/** Far beyond the maximum age of any delivery, so shortening a wait to this value changes nothing. */
const delayMsMax = 10 * yearMs;
/** A number that, read as a timestamp, is this close to now is treated as a timestamp, not as a delay. */
const nearMs = 5 * yearMs;
/** Units of timestamps since 1970: seconds, milliseconds, microseconds and nanoseconds. */
const unitsMs = [1_000, 1, 1e-3, 1e-6] as const;
/** As a delay, this value would be more than thirty years. Smaller numbers are always delays. */
const unixSecondsMin = 1e9;

const none: RetryAfter = { kind: "none" };
const unparsable: RetryAfter = { kind: "unparsable" };

/**
 * Parses a raw field value. `now` in Unix ms. Never throws.
 *
 * A missing value, `0` and dates in the past give `none` (Event Delivery Semantics, 9.5). A wait below ten years is
 * never shortened; ten years exceed the maximum age of any delivery. Some receivers send the seconds or milliseconds
 * since 1970 at which to return; as a delay, such a number would be decades.
 */
export function parseRetryAfter(text: string | undefined, now: number): RetryAfter {
  if (text === undefined) return none;
  const value = text.replaceAll(/^[ \t]+|[ \t]+$/g, "");
  const unixMs = /^[0-9]+$/.test(value) ? endOf(Number(value), now) : parseHttpDate(value, now);
  if (unixMs === null) return unparsable;
  const delayMs = Math.min(unixMs - now, delayMsMax);
  return delayMs > 0 ? { kind: "delay", delayMs } : none;
}

/** The end of a wait that was given as a number, in Unix ms. */
function endOf(number: number, now: number): number {
  if (number < unixSecondsMin) return now + number * 1_000;
  const date = unitsMs
    .map((unitMs) => Math.round(number * unitMs))
    .find((at) => Math.abs(at - now) <= nearMs);
  return date ?? now + number * 1_000;
}

const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const month = `(?<month>${monthNames.join("|")})`;
const time = "(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})";
const dayName = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const dayNameLong = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";

/** Sun, 06 Nov 1994 08:49:37 GMT */
const imfFixdate = new RegExp(`^${dayName}, (?<day>[0-9]{2}) ${month} (?<year>[0-9]{4}) ${time} GMT$`);
/** Sunday, 06-Nov-94 08:49:37 GMT */
const rfc850Date = new RegExp(`^${dayNameLong}, (?<day>[0-9]{2})-${month}-(?<year>[0-9]{2}) ${time} GMT$`);
/** Sun Nov  6 08:49:37 1994 */
const asctimeDate = new RegExp(`^${dayName} ${month} (?<day>[0-9]{2}| [0-9]) ${time} (?<year>[0-9]{4})$`);

/**
 * Parses an HTTP-date (RFC 9110, section 5.6.7) to Unix ms, or null. Case-sensitive like the grammar. `now` in Unix ms
 * determines the century of a two-digit year. A wrong day name is accepted, because the rest of the date is complete
 * without it.
 */
export function parseHttpDate(text: string, now: number): number | null {
  const fullYear = (imfFixdate.exec(text) ?? asctimeDate.exec(text))?.groups;
  if (fullYear !== undefined) return unixMsOf(fullYear, Number(fullYear["year"]));
  const shortYear = rfc850Date.exec(text)?.groups;
  return shortYear === undefined ? null : nearestCentury(shortYear, now);
}

/** The latest matching year that is no more than 50 years ahead (RFC 9110, section 5.6.7). */
function nearestCentury(fields: Record<string, string>, now: number): number | null {
  const horizon = new Date(now);
  horizon.setUTCFullYear(horizon.getUTCFullYear() + 50);
  const century = Math.floor(horizon.getUTCFullYear() / 100) * 100;
  const year = century + Number(fields["year"]);
  const unixMs = unixMsOf(fields, year);
  return unixMs !== null && unixMs <= horizon.getTime() ? unixMs : unixMsOf(fields, year - 100);
}

/**
 * Null for a day or time that does not exist. Second 60 is a leap second and is treated as the start of the next
 * minute.
 */
function unixMsOf(fields: Record<string, string>, year: number): number | null {
  const monthIndex = monthNames.indexOf(fields["month"] ?? "");
  const day = Number(fields["day"]);
  const [hour, minute, second] = [Number(fields["hour"]), Number(fields["minute"]), Number(fields["second"])];
  if (hour > 23 || minute > 59 || second > 60) return null;
  const date = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, monthIndex, day);
  if (date.getUTCMonth() !== monthIndex || date.getUTCDate() !== day) return null;
  return date.setUTCHours(hour, minute, second);
}

/** Times at the boundary of the API: Unix milliseconds inside, RFC 3339 in UTC with milliseconds outside. */

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2}))?$/;

/** Parses an RFC 3339 date-time, or a date as its start in UTC; null for anything else. */
export function parseInstant(text: string): number | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  if (!isDay(Number(year), Number(month), Number(day))) return null;
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00.000Z`);
  if (hour === undefined || zone === undefined) return midnight;
  const offsetMinutes = zoneMinutes(zone);
  // Count a leap second as the preceding second, as system clocks do.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60 || offsetMinutes === null) return null;
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Math.min(Number(second), 59);
  const milliseconds = Number((fraction ?? "").padEnd(3, "0").slice(0, 3));
  return midnight + seconds * 1_000 + milliseconds - offsetMinutes * 60_000;
}

/** Whether it is a full date-time, which bodies require. */
export function isDateTime(text: string): boolean {
  return text.length > 10 && parseInstant(text) !== null;
}

export function formatInstant(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

export function formatInstantOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : formatInstant(unixMs);
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function zoneMinutes(zone: string): number | null {
  if (zone === "Z" || zone === "z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
  if (hours > 23 || minutes > 59) return null;
  return (hours * 60 + minutes) * (zone.startsWith("-") ? -1 : 1);
}

/** Wall-clock time in a time zone. Instants are Unix milliseconds, times of day are minutes since midnight. */

const minuteMs = 60_000;
const dayMinutes = 1_440;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether the runtime supports the time zone. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The minute of the day in the zone. */
export function minuteOfDay(at: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(at);
  const numberOf = (type: string): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return numberOf("hour") * 60 + numberOf("minute");
}

/**
 * When clocks in the zone next show this minute of the day, not before `from`. If clocks skip it, the moment at which
 * they would have shown it.
 */
export function nextAt(from: number, minute: number, timeZone: string): number {
  const begun = Math.ceil(from / minuteMs) * minuteMs;
  const guess = begun + forward(minute - minuteOfDay(begun, timeZone)) * minuteMs;
  // Clocks may have changed in between, by less than half a day.
  const off = forward(minuteOfDay(guess, timeZone) - minute);
  const mended = guess - (off > dayMinutes / 2 ? off - dayMinutes : off) * minuteMs;
  return mended >= from && minuteOfDay(mended, timeZone) === minute ? mended : guess;
}

function forward(minutes: number): number {
  return (minutes + 2 * dayMinutes) % dayMinutes;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en", {
      timeZone,
      hour: "numeric",
      minute: "numeric",
      hourCycle: "h23",
    });
    formats.set(timeZone, format);
  }
  return format;
}

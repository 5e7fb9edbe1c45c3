/** Formats of relative times, durations and counts. */

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** The largest unit that fits, and its length. Days count from two on, because a day is too coarse for 30 hours. */
function unitOf(ms: number) {
  return units.find(([unit, length]) => Math.abs(ms) >= length * (unit === "day" ? 2 : 1)) ?? units[3];
}

/**
 * Relative times in a language: `3m ago`, `in 4 hours`. Keep the returned function, because creating a format is
 * expensive. Times are in Unix milliseconds.
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

/** `30 seconds`, `1.5 hours`, `1 day`, in a language. */
export function longSpan(locale: string, ms: number): string {
  const [unit, length] = units.find(([, one]) => ms >= one) ?? units[3];
  const options = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale, options).format(ms / length);
}

const englishPlurals = new Intl.PluralRules("en");

/** `1 delivery`, `1,204 deliveries`. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString()} ${englishPlurals.select(count) === "one" ? one : many}`;
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

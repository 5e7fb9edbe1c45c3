/** Messages of the portal in the language of the session, the host or the browser. */
import { computed, signal } from "@preact/signals";
import english from "../messages/en.json";

export type MessageKey = keyof typeof english;
type Messages = Readonly<Partial<Record<MessageKey, string>>>;

/** Languages other than English are loaded on demand. */
const others: Readonly<Record<string, () => Promise<{ readonly default: Messages }>>> = {
  de: () => import("../messages/de.json"),
};

/** Each language in its own name. */
export const languages: readonly (readonly [tag: string, name: string])[] = [
  ["en", "English"],
  ["de", "Deutsch"],
];

const messages = signal<Messages>(english);
/** Language tag for `lang` and `Intl`. */
const locale = signal("en");

/** The current language, without region. */
export function spoken(): string {
  return locale.value.split("-")[0]?.toLowerCase() ?? "en";
}

/** Selects the first supported language of the list. */
export async function speak(wanted: readonly (string | null | undefined)[]): Promise<void> {
  for (const tag of wanted) {
    const language = tag?.split("-")[0]?.toLowerCase() ?? "";
    if (language !== "en" && others[language] === undefined) continue;
    messages.value = language === "en" ? english : ((await others[language]?.())?.default ?? english);
    locale.value = tag ?? "en";
    document.documentElement.lang = locale.value;
    document.documentElement.dir = /^(ar|fa|he|ur)\b/.test(locale.value) ? "rtl" : "ltr";
    return;
  }
}

export type Values = Readonly<Record<string, string | number>>;

/** A message with its values. Falls back to English. */
export function t(key: MessageKey, values: Values = {}): string {
  const text = messages.value[key] ?? english[key];
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(value) : value;
  });
}

/** Plural form of a message: `key.one`, `key.other`. */
export function counted(key: string, count: number): string {
  const form = new Intl.PluralRules(locale.value).select(count);
  const own = `${key}.${form}` as MessageKey;
  return t(own in english ? own : (`${key}.other` as MessageKey), { count });
}

/** Whether the message exists, for codes of the API. */
export function known(key: string): key is MessageKey {
  return key in english;
}

function number(value: number): string {
  return new Intl.NumberFormat(locale.value).format(value);
}

// Creating a format is expensive, and a list shows hundreds of times.
const moments = computed(
  () => new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeStyle: "medium" }),
);
const distances = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: "auto" }));

export function moment(at: string | number): string {
  return moments.value.format(new Date(at));
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** `3 minutes ago`, in the current language. */
export function relative(at: string, now: number): string {
  const distance = Date.parse(at) - now;
  const [unit, ms] = units.find(([, size]) => Math.abs(distance) >= size) ?? ["second", 1_000];
  return distances.value.format(Math.trunc(distance / ms), unit);
}

/** `30 s`, `4 h`. */
export function span(ms: number): string {
  const [unit, size] = units.find(([, one]) => ms >= one) ?? ["second", 1_000];
  const options = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale.value, options).format(ms / size);
}

/** Words of the portal, in the language of the session, of the host, or of the browser. */
import { computed, signal } from "@preact/signals";
import english from "../messages/en.json";

export type MessageKey = keyof typeof english;
type Messages = Readonly<Partial<Record<MessageKey, string>>>;

/** Other languages are loaded when somebody needs them. */
const others: Readonly<Record<string, () => Promise<{ readonly default: Messages }>>> = {
  de: () => import("../messages/de.json"),
};

/** In their own words, for who looks for theirs. */
export const languages: readonly (readonly [tag: string, name: string])[] = [
  ["en", "English"],
  ["de", "Deutsch"],
];

const messages = signal<Messages>(english);
/** As in `lang`, and for `Intl`. */
const locale = signal("en");

/** The language that is spoken, without its region. */
export function spoken(): string {
  return locale.value.split("-")[0]?.toLowerCase() ?? "en";
}

/** The first of these that there are words for. */
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

/** A message with its values. What a language lacks is said in English. */
export function t(key: MessageKey, values: Values = {}): string {
  const text = messages.value[key] ?? english[key];
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(value) : value;
  });
}

/** One of `key.one`, `key.other`, as the language counts. */
export function counted(key: string, count: number): string {
  const form = new Intl.PluralRules(locale.value).select(count);
  const own = `${key}.${form}` as MessageKey;
  return t(own in english ? own : (`${key}.other` as MessageKey), { count });
}

/** Whether there is such a message: codes of the API that we have words for. */
export function known(key: string): key is MessageKey {
  return key in english;
}

function number(value: number): string {
  return new Intl.NumberFormat(locale.value).format(value);
}

// A format is much dearer to make than to use, and a list has hundreds of times.
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

/** `3 minutes ago`, in the words of the language. */
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

/** Messages of the portal in the language of the session, the host or the browser. */
import { computed, signal } from "@preact/signals";
import english from "../../messages/en.json";
import { longSpan, pluralMessage, relativeTimes } from "../../shared/format.ts";

export type MessageKey = keyof typeof english;
type Messages = Readonly<Partial<Record<MessageKey, string>>>;

/** Languages other than English are loaded on demand. */
const others: Readonly<Record<string, () => Promise<{ readonly default: Messages }>>> = {
  de: () => import("../../messages/de.json"),
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

type Values = Readonly<Record<string, string | number>>;

/** Returns a message with its placeholders filled in. Falls back to English. */
export function t(key: MessageKey, values: Values = {}): string {
  return filled(messages.value[key] ?? english[key], values);
}

/** Key prefix of messages that depend on a count: `attempts` for `attempts.one` and `attempts.other`. */
type CountedKey = MessageKey extends infer Key ? (Key extends `${infer Base}.other` ? Base : never) : never;

/** Returns a message in the plural form for the count. The message can use the count as the value `count`. */
export function counted(key: CountedKey, count: number, values: Values = {}): string {
  const text = pluralMessage(messages.value, locale.value, key, count) ?? english[`${key}.other`];
  return filled(text, { ...values, count });
}

function filled(text: string, values: Values): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? new Intl.NumberFormat(locale.value).format(value) : value;
  });
}

/** Whether a message with this key exists. Used for codes from the API. */
export function known(key: string): key is MessageKey {
  return key in english;
}

// Creating a format is expensive, and a list shows hundreds of times.
const moments = computed(
  () => new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeStyle: "medium" }),
);
const distances = computed(() => relativeTimes(locale.value, "long"));

export function moment(at: string | number): string {
  return moments.value.format(new Date(at));
}

/** `3 minutes ago`. */
export function relative(unixMs: number, now: number): string {
  return distances.value(unixMs, now);
}

/** `30 seconds`, `4 hours`. */
export function span(ms: number): string {
  return longSpan(locale.value, ms);
}

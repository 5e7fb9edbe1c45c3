import { english, type MessageName } from "./messages-en.ts";
import { german } from "./messages-de.ts";
import { type NotificationLanguage, notificationLanguages } from "./notification.ts";

/** Texts by name, with `{values}` as placeholders. */
export type Messages = Readonly<Record<MessageName, string>>;

/** Texts that the host replaces. */
export type MessageOverrides = Readonly<
  Partial<Record<NotificationLanguage, Readonly<Partial<Record<MessageName, string>>>>>
>;

/** Values of the placeholders; a placeholder without a value is left unchanged. */
export type MessageValues = Readonly<Record<string, string | number>>;

const shipped: Readonly<Record<NotificationLanguage, Messages>> = { en: english, de: german };

/** The texts in all languages, with the host's replacements. */
export class Wording {
  readonly #messages: Readonly<Record<NotificationLanguage, Messages>>;

  constructor(overrides: MessageOverrides = {}) {
    this.#messages = {
      en: { ...shipped.en, ...overrides.en },
      de: { ...shipped.de, ...overrides.de },
    };
  }

  say(language: NotificationLanguage, name: MessageName, values: MessageValues = {}): string {
    return this.#messages[language][name].replaceAll(/\{(\w+)\}/g, (whole, key: string) =>
      Object.hasOwn(values, key) ? String(values[key]) : whole,
    );
  }
}

/** The texts in a file of the host, or what is wrong with them. */
export function readOverrides(
  value: unknown,
): { readonly overrides: MessageOverrides } | { readonly problem: string } {
  if (!isRecord(value)) return { problem: "must be an object with a member for each language" };
  for (const [language, messages] of Object.entries(value)) {
    if (!(notificationLanguages as readonly string[]).includes(language))
      return {
        problem: `${language} is not a supported language; use ${notificationLanguages.join(" or ")}`,
      };
    if (!isRecord(messages)) return { problem: `${language} must be an object of texts by name` };
    const wrong = Object.entries(messages).find(
      ([name, text]) => !Object.hasOwn(english, name) || typeof text !== "string",
    );
    if (wrong !== undefined) return { problem: `${language}.${wrong[0]} is not a known text` };
  }
  return { overrides: value };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A moment in a language and time zone, such as `Wednesday, 4 March 2026 at 10:00 CET`. */
export function spokenTime(at: number, language: NotificationLanguage, timeZone: string): string {
  const locale = { en: "en-GB", de: "de-DE" }[language];
  return new Intl.DateTimeFormat(locale, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone,
    timeZoneName: "short",
  }).format(at);
}

/** The two largest units, such as `2 d 3 h`. */
export function spokenDuration(durationMs: number): string {
  const minutes = Math.max(1, Math.round(durationMs / 60_000));
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24, minutes % 60];
  const parts = [
    [days, "d"],
    [hours, "h"],
    [rest, "min"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

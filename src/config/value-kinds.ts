import type { Reading, ValueKind } from "./option.ts";

/** Any text without control characters, which come from quoting mistakes. */
export const text: ValueKind<string> = {
  title: "text",
  unit: null,
  read: (raw) => readText(raw),
  show: (value) => value,
};

/** An optional text. */
export const optionalText: ValueKind<string | null> = {
  title: "text",
  unit: null,
  read: (raw) => readText(raw),
  show: (value) => value ?? "",
};

/** Both bounds are inclusive. */
export interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly unit: string | null;
}

/** A whole number in a range; digits only, so that mistakes such as `1e3` and `0x10` are rejected. */
export function integer(range: IntegerRange): ValueKind<number> {
  const title = `integer, ${range.min} to ${range.max}`;
  return {
    title,
    unit: range.unit,
    read: (raw) => {
      const number = typeof raw === "string" && /^-?\d+$/.test(raw.trim()) ? Number(raw) : raw;
      if (typeof number !== "number" || !Number.isSafeInteger(number)) {
        return problem(`must be a whole number${unitText(range.unit)}, not ${quote(raw)}`);
      }
      if (number < range.min || number > range.max) {
        return problem(`must be between ${range.min} and ${range.max}${unitText(range.unit)}, not ${number}`);
      }
      return { kind: "value", value: number };
    },
    show: String,
  };
}

/** An optional whole number. */
export function optionalInteger(range: IntegerRange): ValueKind<number | null> {
  return { ...integer(range), show: (value) => (value === null ? "" : String(value)) };
}

/** A whole number in a range, or `auto`, which is read as null. */
export function integerOrAuto(range: IntegerRange): ValueKind<number | null> {
  const number = integer(range);
  return {
    title: `\`auto\` or ${number.title}`,
    unit: number.unit,
    read: (raw) =>
      String(raw).trim().toLowerCase() === "auto" ? { kind: "value", value: null } : number.read(raw),
    show: (value) => (value === null ? "auto" : String(value)),
  };
}

const truthy = new Set(["true", "1", "yes", "on"]);
const falsy = new Set(["false", "0", "no", "off"]);

/** `true`, `1`, `yes`, `on` and their opposites; case-insensitive. */
export const flag: ValueKind<boolean> = {
  title: "boolean",
  unit: null,
  read: (raw) => {
    const word = typeof raw === "boolean" || typeof raw === "string" ? String(raw).trim().toLowerCase() : "";
    if (truthy.has(word)) return { kind: "value", value: true };
    if (falsy.has(word)) return { kind: "value", value: false };
    return problem(`must be true or false, not ${quote(raw)}`);
  },
  show: String,
};

/** One of several words. */
export function oneOf<const Word extends string>(words: readonly Word[]): ValueKind<Word> {
  return {
    title: words.map((word) => `\`${word}\``).join(", "),
    unit: null,
    read: (raw) => {
      const found = words.find((word) => word === String(raw).trim().toLowerCase());
      return found === undefined
        ? problem(`must be one of ${words.join(", ")}, not ${quote(raw)}`)
        : valid(found);
    },
    show: (word) => word,
  };
}

/**
 * Several texts: separated by commas, or a list in YAML. Each is checked separately, so that an error names the
 * entry.
 */
export function listOf<Entry extends string>(entry: {
  readonly title: string;
  readonly problemOf: (text: string) => string | null;
}): ValueKind<readonly Entry[]> {
  return {
    title: `list of ${entry.title}, separated by commas`,
    unit: null,
    read: (raw) => {
      const entries = Array.isArray(raw) ? raw.map(String) : String(raw).split(",");
      const texts = entries.map((one) => one.trim()).filter((one) => one !== "");
      for (const one of texts) {
        const wrong = entry.problemOf(one);
        if (wrong !== null) return problem(wrong);
      }
      return valid(texts as Entry[]);
    },
    show: (entries) => entries.join(","),
  };
}

function readText(raw: unknown): Reading<string> {
  if (typeof raw !== "string" && typeof raw !== "number") return problem(`must be text, not ${quote(raw)}`);
  const given = String(raw);
  return /\p{Cc}/u.test(given) ? problem("must not contain control characters or line breaks") : valid(given);
}

function valid<Value>(given: Value): Reading<Value> {
  return { kind: "value", value: given };
}

function problem(sentence: string): { readonly kind: "problem"; readonly problem: string } {
  return { kind: "problem", problem: sentence };
}

function unitText(unit: string | null): string {
  return unit === null ? "" : ` (${unit})`;
}

function quote(raw: unknown): string {
  const shown = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? String(raw));
  return `"${shown.length > 40 ? `${shown.slice(0, 40)}…` : shown}"`;
}

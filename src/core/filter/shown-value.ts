import { isRawNumber } from "../json/lossless.ts";

/** How much of a value is shown per condition: it may be the whole body, and a filter may have 500 conditions. */
const charactersMax = 200;
const itemsMax = 10;

/** The value as shortened JSON, in time independent of its size; null if it has no JSON form. */
export function shownValue(value: unknown): string | null {
  if (!Array.isArray(value)) return plainText(value);
  const items = value.slice(0, itemsMax).map((one) => plainText(one) ?? "null");
  return `[${[...items, ...(value.length > itemsMax ? ["…"] : [])].join(",")}]`;
}

/** Omits the contents of objects and lists. */
function plainText(value: unknown): string | null {
  if (typeof value === "string") return JSON.stringify(shortened(value));
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  if (isRawNumber(value)) return shortened(value.rawJSON);
  if (typeof value !== "object") return null;
  return Array.isArray(value) ? "[…]" : "{…}";
}

/** Also used for paths, because names in a filter may be long and are part of every path below them. */
export function shortened(text: string): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

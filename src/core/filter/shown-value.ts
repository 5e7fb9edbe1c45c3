import { isRawNumber } from "../json/lossless.ts";

/** How much of a value is shown of one condition: it may be the whole body, and a filter may look at it 500 times. */
const charactersMax = 200;
const itemsMax = 10;

/** As JSON, shortened, in a time that does not grow with the value; null for what has none. */
export function shownValue(value: unknown): string | null {
  if (!Array.isArray(value)) return plainText(value);
  const items = value.slice(0, itemsMax).map((one) => plainText(one) ?? "null");
  return `[${[...items, ...(value.length > itemsMax ? ["…"] : [])].join(",")}]`;
}

/** Without what is inside of objects and lists. */
function plainText(value: unknown): string | null {
  if (typeof value === "string") return JSON.stringify(shortened(value));
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  if (isRawNumber(value)) return shortened(value.rawJSON);
  if (typeof value !== "object") return null;
  return Array.isArray(value) ? "[…]" : "{…}";
}

/** Paths as well: names in a filter may be long, and stand in the path of everything within. */
export function shortened(text: string): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

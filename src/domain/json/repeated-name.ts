/**
 * Finds names that are repeated within one object. `JSON.parse` silently keeps the last, so they are detected by
 * counting: the text has more names than the value. Only then is the text scanned for the name.
 */
import { endOfString } from "./value-end.ts";
import { skipSpace, textOf } from "./members.ts";

/** The number of members of all objects in a parsed value. */
export function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let names = 0;
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) names += countNames(element);
    return names;
  }
  for (const name in value) names += 1 + countNames((value as Readonly<Record<string, unknown>>)[name]);
  return names;
}

/** An object or array that contains the current byte. */
interface Level {
  /** Names so far; null for an array. */
  readonly names: Set<string> | null;
  /** The current member, or the index of the current element. */
  at: string | number;
}

/** Path of the first repeated name in a valid JSON text; empty if there is none. One pass. */
export function repeatedName(json: Uint8Array): string {
  const levels: Level[] = [];
  for (let index = 0; index < json.length; index += 1) {
    const level = levels.at(-1);
    switch (json[index]) {
      case openBrace:
        levels.push({ names: new Set(), at: "" });
        break;
      case openBracket:
        levels.push({ names: null, at: 0 });
        break;
      case closeBrace:
      case closeBracket:
        levels.pop();
        break;
      case comma:
        if (typeof level?.at === "number") level.at += 1;
        break;
      case quote: {
        const end = endOfString(json, index) + 1;
        const names = level?.names ?? null;
        if (level !== undefined && names !== null && json[skipSpace(json, end)] === colon) {
          level.at = JSON.parse(textOf(json, { start: index, end })) as string;
          if (names.has(level.at)) return pathOf(levels);
          names.add(level.at);
        }
        index = end - 1;
        break;
      }
      default:
        break;
    }
  }
  return "";
}

/** Such as `data.lines[2].id`. */
function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ at }, depth) => (typeof at === "number" ? `[${at}]` : `${depth === 0 ? "" : "."}${at}`))
    .join("");
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

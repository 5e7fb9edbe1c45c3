import formats from "ajv-formats";
import type { Purse } from "./pattern-program.ts";

/** Maximum length of a string that is checked; a longer string does not match. */
const formatTextLengthMax = 4_096;

/**
 * Formats whose check takes linear time. `regex`, `uri-template`, `url` and similar formats are excluded: they
 * backtrack, or compile text from the data.
 */
const fullNames = [
  "date",
  "time",
  "date-time",
  "duration",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
  "json-pointer",
] as const;
const fastNames = ["email", "uri", "uri-reference"] as const;

/** Formats by name, each with a limit on the length of the string. */
export const safeFormats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  [...fullNames, ...fastNames].map((name) => {
    const isFast = (fastNames as readonly string[]).includes(name);
    const accepts = testOf(formats.default.get(name, isFast ? "fast" : "full"));
    return [name, (text: string) => text.length <= formatTextLengthMax && accepts(text)] as const;
  }),
);

/** ajv-formats defines a format as a regular expression, a function, or an object that holds one of them. */
function testOf(source: unknown): (text: string) => boolean {
  if (source instanceof RegExp) return (text) => source.test(text);
  if (typeof source === "function") return (text) => Reflect.apply(source, undefined, [text]) === true;
  if (typeof source === "object" && source !== null && "validate" in source) return testOf(source.validate);
  throw new TypeError("ajv-formats changed the shape of a format");
}

/**
 * Limit for one validation, in units of ten to four hundred nanoseconds; the cost depends on schema and data together.
 * `{"allOf": [{"$ref": d1}, {"$ref": d1}]}`, nested thirty times, is a kilobyte of schema and a billion steps, so size
 * limits cannot replace counting. Every subschema is charged each time it is applied, in proportion to its work.
 */
export const validationUnitsMax = 250_000;

/** The budget of the current validation. One instance is enough, because validation is synchronous. */
export class ValidationBudget implements Purse {
  #unitsLeft = validationUnitsMax;

  /** Never below zero. */
  get unitsLeft(): number {
    return Math.max(0, this.#unitsLeft);
  }

  refill(units: number): void {
    this.#unitsLeft = units;
  }

  spend(units: number): void {
    this.#unitsLeft -= units;
    if (this.#unitsLeft < 0) throw new ValidationTooCostly();
  }
}

class ValidationTooCostly extends Error {
  override readonly name = "ValidationTooCostly";
}

/** The cost of applying one subschema, without its nested subschemas, which are charged separately. */
export interface SubschemaCost {
  readonly base: number;
  /** Additional cost per property of an object. */
  readonly perKey: number;
  /** Whether applying the subschema reads every character of a string. */
  readonly readsText: boolean;
}

const keyKeywords = [
  "additionalProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
];
const textKeywords = ["minLength", "maxLength", "format"];
/** One unit per this many characters. */
const charactersPerUnit = 16;

/** Estimates the cost from the schema alone. */
export function costOf(schema: Readonly<Record<string, unknown>>): SubschemaCost {
  const patterns = entriesOf(schema["patternProperties"]);
  const constant = "const" in schema ? JSON.stringify(schema["const"]).length / charactersPerUnit : 0;
  const named =
    entriesOf(schema["properties"]) + entriesOf(schema["required"]) + entriesOf(schema["dependentSchemas"]);
  const dependents = Object.values(asObject(schema["dependentRequired"])).reduce<number>(
    (sum, list) => sum + 1 + entriesOf(list),
    0,
  );
  // Problems of failing alternatives are collected until one alternative matches, which adds to the cost.
  const choices = 3 * (entriesOf(schema["anyOf"]) + entriesOf(schema["oneOf"]));
  return {
    base: Math.ceil(1 + named + dependents + constant + choices),
    perKey: keyKeywords.some((keyword) => keyword in schema) ? 1 + patterns : 0,
    readsText: textKeywords.some((keyword) => keyword in schema),
  };
}

/** Charges for applying a subschema to a value. */
export function chargeFor(cost: SubschemaCost, data: unknown, purse: Purse): void {
  let units = cost.base;
  if (cost.readsText && typeof data === "string") units += Math.floor(data.length / charactersPerUnit);
  if (cost.perKey > 0 && typeof data === "object" && data !== null)
    units += cost.perKey * Object.keys(data).length;
  purse.spend(units);
}

/**
 * Serialises a value so that equal values give equal strings, regardless of the order of their keys. This makes the
 * cost of `enum` and `uniqueItems` linear in the size of the data instead of quadratic.
 */
export function canonicalText(value: unknown, purse: Purse): string {
  purse.spend(1);
  if (typeof value === "string") purse.spend(Math.floor(value.length / charactersPerUnit));
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, purse)).join()}]`;
  // A number beyond the range of a double is infinite here; JSON would turn it into null.
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner, purse)}`).join()}}`;
}

function entriesOf(value: unknown): number {
  return Object.keys(asObject(value)).length;
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

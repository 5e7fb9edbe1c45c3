/** Values at each bound of a field and just beyond it, as the library accepts them. */
import assert from "node:assert/strict";
import type { Field, Kind, ListKind, ObjectKind, TextKind } from "../../../src/resources/field.ts";

export interface Probe {
  /** Library name of the field, or of its member under test: `retry.maxAttempts`. */
  readonly path: string;
  /** The value of the whole field, or a function that creates a new value for each call. */
  readonly value: unknown;
  readonly isAccepted: boolean;
  /** Why the value is valid or invalid, for failure messages. */
  readonly what: string;
}

/** Test data that the description of a field does not determine. */
export interface Special {
  /** Replaces the values derived from the bounds if only meaningful values are valid, such as a certificate. */
  readonly accepted?: readonly unknown[];
  /** Fields that must be set together with the value. */
  readonly beside?: (value: unknown) => object;
  /** Other members that the object requires. */
  readonly members?: object;
}

export type Specials = Readonly<Record<string, Special>>;

export function probesOf(name: string, field: Field, specials: Specials): readonly Probe[] {
  const plain = kindProbes(name, field.kind, specials);
  return [...plain, ...nullProbe(name, field)];
}

function nullProbe(path: string, { isNullable }: Field): readonly Probe[] {
  return [{ path, value: null, isAccepted: isNullable, what: "null" }];
}

function kindProbes(path: string, kind: Kind, specials: Specials): readonly Probe[] {
  const { accepted } = specials[path] ?? {};
  if (kind.is === "object") return objectProbes(path, kind, specials);
  const refused = refusedValues(kind).map(([what, value]) => ({ path, value, isAccepted: false, what }));
  const good = accepted?.map((value) => ["a good one", value] as const) ?? acceptedValues(kind);
  return [...good.map(([what, value]) => ({ path, value, isAccepted: true, what })), ...refused];
}

function objectProbes(path: string, kind: ObjectKind, specials: Specials): readonly Probe[] {
  const members = (specials[path]?.members ?? requiredOf(kind)) as Readonly<Record<string, unknown>>;
  const inner = Object.entries(kind.fields).flatMap(([name, field]) => {
    const member = `${path}.${name}`;
    const probes = probesOf(member, field, specials).map(
      ({ path: at, value, isAccepted, what }): Probe => ({
        path: at,
        value: { ...members, [name]: value },
        isAccepted,
        what,
      }),
    );
    const { [name]: _, ...others } = members;
    const missing = { path: member, value: others, isAccepted: false, what: "left out" };
    return field.isRequired ? probes.concat(missing) : probes;
  });
  return [...inner, { path, value: 7, isAccepted: false, what: "another type" }];
}

function requiredOf({ fields }: ObjectKind): object {
  const required = Object.entries(fields).filter(([, field]) => field.isRequired);
  return Object.fromEntries(required.map(([name, field]) => [name, acceptedValues(field.kind)[0]?.[1]]));
}

type Values = readonly (readonly [what: string, value: unknown])[];

function acceptedValues(kind: Exclude<Kind, ObjectKind> | Kind): Values {
  switch (kind.is) {
    case "text":
      return acceptedTexts(kind);
    case "number":
      return [
        ["the least", kind.min],
        ["the most", kind.max],
      ];
    case "choice":
      return kind.values.map((value) => [`the choice ${value}`, value]);
    case "flag":
      return [
        ["true", true],
        ["false", false],
      ];
    case "id":
      return [["an id", "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"]];
    case "time":
      return [["a time", Date.UTC(2100, 0)]];
    case "list":
      return acceptedLists(kind);
    case "url":
      return [["the longest", `https://example.com/${"a".repeat(kind.lengthMax - 20)}`]];
    case "headers":
      return [
        ["as many as allowed", headersOf(kind.countMax, "v")],
        ["the longest value", headersOf(1, "v".repeat(kind.valueLengthMax))],
      ];
    case "document":
      return [["a large one", documentOf(kind.bytesMax ?? 100)]];
    case "json":
      return [
        ["a list", [1, "a"]],
        ["a text", "a"],
        ["a number", 7],
      ];
    case "schema":
      return [["an object", { type: "object" }]];
    default:
      return [];
  }
}

function acceptedTexts({ lengthMin, lengthMax, pattern }: TextKind): Values {
  const pair = "\u{1f4ef}".repeat(lengthMax);
  const isForAll = new RegExp(pattern, "u").test(pair);
  return [
    ["the longest", textFor(pattern, [...formsOf(lengthMax), "none", "en"])],
    ["the shortest", textFor(pattern, [...formsOf(lengthMin), "422", "en"])],
    ...(isForAll ? [["the longest in surrogate pairs", pair] as const] : []),
  ];
}

/** Words, addresses and colors of a given length. */
function formsOf(length: number): readonly string[] {
  return ["", "https://", "#"].map((start) => start + "a".repeat(Math.max(0, length - start.length)));
}

/** The first of the words that matches the pattern. The few patterns that match none of them list their values. */
function textFor(pattern: string, texts: readonly string[]): string {
  const named = pattern.match(/\w{3,}/g) ?? [];
  const found = [...texts, ...named, traceparent].find((text) => new RegExp(pattern, "u").test(text));
  return found ?? assert.fail(`no text for ${pattern}`);
}

/** For the only pattern that does not match any of the words and does not list its values. */
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function acceptedLists(kind: ListKind): Values {
  const fromItems = acceptedValues(kind.item).map(([what, item]) => [`with ${what}`, [item]] as const);
  return [
    ["as many items as allowed", itemsOf(kind, kind.countMax)],
    ["as few items as allowed", itemsOf(kind, kind.countMin)],
    ...fromItems,
  ];
}

function refusedValues(kind: Kind): Values {
  const another = ["another type", kind.is === "number" ? "7" : 7] as const;
  switch (kind.is) {
    case "text":
      return [another, ...refusedTexts(kind)];
    case "number":
      return [
        another,
        ["less than the minimum", kind.whole ? kind.min - 1 : kind.min - 0.05],
        ["more than the maximum", kind.whole ? kind.max + 1 : kind.max + 0.05],
        ...(kind.whole ? [["a fraction", kind.min + 0.5] as const] : []),
      ];
    case "choice":
      return [another, ["no choice", "nope"]];
    case "id":
    case "flag":
      return [another, ["no such value", "nope"]];
    case "time":
      return [["no time", "nope"]];
    case "json":
      return [];
    case "list":
      return [another, ...refusedLists(kind)];
    case "url":
      return [another, ["too long", `https://example.com/${"a".repeat(kind.lengthMax - 19)}`]];
    case "headers":
      return [
        another,
        ["too many", headersOf(kind.countMax + 1, "v")],
        ["a value that is too long", headersOf(1, "v".repeat(kind.valueLengthMax + 1))],
      ];
    case "document":
      if (kind.bytesMax === null) return [another];
      return [
        another,
        ["too large", documentOf(kind.bytesMax + 1)],
        ["half of a surrogate pair", { note: ["\ud83d"] }],
        ["U+0000 in a name", { "a\0": 1 }],
      ];
    default:
      return [another];
  }
}

function refusedTexts({ lengthMin, lengthMax, pattern }: TextKind): Values {
  const outsiders = ["\u0000", "\udc00", "a\u0085", "a\nb", "a b\t", "Ä"];
  const isRefused = (text: string) => !text.isWellFormed() || !new RegExp(pattern, "u").test(text);
  const beyond = outsiders.filter(isRefused);
  return [
    ["too long", "a".repeat(lengthMax + 1)],
    ...(lengthMin > 0 ? [["too short", "a".repeat(lengthMin - 1)] as const] : []),
    ...beyond.map((text) => [`the text ${JSON.stringify(text)}`, text] as const),
  ];
}

function refusedLists(kind: ListKind): Values {
  const { countMin, countMax, isSet } = kind;
  const [good] = itemsOf(kind, 1);
  return [
    ["too many items", itemsOf(kind, countMax + 1)],
    ...(countMin > 0 ? [["too few items", itemsOf(kind, countMin - 1)] as const] : []),
    ...(isSet ? [["an item twice", [good, good]] as const] : []),
    ...refusedValues(kind.item).map(([what, item]) => [`an item that is ${what}`, [item]] as const),
  ];
}

/** Distinct values, if that many exist. */
function itemsOf({ item }: ListKind, count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, index) => {
    if (item.is === "text")
      return textFor(item.pattern, [
        `item${index}`,
        String(100 + index),
        `https://item${index}`,
        `/item${index}`,
      ]);
    if (item.is === "number") return Math.max(item.min, 1);
    if (item.is === "choice") return item.values[index] ?? item.values[0];
    return acceptedValues(item)[0]?.[1];
  });
}

function headersOf(count: number, value: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-Name-${index}`, value]));
}

function documentOf(bytes: number): object {
  return { text: "x".repeat(bytes - '{"text":""}'.length) };
}

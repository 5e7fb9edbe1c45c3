import { InvalidRequestError } from "./errors.ts";
import { canonicalText, compareNumbers, isRawNumber, type RawNumber } from "./json/lossless.ts";
import { isRecord } from "./plain-record.ts";
import { StepBudget } from "./step-budget.ts";

/**
 * Maximum characters of a value that are shown per condition. A value may be the whole body, and a filter may have 500
 * conditions.
 */
const charactersMax = 200;
const itemsMax = 10;

/** The value as shortened JSON, or null if it has no JSON form. The cost does not depend on the size of the value. */
function shownValue(value: unknown): string | null {
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

/** Also used for paths: names in a filter may be long, and each name is repeated in every path below it. */
function shortened(text: string): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

// Placeholders for message values that the request log does not contain.

/** The value exists but is secret, so it is not logged. */
export const masked: unique symbol = Symbol("masked");
/** It is unknown whether the value existed. */
export const notKept: unique symbol = Symbol("not kept");

export type Unknown = typeof masked | typeof notKept;

// Filter rules over a message as JSON: `{"body": {"action": {"$in": ["opened"]}}}`. Compiled once. Evaluating a message
// spends steps of a budget: one for each condition, and one for each item of a list in the message, regardless of how
// many conditions compare the item. Numbers are compared by value with all their digits (domain/json/lossless.ts), and
// header names case-insensitively.

/** The message that a filter evaluates. */
export interface FilteredMessage {
  /** Parsed JSON with canonical numbers (`parseCanonical`); undefined if the body is not JSON. */
  readonly body: unknown;
  /** Indexed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly path: string;
}

/** A message that is stored only in part. */
export interface PartlyKnownMessage {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | Unknown>> | Unknown;
  readonly query: Readonly<Record<string, string | Unknown>> | Unknown;
  readonly path: string | Unknown;
}

export interface Filter {
  /** The path of the rule that refuses the message, such as `body.action`; null if the message passes. */
  (message: FilteredMessage, look?: Look): string | null;
  /**
   * Evaluates the rules on the known parts. A result is valid for the whole message; it is undefined if it depends on
   * unknown parts. With a trace, every condition is recorded, including those that no longer affect the result.
   */
  readonly examine: (message: PartlyKnownMessage, trace?: TraceStep[]) => Verdict;
}

/** One evaluated condition. `$or` and `$not` follow the conditions that they contain. */
export interface TraceStep {
  /** The path of the rule, as in the request log. */
  readonly path: string;
  readonly operator: string;
  /** Shortened JSON; null for `$or` and `$not`. */
  readonly expected: string | null;
  /** Shortened JSON; null if the value is absent or unknown. */
  readonly actual: string | null;
  /** Null if the result depends on unknown parts. */
  readonly result: boolean | null;
  /** Why the value is unknown; null if it is known. */
  readonly unknown: "masked" | "not_kept" | null;
}

/** The path of the refusing rule; null if the message passes; undefined if that cannot be determined. */
export type Verdict = string | null | undefined;

type Rule = (value: unknown, look: Look) => Verdict;

/** One evaluation of a message by one or more filters, which share cached values and the step budget. */
export class Look {
  readonly trace: TraceStep[] | null;
  readonly #budget: StepBudget;
  readonly #lists = new Map<readonly unknown[], Items>();

  constructor(budget: StepBudget = new StepBudget(), trace: TraceStep[] | null = null) {
    this.#budget = budget;
    this.trace = trace;
  }

  spend(steps: number): void {
    this.#budget.spend(steps);
  }

  /** The items of a list in the message, collected once. */
  itemsOf(list: readonly unknown[]): Items {
    let items = this.#lists.get(list);
    if (items === undefined) {
      this.#budget.spend(list.length);
      this.#lists.set(list, (items = new Items(list)));
    }
    return items;
  }
}

/** Values in the form in which conditions compare them, with numbers compared by value. */
class Items {
  readonly #plain: ReadonlySet<unknown>;
  readonly #numbers: ReadonlySet<string>;
  readonly values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.values = values;
    this.#plain = new Set(values);
    this.#numbers = new Set(values.filter(isRawNumber).map(canonicalText));
  }

  has(value: unknown): boolean {
    return isRawNumber(value) ? this.#numbers.has(canonicalText(value)) : this.#plain.has(value);
  }
}

const parts = ["body", "headers", "query", "path"] as const;
const nodesMax = 500;
const depthMax = 16;

interface Compiling {
  readonly at: string;
  readonly depth: number;
  readonly counted: { nodes: number };
  /** What the members are: parts of a message, header names, query parameters, or members of a value. */
  readonly of: "message" | "headers" | "query" | "text" | "value";
  /** Whether the rule is new. A new rule must be able to match; a stored rule is accepted unchanged. */
  readonly isStrict: boolean;
}

/** Throws an InvalidRequestError whose fields contain the paths. */
export function compileFilter(source: unknown): Filter {
  return filterOf(source, false);
}

/** Validates a new filter; unlike `compileFilter`, it also refuses conditions that no message can meet. */
export function checkFilter(source: unknown): void {
  filterOf(source, true);
}

function filterOf(source: unknown, isStrict: boolean): Filter {
  const rule = compile(source, { at: "", depth: 0, counted: { nodes: 0 }, of: "message", isStrict });
  // For a complete message the result is never undefined.
  const filter = (message: FilteredMessage, look = new Look()): string | null => rule(message, look) ?? null;
  const examine: Filter["examine"] = (message, trace) => rule(message, new Look(undefined, trace ?? null));
  return Object.assign(filter, { examine });
}

function compile(source: unknown, place: Compiling): Rule {
  const { at, depth, counted, of, isStrict } = place;
  counted.nodes += 1;
  if (counted.nodes > nodesMax) throw refused(at, `the filter has more than ${nodesMax} parts`);
  if (depth > depthMax) throw refused(at, `is nested more than ${depthMax} levels deep`);
  if (!isRecord(source) || isRawNumber(source)) {
    if (of === "message") throw refused(at, "must be an object");
    if (Array.isArray(source)) throw refused(at, "must be a value or an object; use $in for a list");
    return comparison("$eq", source, place);
  }
  if (isStrict) refuseEmptyRange(source, place);
  return allOf(
    Object.entries(source).map(([name, value]) => {
      const inside = { ...place, at: `${at}.${name}`, depth: depth + 1 };
      return name.startsWith("$") ? logical(name, value, inside) : memberRule(name, value, inside);
    }),
  );
}

function memberRule(name: string, value: unknown, inside: Compiling): Rule {
  const { at, of, isStrict } = inside;
  switch (of) {
    case "message":
      if (!(parts as readonly string[]).includes(name))
        throw refused(at, `must be one of ${parts.join(", ")}, $and, $or and $not`);
      return member(name, compile(value, { ...inside, of: partKinds[name as keyof typeof partKinds] }));
    case "headers":
      if (isStrict && !headerName.test(name)) throw refused(at, "is not a header name");
      return member(name.toLowerCase(), compile(value, { ...inside, of: "text" }));
    case "query":
      return member(name, compile(value, { ...inside, of: "text" }));
    case "text":
      if (isStrict)
        throw refused(
          at,
          "never matches: headers, query parameters and the path are strings, which have no fields",
        );
      return member(name, compile(value, inside));
    default:
      return member(name, compile(value, inside));
  }
}

const partKinds = { body: "value", headers: "headers", query: "query", path: "text" } as const;
/** A header name is a token as defined in RFC 9110, section 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** `$and`, `$or`, `$not`, and the comparisons. */
function logical(name: string, value: unknown, place: Compiling): Rule {
  const { at, counted } = place;
  const inner = (source: unknown, index: number): Rule =>
    compile(source, { ...place, at: `${at}[${index}]` });
  switch (name) {
    case "$and":
      return allOf(listOf(value, at).map(inner));
    case "$or": {
      const rules = listOf(value, at).map(inner);
      return noted(name, at, anyOf(rules, shown(at)));
    }
    case "$not": {
      const rule = compile(value, place);
      return noted(name, at, opposite(rule, shown(at)));
    }
    default:
      counted.nodes += 1;
      return comparison(name, value, place);
  }
}

function comparison(name: string, value: unknown, { at, of, isStrict }: Compiling): Rule {
  const test = comparisons[name];
  if (test === undefined || !Object.hasOwn(comparisons, name))
    throw refused(
      at,
      `is not an operator; use one of ${Object.keys(comparisons).join(", ")}, $and, $or and $not`,
    );
  const rule = test(value);
  if (rule === null) throw refused(at, "cannot be compared with this value");
  if (isStrict) refuseHopeless(name, value, { at, of });
  const refusal = shown(at);
  const pathInTrace = shortened(refusal);
  const expected = shownValue(value);
  const cost = stepsOf(value);
  return (given, look) => {
    look.spend(cost);
    const judged = rule(given, look) ? null : refusal;
    const verdict = isUnknown(given, name) ? undefined : judged;
    look.trace?.push({
      path: pathInTrace,
      operator: name,
      expected,
      actual: shownValue(given),
      result: resultOf(verdict),
      unknown: whyUnknown(given),
    });
    return verdict;
  };
}

/**
 * The steps that a comparison with this value costs. Long strings take longer to compare, and each value of a list is
 * looked up.
 */
function stepsOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((steps, one) => steps + stepsOf(one), 1);
  return 1 + (typeof value === "string" ? Math.floor(value.length / charactersPerStep) : 0);
}

const charactersPerStep = 64;

/** Strings are compared only with strings. */
function refuseHopeless(name: string, value: unknown, { at, of }: Pick<Compiling, "at" | "of">): void {
  const isList = Array.isArray(value);
  if (name === "$in" && isList && value.length === 0) throw refused(at, "never matches: the list is empty");
  if (of === "message" || of === "headers" || of === "query")
    throw refused(
      at,
      `never matches: name what to compare ${of === "message" ? "of the message" : `within ${of}`}`,
    );
  if (of === "value" || name === "$exist") return;
  const values: readonly unknown[] = isList ? value : [value];
  if (values.every((one) => typeof one === "string")) return;
  throw refused(
    at,
    "never matches: headers, query parameters and the path are strings; write the value in quotes",
  );
}

/** Refuses a range that no value can match. */
function refuseEmptyRange(rule: Readonly<Record<string, unknown>>, { at }: Compiling): void {
  for (const low of ["$gt", "$gte"])
    for (const high of ["$lt", "$lte"]) {
      const [from, to] = [rule[low], rule[high]];
      const order = orderOf(from, to);
      if (order === undefined ? from === undefined || to === undefined : order < 0) continue;
      if (order === 0 && low === "$gte" && high === "$lte") continue;
      throw refused(at, `never matches: no value satisfies both ${low} and ${high}`);
    }
}

/** A masked value exists; nothing else is known about it. */
function isUnknown(given: unknown, operator: string): boolean {
  return given === notKept || (given === masked && operator !== "$exist");
}

function whyUnknown(given: unknown): TraceStep["unknown"] {
  if (given === masked) return "masked";
  return given === notKept ? "not_kept" : null;
}

function resultOf(verdict: Verdict): boolean | null {
  return verdict === undefined ? null : verdict === null;
}

type Test = (given: unknown, look: Look) => boolean;

const comparisons: Readonly<Record<string, (value: unknown) => Test | null>> = {
  $eq: (value) => oneOf([value]),
  $neq: (value) => noneOf([value]),
  $in: (value) => (Array.isArray(value) ? oneOf(value) : null),
  $nin: (value) => (Array.isArray(value) ? noneOf(value) : null),
  $gt: (value) => ordered(value, (order) => order > 0),
  $gte: (value) => ordered(value, (order) => order >= 0),
  $lt: (value) => ordered(value, (order) => order < 0),
  $lte: (value) => ordered(value, (order) => order <= 0),
  $startsWith: (value) => worded(value, (given, text) => given.startsWith(text)),
  $endsWith: (value) => worded(value, (given, text) => given.endsWith(text)),
  $exist: (value) => (typeof value === "boolean" ? (given) => (given !== undefined) === value : null),
};

/** A list in the message matches if one of its items does. */
function oneOf(values: readonly unknown[]): Test | null {
  if (values.length > nodesMax || !values.every(isPlain)) return null;
  const known = new Items(values);
  return (given, look) => {
    if (!Array.isArray(given)) return known.has(given);
    const items = look.itemsOf(given);
    return known.values.some((value) => items.has(value));
  };
}

function noneOf(values: readonly unknown[]): Test | null {
  const within = oneOf(values);
  return within === null ? null : (given, look) => !within(given, look);
}

function ordered(value: unknown, fits: (order: number) => boolean): Test | null {
  if (!isNumeric(value) && typeof value !== "string") return null;
  return (given) => {
    const order = orderOf(given, value);
    return order !== undefined && fits(order);
  };
}

/**
 * Undefined for values that cannot be ordered because their types differ or because they are neither numbers nor
 * strings.
 */
function orderOf(left: unknown, right: unknown): number | undefined {
  if (isNumeric(left) && isNumeric(right)) return compareNumbers(left, right);
  if (typeof left !== "string" || typeof right !== "string") return undefined;
  return left < right ? -1 : Number(left > right);
}

function isNumeric(value: unknown): value is number | RawNumber {
  return typeof value === "number" || isRawNumber(value);
}

function worded(value: unknown, fits: (given: string, text: string) => boolean): Test | null {
  return typeof value === "string" ? (given) => typeof given === "string" && fits(given, value) : null;
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value) || isRawNumber(value);
}

function member(name: string, rule: Rule): Rule {
  return (given, look) => rule(memberOf(given, name), look);
}

/** Masked values are strings and have no members. If a value was not stored, its members were not stored either. */
function memberOf(given: unknown, name: string): unknown {
  if (given === notKept) return notKept;
  return typeof given === "object" && given !== null && Object.hasOwn(given, name) && !isRawNumber(given)
    ? (given as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/**
 * The first rule that refuses determines the result. An undetermined rule does not matter if a different one refuses.
 */
function allOf(rules: readonly Rule[]): Rule {
  return (given, look) => {
    let verdict: Verdict = null;
    for (const rule of rules) {
      const one = rule(given, look);
      if (typeof one === "string") {
        if (look.trace === null) return one;
        if (typeof verdict !== "string") verdict = one;
      } else if (one === undefined && verdict === null) verdict = undefined;
    }
    return verdict;
  };
}

/** Passes if one rule passes. An undetermined rule does not matter if a different one passes. */
function anyOf(rules: readonly Rule[], refusal: string): Rule {
  return (given, look) => {
    let verdict: Verdict = refusal;
    for (const rule of rules) {
      const one = rule(given, look);
      if (one === null) {
        if (look.trace === null) return null;
        verdict = null;
      } else if (one === undefined && verdict !== null) verdict = undefined;
    }
    return verdict;
  };
}

function opposite(rule: Rule, refusal: string): Rule {
  return (given, look) => {
    const verdict = rule(given, look);
    if (verdict === undefined) return undefined;
    return verdict === null ? refusal : null;
  };
}

/** Adds a trace step for the rule after those of its conditions. */
function noted(operator: string, at: string, rule: Rule): Rule {
  const path = shortened(shown(at));
  return (given, look) => {
    const verdict = rule(given, look);
    const nothing = { expected: null, actual: null, unknown: null } as const;
    look.trace?.push({ path, operator, ...nothing, result: resultOf(verdict) });
    return verdict;
  };
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value as readonly unknown[];
  throw refused(at, "must be a list of rules");
}

function shown(at: string): string {
  return at.slice(1);
}

function refused(field: string, message: string): InvalidRequestError {
  return new InvalidRequestError("the filter is not valid", [{ field, message }]);
}

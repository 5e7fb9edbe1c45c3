/**
 * Rules over a message as JSON: `{"body": {"action": {"$in": ["opened"]}}}`. Compiled once. A look at a message spends the
 * steps of a budget: one for each condition, and one for each item of a list in the message, however many conditions compare
 * it. Numbers are compared by value and with all of their digits (core/json/lossless.ts), names of headers without case.
 */
import { InvalidRequestError } from "../errors.ts";
import { isRecord } from "../plain-record.ts";
import { canonicalText, compareNumbers, isRawNumber, type RawNumber } from "../json/lossless.ts";
import { StepBudget } from "../step-budget.ts";
import { shortened, shownValue } from "./shown-value.ts";
import { masked, notKept, type Unknown } from "./unknown.ts";

/** What a filter looks at. */
export interface FilteredMessage {
  /** Parsed JSON with canonical numbers (`parseCanonical`); undefined where the body is none. */
  readonly body: unknown;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly path: string;
}

/** A message of which some is not known any more. */
export interface PartlyKnownMessage {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | Unknown>> | Unknown;
  readonly query: Readonly<Record<string, string | Unknown>> | Unknown;
  readonly path: string | Unknown;
}

export interface Filter {
  /** The path of the rule that refuses the message, such as `body.action`; null when it passes. */
  (message: FilteredMessage, look?: Look): string | null;
  /**
   * The same walk over what is still known: what it says holds for the whole message, and where that depends on what is
   * not known the answer is undefined. With a trace it notes every condition, also those that decide nothing any more.
   */
  readonly examine: (message: PartlyKnownMessage, trace?: TraceStep[]) => Verdict;
}

/** One condition, or `$or` and `$not` after those within them. */
export interface TraceStep {
  /** As the log of requests names the rule. */
  readonly path: string;
  readonly operator: string;
  /** JSON, shortened; null for `$or` and `$not`. */
  readonly expected: string | null;
  /** JSON, shortened; null where nothing stands there, or where it is not known. */
  readonly actual: string | null;
  /** Null when that depends on what is not known. */
  readonly result: boolean | null;
  /** Why the value is not known; null for one that is. */
  readonly unknown: "masked" | "not_kept" | null;
}

/** The path of the rule that refuses; null when the message passes; undefined when that cannot be told. */
export type Verdict = string | null | undefined;

type Rule = (value: unknown, look: Look) => Verdict;

/** One look at a message, or several that share what they find out: several filters, all conditions of each. */
export class Look {
  readonly trace: TraceStep[] | null;
  readonly #budget: StepBudget;
  readonly #lists = new Map<readonly unknown[], Items>();

  constructor({
    budget = new StepBudget(),
    trace = null,
  }: { budget?: StepBudget; trace?: TraceStep[] | null } = {}) {
    this.#budget = budget;
    this.trace = trace;
  }

  spend(steps: number): void {
    this.#budget.spend(steps);
  }

  /** The items of a list in the message, gathered once. */
  itemsOf(list: readonly unknown[]): Items {
    let items = this.#lists.get(list);
    if (items === undefined) {
      this.#budget.spend(list.length);
      this.#lists.set(list, (items = new Items(list)));
    }
    return items;
  }
}

/** Values by which a condition compares, with numbers by value. */
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
  /** Members are the parts of a message, the names of headers, or those of a value. */
  readonly of: "message" | "headers" | "query" | "text" | "value";
  /** A new rule must be able to match; one that is stored already is taken as it is. */
  readonly isStrict: boolean;
}

/** Throws InvalidRequestError, whose fields name the places. */
export function compileFilter(source: unknown): Filter {
  return filterOf(source, { isStrict: false });
}

/** The same for a filter that somebody writes now: also refuses conditions that no message can meet. */
export function checkFilter(source: unknown): void {
  filterOf(source, { isStrict: true });
}

function filterOf(source: unknown, { isStrict }: { readonly isStrict: boolean }): Filter {
  const rule = compile(source, { at: "", depth: 0, counted: { nodes: 0 }, of: "message", isStrict });
  // Of a whole message everything can be told.
  const filter = (message: FilteredMessage, look = new Look()): string | null => rule(message, look) ?? null;
  const examine: Filter["examine"] = (message, trace) => rule(message, new Look({ trace: trace ?? null }));
  return Object.assign(filter, { examine });
}

function compile(source: unknown, place: Compiling): Rule {
  const { at, depth, counted, of, isStrict } = place;
  counted.nodes += 1;
  if (counted.nodes > nodesMax) throw refused({ field: at }, `the filter has more than ${nodesMax} parts`);
  if (depth > depthMax) throw refused({ field: at }, `lies more than ${depthMax} deep`);
  if (!isRecord(source) || isRawNumber(source)) {
    if (of === "message") throw refused({ field: at }, "must be an object");
    if (Array.isArray(source))
      throw refused({ field: at }, "must be a value or an object; use $in for a list");
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
        throw refused({ field: at }, `is none of ${parts.join(", ")}, $and, $or and $not`);
      return member(name, compile(value, { ...inside, of: partKinds[name as keyof typeof partKinds] }));
    case "headers":
      if (isStrict && !headerName.test(name)) throw refused({ field: at }, "is not the name of a header");
      return member(name.toLowerCase(), compile(value, { ...inside, of: "text" }));
    case "query":
      return member(name, compile(value, { ...inside, of: "text" }));
    case "text":
      if (isStrict)
        throw refused(
          { field: at },
          "never matches: headers, query parameters and the path are texts, which have no members",
        );
      return member(name, compile(value, inside));
    default:
      return member(name, compile(value, inside));
  }
}

const partKinds = { body: "value", headers: "headers", query: "query", path: "text" } as const;
/** A token of RFC 9110, 5.6.2. */
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
      return noted(name, { at, rule: anyOf(rules, shown(at)) });
    }
    case "$not": {
      const rule = compile(value, place);
      return noted(name, { at, rule: opposite(rule, shown(at)) });
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
      { field: at },
      `is no operator; there are ${Object.keys(comparisons).join(", ")}, $and, $or and $not`,
    );
  const rule = test(value);
  if (rule === null) throw refused({ field: at }, "cannot be compared with this value");
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
      ...{ path: pathInTrace, operator: name, expected, actual: shownValue(given) },
      ...{ result: resultOf(verdict), unknown: whyUnknown(given) },
    });
    return verdict;
  };
}

/** Long texts take longer to compare, and each value of a list is looked for. */
function stepsOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((steps, one) => steps + stepsOf(one), 1);
  return 1 + (typeof value === "string" ? Math.floor(value.length / charactersPerStep) : 0);
}

const charactersPerStep = 64;

/** Texts are compared with texts alone. */
function refuseHopeless(name: string, value: unknown, { at, of }: Pick<Compiling, "at" | "of">): void {
  const isList = Array.isArray(value);
  if (name === "$in" && isList && value.length === 0)
    throw refused({ field: at }, "never matches: the list is empty");
  if (of === "message" || of === "headers" || of === "query")
    throw refused(
      { field: at },
      `never matches: name what to compare ${of === "message" ? "of the message" : `within ${of}`}`,
    );
  if (of === "value" || name === "$exist") return;
  const values: readonly unknown[] = isList ? value : [value];
  if (values.every((one) => typeof one === "string")) return;
  throw refused(
    { field: at },
    "never matches: headers, query parameters and the path are texts; write the value in quotes",
  );
}

/** Bounds between which nothing lies. */
function refuseEmptyRange(rule: Readonly<Record<string, unknown>>, { at }: Compiling): void {
  for (const low of ["$gt", "$gte"])
    for (const high of ["$lt", "$lte"]) {
      const [from, to] = [rule[low], rule[high]];
      const order = orderOf(from, to);
      if (order === undefined ? from === undefined || to === undefined : order < 0) continue;
      if (order === 0 && low === "$gte" && high === "$lte") continue;
      throw refused({ field: at }, `never matches: nothing is both ${low} and ${high} of these values`);
    }
}

/** What is masked is there, and no more is known of it. */
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

/** A list in the message has a value when one of its items is it. */
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

/** Undefined for values that have no order: of different kinds, or neither numbers nor texts. */
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

/** Texts, which are all that is masked, have no members; those of what is not kept are not kept either. */
function memberOf(given: unknown, name: string): unknown {
  if (given === notKept) return notKept;
  return typeof given === "object" && given !== null && Object.hasOwn(given, name) && !isRawNumber(given)
    ? (given as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** Refused by the first that refuses. One that cannot be told does not matter where another refuses. */
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

/** One that cannot be told does not matter where another passes. */
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

/** Adds a step for the rule behind those of its conditions. */
function noted(operator: string, { at, rule }: { readonly at: string; readonly rule: Rule }): Rule {
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
  throw refused({ field: at }, "must be a list of rules");
}

function shown(at: string): string {
  return at.slice(1);
}

function refused({ field }: { readonly field: string }, message: string): InvalidRequestError {
  return new InvalidRequestError("the filter is not valid", [{ field, message }]);
}

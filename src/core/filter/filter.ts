/**
 * Rules over a message as JSON: `{"body": {"action": {"$in": ["opened"]}}}`. Compiled once; a look at a message takes time
 * linear in the rule, which has a bound, and never runs anything of whoever wrote it.
 */
import { InvalidRequestError } from "../errors.ts";
import { isRecord } from "../plain-record.ts";
import { shortened, shownValue } from "./shown-value.ts";
import { masked, notKept, type Unknown } from "./unknown.ts";

/** What a filter looks at. */
export interface FilteredMessage {
  /** Parsed JSON; undefined where the body is none. */
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
  (message: FilteredMessage): string | null;
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

type Rule = (value: unknown, trace: TraceStep[] | null) => Verdict;

const parts = ["body", "headers", "query", "path"] as const;
const nodesMax = 500;
const depthMax = 16;

interface Compiling {
  readonly at: string;
  readonly depth: number;
  readonly counted: { nodes: number };
  /** Members are the parts of a message, and not those of a value. */
  readonly isMessage: boolean;
}

/** Throws InvalidRequestError, whose fields name the places. */
export function compileFilter(source: unknown): Filter {
  const rule = compile(source, { at: "", depth: 0, counted: { nodes: 0 }, isMessage: true });
  // Of a whole message everything can be told.
  const filter = (message: FilteredMessage): string | null => rule(message, null) ?? null;
  const examine: Filter["examine"] = (message, trace) => rule(message, trace ?? null);
  return Object.assign(filter, { examine });
}

function compile(source: unknown, place: Compiling): Rule {
  const { at, depth, counted, isMessage } = place;
  counted.nodes += 1;
  if (counted.nodes > nodesMax) throw refused({ field: at }, `the filter has more than ${nodesMax} parts`);
  if (depth > depthMax) throw refused({ field: at }, `lies more than ${depthMax} deep`);
  if (!isRecord(source)) {
    if (isMessage) throw refused({ field: at }, "must be an object");
    if (Array.isArray(source))
      throw refused({ field: at }, "must be a value or an object; use $in for a list");
    return comparison("$eq", source, at);
  }
  return allOf(
    Object.entries(source).map(([name, value]) => {
      const inside = { ...place, at: `${at}.${name}`, depth: depth + 1 };
      if (name.startsWith("$")) return logical(name, value, inside);
      if (isMessage && !(parts as readonly string[]).includes(name))
        throw refused({ field: inside.at }, `is none of ${parts.join(", ")}, $and, $or and $not`);
      return member(name, compile(value, { ...inside, isMessage: false }));
    }),
  );
}

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
      return comparison(name, value, at);
  }
}

function comparison(name: string, value: unknown, at: string): Rule {
  const test = comparisons[name];
  if (test === undefined || !Object.hasOwn(comparisons, name))
    throw refused(
      { field: at },
      `is no operator; there are ${Object.keys(comparisons).join(", ")}, $and, $or and $not`,
    );
  const rule = test(value);
  if (rule === null) throw refused({ field: at }, "cannot be compared with this value");
  const refusal = shown(at);
  const pathInTrace = shortened(refusal);
  const expected = shownValue(value);
  return (given, trace) => {
    const judged = rule(given) ? null : refusal;
    const verdict = isUnknown(given, name) ? undefined : judged;
    trace?.push({
      ...{ path: pathInTrace, operator: name, expected, actual: shownValue(given) },
      ...{ result: resultOf(verdict), unknown: whyUnknown(given) },
    });
    return verdict;
  };
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

type Test = (given: unknown) => boolean;

const comparisons: Readonly<Record<string, (value: unknown) => Test | null>> = {
  $eq: (value) => (isPlain(value) ? (given) => given === value || holds(given, value) : null),
  $neq: (value) => (isPlain(value) ? (given) => given !== value && !holds(given, value) : null),
  $in: (value) => oneOf(value),
  $nin: (value) => {
    const within = oneOf(value);
    return within === null ? null : (given) => !within(given);
  },
  $gt: (value) => ordered(value, (order) => order > 0),
  $gte: (value) => ordered(value, (order) => order >= 0),
  $lt: (value) => ordered(value, (order) => order < 0),
  $lte: (value) => ordered(value, (order) => order <= 0),
  $startsWith: (value) => worded(value, (given, text) => given.startsWith(text)),
  $endsWith: (value) => worded(value, (given, text) => given.endsWith(text)),
  $exist: (value) => (typeof value === "boolean" ? (given) => (given !== undefined) === value : null),
};

/** A list in the message has a value when one of its items is it. */
function holds(given: unknown, value: unknown): boolean {
  return Array.isArray(given) && given.includes(value);
}

function oneOf(value: unknown): Test | null {
  if (!Array.isArray(value) || value.length > nodesMax || !value.every(isPlain)) return null;
  const known = new Set<unknown>(value);
  return (given) => (Array.isArray(given) ? given.some((one) => known.has(one)) : known.has(given));
}

function ordered(value: unknown, fits: (order: number) => boolean): Test | null {
  if (typeof value === "number") return (given) => typeof given === "number" && fits(given - value);
  if (typeof value !== "string") return null;
  return (given) => typeof given === "string" && fits(given < value ? -1 : Number(given > value));
}

function worded(value: unknown, fits: (given: string, text: string) => boolean): Test | null {
  return typeof value === "string" ? (given) => typeof given === "string" && fits(given, value) : null;
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function member(name: string, rule: Rule): Rule {
  return (given, trace) => rule(memberOf(given, name), trace);
}

/** Texts, which are all that is masked, have no members; those of what is not kept are not kept either. */
function memberOf(given: unknown, name: string): unknown {
  if (given === notKept) return notKept;
  return typeof given === "object" && given !== null && Object.hasOwn(given, name)
    ? (given as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** Refused by the first that refuses. One that cannot be told does not matter where another refuses. */
function allOf(rules: readonly Rule[]): Rule {
  return (given, trace) => {
    let verdict: Verdict = null;
    for (const rule of rules) {
      const one = rule(given, trace);
      if (typeof one === "string") {
        if (trace === null) return one;
        if (typeof verdict !== "string") verdict = one;
      } else if (one === undefined && verdict === null) verdict = undefined;
    }
    return verdict;
  };
}

/** One that cannot be told does not matter where another passes. */
function anyOf(rules: readonly Rule[], refusal: string): Rule {
  return (given, trace) => {
    let verdict: Verdict = refusal;
    for (const rule of rules) {
      const one = rule(given, trace);
      if (one === null) {
        if (trace === null) return null;
        verdict = null;
      } else if (one === undefined && verdict !== null) verdict = undefined;
    }
    return verdict;
  };
}

function opposite(rule: Rule, refusal: string): Rule {
  return (given, trace) => {
    const verdict = rule(given, trace);
    if (verdict === undefined) return undefined;
    return verdict === null ? refusal : null;
  };
}

/** Adds a step for the rule behind those of its conditions. */
function noted(operator: string, { at, rule }: { readonly at: string; readonly rule: Rule }): Rule {
  const path = shortened(shown(at));
  return (given, trace) => {
    const verdict = rule(given, trace);
    const nothing = { expected: null, actual: null, unknown: null } as const;
    trace?.push({ path, operator, ...nothing, result: resultOf(verdict) });
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

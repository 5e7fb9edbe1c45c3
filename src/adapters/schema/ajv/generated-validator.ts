import { createRequire } from "node:module";
import { Script } from "node:vm";
import type { ErrorObject } from "ajv/dist/2020.js";
import type { CompiledSchema, FieldProblem, ValidationAllowance } from "../../../ports/schema-compiler.ts";
import { toFieldProblems } from "./field-problems.ts";
import { matchesAnywhere } from "./pattern-matcher.ts";
import { compilePattern, type Instruction } from "./pattern-program.ts";
import { safeFormats } from "./safe-formats.ts";
import { canonicalText, chargeFor, ValidationBudget, validationUnitsMax } from "./validation-cost.ts";

/** Code that ajv wrote, for either of the ways in which a value is looked at. */
export interface GeneratedCode {
  /** Ends at the first problem. */
  readonly first: ReadyCode;
  /** Goes on to the last. */
  readonly listing: ReadyCode;
}

/** A program, with what V8 made of it on one thread, so that no other has to compile it. */
export interface ReadyCode {
  readonly text: string;
  readonly compiled: Uint8Array;
}

type Validate = ((data: unknown) => boolean) & { errors?: readonly ErrorObject[] | null };

/** What a validation came to: problems, or that it took more than it may. */
export type Outcome =
  | { readonly kind: "judged"; readonly problems: readonly FieldProblem[] }
  | { readonly kind: "too_costly" };

/** The second look, for more than the first problem, may cost this much: errors take memory. */
const listingUnitsMax = 20_000;

const tooCostly: readonly FieldProblem[] = [
  { field: "data", message: "is too costly to check against the schema of its event type" },
];
const tooCostlyTogether: readonly FieldProblem[] = [
  {
    field: "data",
    message: "is too costly to check together with the events before it; publish fewer in one request",
  },
];

/** The validator that the code describes. Most schemas never see invalid data, so the listing is made when needed. */
export function createValidator(code: GeneratedCode): CompiledSchema {
  const first = evaluate(code.first);
  let listing: Validate | undefined;
  return {
    kind: "compiled",
    bytes: bytesOf(code.first) + bytesOf(code.listing),
    validate(data, allowance = { unitsLeft: Number.POSITIVE_INFINITY }) {
      const unitsMax = Math.min(validationUnitsMax, allowance.unitsLeft);
      const found = charged(first, { data, unitsMax, allowance });
      if (found.kind === "too_costly") return unitsMax < validationUnitsMax ? tooCostlyTogether : tooCostly;
      if (found.problems.length === 0) return [];
      listing ??= evaluate(code.listing);
      const all = charged(listing, {
        data,
        unitsMax: Math.min(listingUnitsMax, allowance.unitsLeft),
        allowance,
      });
      return all.kind === "judged" ? all.problems : found.problems;
    },
  };
}

function bytesOf({ text, compiled }: ReadyCode): number {
  return text.length + compiled.length;
}

/** Compiles code and tries it on values. Null when ending at the first problem is too costly for one of them. */
export function readyCode(
  { first, listing }: { readonly first: string; readonly listing: string },
  values: readonly unknown[],
): GeneratedCode | null {
  const readyFirst = tried(first, { values, unitsMax: validationUnitsMax });
  if (!readyFirst.isAffordable) return null;
  // A listing that is too costly is done without.
  const readyListing = tried(listing, { values, unitsMax: listingUnitsMax });
  return { first: readyFirst.code, listing: readyListing.code };
}

function tried(
  text: string,
  { values, unitsMax }: { readonly values: readonly unknown[]; readonly unitsMax: number },
): { readonly code: ReadyCode; readonly isAffordable: boolean } {
  const script = new Script(wrapped(text));
  const validate = load(script);
  const isAffordable = values.every((data) => run(validate, { data, unitsMax }).kind === "judged");
  // Only what has run is in it.
  return { code: { text, compiled: script.createCachedData() }, isAffordable };
}

function charged(
  validate: Validate,
  work: { readonly data: unknown; readonly unitsMax: number; readonly allowance: ValidationAllowance },
): Outcome {
  const outcome = run(validate, work);
  work.allowance.unitsLeft -= work.unitsMax - budget.unitsLeft;
  return outcome;
}

function run(
  validate: Validate,
  { data, unitsMax }: { readonly data: unknown; readonly unitsMax: number },
): Outcome {
  budget.refill(unitsMax);
  try {
    if (validate(data)) return { kind: "judged", problems: [] };
  } catch {
    // The budget ran out, or the stack did (data or references that are nested too deeply).
    return { kind: "too_costly" };
  }
  return { kind: "judged", problems: toFieldProblems(validate.errors ?? [], { name: "data", value: data }) };
}

// ---- what generated code calls ------------------------------------------------------------------------------------

/** Of the validation that runs now. One serves all, because validation is synchronous. */
const budget = new ValidationBudget();

const runtime = {
  charge(cost: readonly [base: number, perKey: number, readsText: boolean], data: unknown): void {
    const [base, perKey, readsText] = cost;
    chargeFor({ base, perKey, readsText }, { data, purse: budget });
  },
  /** The program is made when a text is first looked at. */
  pattern(pattern: string): { test(text: string): boolean } {
    let instructions: readonly Instruction[] | null = null;
    return {
      test: (text) => {
        instructions ??= programOf(pattern);
        return matchesAnywhere(instructions, { text, purse: budget });
      },
    };
  },
  oneOf(values: readonly unknown[]): (data: unknown) => boolean {
    const free = { spend: () => undefined };
    const allowed = new Set(values.map((value) => canonicalText(value, free)));
    return (data) => allowed.has(canonicalText(data, budget));
  },
  areUnique: (items: readonly unknown[]): boolean =>
    new Set(items.map((item) => canonicalText(item, budget))).size === items.length,
  /** The first name that is missing although one that demands it is there. */
  missingOf(demands: Readonly<Record<string, readonly string[]>>): (data: object) => string | undefined {
    const all = Object.entries(demands);
    return (data) => {
      for (const [name, needed] of all) {
        if (!Object.hasOwn(data, name)) continue;
        const missing = needed.find((other) => !Object.hasOwn(data, other));
        if (missing !== undefined) return missing;
      }
      return undefined;
    };
  },
  formats: Object.fromEntries(safeFormats),
} as const;

export type RuntimeName = keyof typeof runtime;

function programOf(pattern: string): readonly Instruction[] {
  const program = compilePattern(pattern);
  if (program.kind === "refused") throw new Error("patterns are checked before code is generated");
  return program.instructions;
}

const requireOfAjv = createRequire(import.meta.url);

/** Generated code asks for ajv's own helpers, and for nothing else. */
function requireHelper(name: string): unknown {
  if (!/^ajv\/dist\/runtime\/\w+$/.test(name)) throw new Error(`generated code asks for ${name}`);
  return requireOfAjv(name);
}

function evaluate({ text, compiled }: ReadyCode): Validate {
  return load(new Script(wrapped(text), { cachedData: compiled }));
}

function load(script: Script): Validate {
  const module: { exports: Validate | null } = { exports: null };
  const program = script.runInThisContext() as (...values: unknown[]) => void;
  program(module, requireHelper, runtime);
  if (module.exports === null) throw new Error("generated code exports nothing");
  return module.exports;
}

function wrapped(text: string): string {
  return `(function (module, require, runtime) {${text}\n})`;
}

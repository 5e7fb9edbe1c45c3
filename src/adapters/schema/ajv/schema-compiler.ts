import { Ajv2020, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import type {
  CompiledSchema,
  FieldProblem,
  SchemaCompiler,
  SchemaRefusal,
} from "../../../ports/schema-compiler.ts";
import { toFieldProblems } from "./field-problems.ts";
import { matchesAnywhere } from "./pattern-matcher.ts";
import { compilePattern, type Instruction } from "./pattern-program.ts";
import { safeFormats } from "./safe-formats.ts";
import { sizeProblemOf, type Subschema, surveySchema } from "./schema-limits.ts";
import {
  canonicalText,
  chargeFor,
  costOf,
  type SubschemaCost,
  ValidationBudget,
  validationUnitsMax,
} from "./validation-cost.ts";

/**
 * Compiles tenants' schemas with ajv, on the assumption that both schema and data are written to stop the process:
 *
 * - the schema is bounded in bytes, depth and number of subschemas, and every keyword is known (schema-limits.ts);
 * - references stay inside the schema; nothing is ever fetched;
 * - patterns run in linear time on a matcher of our own (pattern-program.ts);
 * - `enum` and `uniqueItems` are replaced by versions that cost the size of the data once;
 * - every applied subschema and every pattern step is charged to a budget (validation-cost.ts), so that one validation
 *   takes at most some tens of milliseconds; what exceeds it is a problem of the event, not a stop of the process.
 *
 * Each schema gets an ajv instance of its own: a shared one keeps what it saw, so tenants would meet each other's ids.
 */
export function createSchemaCompiler(): SchemaCompiler {
  const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  return {
    compile(schema) {
      if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
        return refusal([{ field: "schema", message: "must be a JSON Schema object" }]);
      }
      const size = sizeProblemOf(schema);
      if (size !== null) return refusal([size]);
      // A copy, because it will be marked with costs; through JSON, because that is what it came as.
      const copy = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
      const survey = surveySchema(copy);
      if (survey.kind === "refused") return refusal(survey.problems);
      if (copy["$schema"] !== undefined && copy["$schema"] !== dialect) {
        return refusal([{ field: "schema.$schema", message: `must be ${dialect}, or absent` }]);
      }
      if (metaSchema.validateSchema(copy) !== true) {
        const problems = toFieldProblems(metaSchema.errors ?? [], { name: "schema", value: copy });
        // Alternatives of one keyword each say their piece; the first is the one to show.
        return refusal(
          problems.filter(
            ({ field }, index) => problems.findIndex((other) => other.field === field) === index,
          ),
        );
      }
      return compileSurveyed(copy, survey.subschemas);
    },
  };
}

const dialect = "https://json-schema.org/draft/2020-12/schema";
const costKeyword = "posthornCost";
/** The second look, for more than the first problem, may cost this much: errors take memory. */
const listingUnitsMax = 20_000;
/** ajv quotes the schema in its reasons. */
const reasonLengthMax = 200;

const tooCostly: readonly FieldProblem[] = [
  { field: "data", message: "is too costly to check against the schema of its event type" },
];

function compileSurveyed(
  schema: Record<string, unknown>,
  subschemas: readonly Subschema[],
): CompiledSchema | SchemaRefusal {
  const { patterns, problems } = readPatternsAndFormats(subschemas);
  if (problems.length > 0) return refusal(problems);
  for (const { schema: subschema } of subschemas) {
    (subschema as Record<string, unknown>)[costKeyword] = costOf(subschema);
  }
  // Nothing refers to it: references are paths.
  delete schema["$id"];
  return compileMarked(schema, patterns);
}

type Patterns = ReadonlyMap<string, readonly Instruction[]>;

function compileMarked(schema: Record<string, unknown>, patterns: Patterns): CompiledSchema | SchemaRefusal {
  const budget = new ValidationBudget();
  let first: ValidateFunction;
  try {
    first = createAjv({ patterns, budget, allErrors: false }).compile(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, reasonLengthMax) : "unknown";
    return refusal([{ field: "schema", message: `cannot be compiled: ${reason}` }]);
  }
  if (
    trialValues.some((value) => run(first, { data: value, budget, unitsMax: validationUnitsMax }) === null)
  ) {
    return refusal([{ field: "schema", message: "refers to itself without end" }]);
  }
  let listing: ValidateFunction | undefined;
  return {
    kind: "compiled",
    validate(data) {
      const found = run(first, { data, budget, unitsMax: validationUnitsMax });
      if (found === null) return tooCostly;
      if (found.length === 0) return found;
      // Most schemas never see invalid data, so the validator that lists every problem is made when it is needed.
      listing ??= createAjv({ patterns, budget, allErrors: true }).compile(schema);
      return run(listing, { data, budget, unitsMax: listingUnitsMax }) ?? found;
    },
  };
}

/** One of each kind: a reference that leads back to itself without taking a step into the data shows on these. */
const trialValues: readonly unknown[] = [null, true, 0, "", [], {}];

/** Problems of the value, or null when finding them costs too much. */
function run(
  validate: ValidateFunction,
  work: { readonly data: unknown; readonly budget: ValidationBudget; readonly unitsMax: number },
): readonly FieldProblem[] | null {
  work.budget.refill(work.unitsMax);
  try {
    if (validate(work.data)) return [];
  } catch {
    // The budget ran out, or the stack did (data or references that are nested too deeply).
    return null;
  }
  return toFieldProblems(validate.errors ?? [], { name: "data", value: work.data });
}

interface AjvInput {
  readonly patterns: Patterns;
  readonly budget: ValidationBudget;
  readonly allErrors: boolean;
}

function createAjv({ patterns, budget, allErrors }: AjvInput): Ajv2020 {
  const regExp: NonNullable<NonNullable<Options["code"]>["regExp"]> = (pattern) => ({
    test: (text) => matchesAnywhere(patterns.get(pattern) ?? [], { text, purse: budget }),
    // ajv tells expressions apart by this.
    toString: () => pattern,
  });
  regExp.code = "";
  const ajv = new Ajv2020({
    allErrors,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples: false,
    ownProperties: true,
    // An inlined definition is copied into each place that refers to it.
    inlineRefs: false,
    meta: false,
    validateSchema: false,
    logger: false,
    code: { regExp },
  });
  for (const [name, accepts] of safeFormats) ajv.addFormat(name, accepts);
  addKeywords(ajv, budget);
  return ajv;
}

function addKeywords(ajv: Ajv2020, budget: ValidationBudget): void {
  ajv.addKeyword({
    keyword: costKeyword,
    // First of all, or a reference that leads back here would never be charged.
    before: "$ref",
    // Not `valid: true`: ajv would drop the call as code without an effect.
    errors: false,
    compile: (cost: SubschemaCost) => (data: unknown) => {
      chargeFor(cost, { data, purse: budget });
      return true;
    },
  });
  ajv.removeKeyword("enum");
  ajv.addKeyword({
    keyword: "enum",
    errors: false,
    compile: (values: readonly unknown[]) => {
      const free = { spend: () => undefined };
      const allowed = new Set(values.map((value) => canonicalText(value, free)));
      return (data: unknown) => allowed.has(canonicalText(data, budget));
    },
  });
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    errors: false,
    compile: (wanted: boolean) => (items: readonly unknown[]) => {
      return !wanted || new Set(items.map((item) => canonicalText(item, budget))).size === items.length;
    },
  });
}

/** Every pattern as a program, and what is wrong with patterns and formats. */
function readPatternsAndFormats(subschemas: readonly Subschema[]): {
  readonly patterns: Patterns;
  readonly problems: readonly FieldProblem[];
} {
  const patterns = new Map<string, readonly Instruction[]>();
  const problems: FieldProblem[] = [];
  const readPattern = ({ pattern, field }: { readonly pattern: string; readonly field: string }) => {
    const program = compilePattern(pattern);
    if (program.kind === "program") patterns.set(pattern, program.instructions);
    else problems.push({ field, message: program.reason });
  };
  for (const { schema, field } of subschemas) {
    if (typeof schema["pattern"] === "string") {
      readPattern({ pattern: schema["pattern"], field: `${field}.pattern` });
    }
    for (const pattern of Object.keys(schema["patternProperties"] ?? {})) {
      readPattern({ pattern, field: `${field}.patternProperties` });
    }
    const format = schema["format"];
    if (format !== undefined && !(typeof format === "string" && safeFormats.has(format))) {
      problems.push({
        field: `${field}.format`,
        message: `must be one of ${[...safeFormats.keys()].join(", ")}`,
      });
    }
  }
  return { patterns, problems: problems.slice(0, 10) };
}

function refusal(problems: readonly FieldProblem[]): SchemaRefusal {
  return { kind: "refused", problems };
}

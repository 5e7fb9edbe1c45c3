import { Ajv2020, type KeywordCxt, type Options } from "ajv/dist/2020.js";
import { _Code } from "ajv/dist/compile/codegen/code.js";
import { _, type Code, type CodeGen, stringify } from "ajv/dist/compile/codegen/index.js";
import standalone from "ajv/dist/standalone/index.js";
import type { FieldProblem, SchemaRefusal } from "../../ports/schema-compiler.ts";
import { type GeneratedCode, readyCode, type RuntimeName, toFieldProblems } from "./generated-validator.ts";
import { compilePattern } from "./pattern-program.ts";
import { hasEndlessReference, refusal, type Subschema, surveySchema } from "./schema-limits.ts";
import { costOf, safeFormats, type SubschemaCost } from "./validation-cost.ts";

/** Marks every subschema with the cost of applying it. */
const costKeyword = "posthornCost";

/**
 * Generates the source of the code that checks data against a schema, for both modes (`GeneratedCode`). It is generated
 * in one thread and runs in another. The name `runtime` in it is defined in generated-validator.ts.
 *
 * Each schema gets a separate ajv instance. A shared instance keeps the ids it has seen, so ids of different tenants
 * would collide.
 */
function generateCode(schema: Readonly<Record<string, unknown>>): {
  readonly first: string;
  readonly listing: string;
} {
  const write = (allErrors: boolean): string => {
    const ajv = createAjv(allErrors);
    return standalone.default(ajv, ajv.compile(schema));
  };
  return { first: write(false), listing: write(true) };
}

function createAjv(allErrors: boolean): Ajv2020 {
  const regExp: NonNullable<NonNullable<Options["code"]>["regExp"]> = (pattern) => ({
    test: () => true,
    // ajv identifies regular expressions by this string.
    toString: () => pattern,
  });
  regExp.code = "runtime.pattern";
  const ajv = new Ajv2020({
    allErrors,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples: false,
    ownProperties: true,
    // An inlined definition would be copied into each place that refers to it.
    inlineRefs: false,
    meta: false,
    validateSchema: false,
    logger: false,
    code: { regExp, source: true, formats: _`runtime.formats` },
  });
  for (const [name, accepts] of safeFormats) ajv.addFormat(name, accepts);
  addKeywords(ajv);
  return ajv;
}

function addKeywords(ajv: Ajv2020): void {
  ajv.addKeyword({
    keyword: costKeyword,
    // Runs first. Otherwise a reference that leads back here would never be charged.
    before: "$ref",
    code({ gen, schema, data }: KeywordCxt) {
      const { base, perKey, readsText } = schema as SubschemaCost;
      const cost = gen.scopeValue("func", { ref: {}, code: json([base, perKey, readsText]) });
      gen.code(_`${ours(gen, "charge")}(${cost}, ${data})`);
    },
  });
  ajv.removeKeyword("enum");
  ajv.addKeyword({
    keyword: "enum",
    error: { message: "must be one of the allowed values" },
    code(cxt: KeywordCxt) {
      cxt.pass(_`${made(cxt, "oneOf")}(${cxt.data})`);
    },
  });
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    error: { message: "must not have duplicate items" },
    code(cxt: KeywordCxt) {
      if (cxt.schema === true) cxt.pass(_`${ours(cxt.gen, "areUnique")}(${cxt.data})`);
    },
  });
  // ajv nests an `if` for each name, so several thousand names overflow the stack.
  ajv.removeKeyword("dependentRequired");
  ajv.addKeyword({
    keyword: "dependentRequired",
    type: "object",
    error: {
      message: "is required",
      params: ({ params }) => _`{missingProperty: ${params["missing"]}}`,
    },
    code(cxt: KeywordCxt) {
      const missing = cxt.gen.const("missing", _`${made(cxt, "missingOf")}(${cxt.data})`);
      cxt.setParams({ missing });
      cxt.fail(_`${missing} !== undefined`);
    },
  });
}

/** Refers to a function of the runtime. The generated code declares its name only once. */
function ours(gen: CodeGen, name: RuntimeName): Code {
  return gen.scopeValue("func", { ref: name, key: name, code: new _Code(`runtime.${name}`) });
}

/** The result of a call to a runtime function with the keyword's value. */
function made({ gen, schema }: KeywordCxt, name: RuntimeName): Code {
  return gen.scopeValue("func", { ref: {}, code: _`runtime.${new _Code(name)}(${json(schema)})` });
}

function json(value: unknown): Code {
  return stringify(value);
}

/** The generated code for a schema, or the reason why it is refused. */
export type CheckedSchema = { readonly kind: "generated"; readonly code: GeneratedCode } | SchemaRefusal;

const dialect = "https://json-schema.org/draft/2020-12/schema";
/** Maximum length of the reason. ajv quotes the schema in its error messages. */
const reasonLengthMax = 200;

const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/**
 * Checks a schema and generates its code, which is the expensive part of registering it. Adds cost markers to the
 * schema.
 */
export function checkSchema(schema: Record<string, unknown>): CheckedSchema {
  const survey = surveySchema(schema);
  if (survey.kind === "refused") return refusal(survey.problems);
  if (schema["$schema"] !== undefined && schema["$schema"] !== dialect)
    return refusal([{ field: "schema.$schema", message: `must be ${dialect}, or absent` }]);
  if (metaSchema.validateSchema(schema) !== true) {
    const problems = toFieldProblems(metaSchema.errors ?? [], "schema", schema);
    // Each alternative of a keyword reports a problem with the same field; show only the first one.
    return refusal(
      problems.filter(({ field }, index) => problems.findIndex((other) => other.field === field) === index),
    );
  }
  const problems = problemsOfPatternsAndFormats(survey.subschemas);
  if (problems.length > 0) return refusal(problems);
  const isEndless = hasEndlessReference(survey.subschemas);
  for (const { schema: subschema } of survey.subschemas) {
    (subschema as Record<string, unknown>)[costKeyword] = costOf(subschema);
  }
  // Nothing refers to `$id`, because references are paths.
  delete schema["$id"];
  return generated(schema, isEndless);
}

function generated(schema: Record<string, unknown>, isEndless: boolean): CheckedSchema {
  try {
    const { first, listing } = generateCode(schema);
    const code = readyCode(first, listing, trialValues);
    return code === null ? refusal([isEndless ? endless : hopeless]) : { kind: "generated", code };
  } catch (error) {
    if (error instanceof RangeError) return refusal([tooComplex]);
    const reason = error instanceof Error ? error.message.slice(0, reasonLengthMax) : "unknown";
    return refusal([{ field: "schema", message: `cannot be compiled: ${reason}` }]);
  }
}

/** One sample value of each type, to detect a reference that leads back to itself without a step into the data. */
const trialValues: readonly unknown[] = [null, true, 0, "", [], {}];

const tooComplex: FieldProblem = {
  field: "schema",
  message: "is too complex to compile: one place contains too much; move parts of it into $defs",
};
const endless: FieldProblem = { field: "schema", message: "refers to itself endlessly" };
const hopeless: FieldProblem = {
  field: "schema",
  message:
    "is too costly: even the smallest value takes too many steps, because its references multiply each other",
};

function problemsOfPatternsAndFormats(subschemas: readonly Subschema[]): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const check = (pattern: string, field: string): void => {
    const program = compilePattern(pattern);
    if (program.kind === "refused") problems.push({ field, message: program.reason });
  };
  for (const { schema, field } of subschemas) {
    if (typeof schema["pattern"] === "string") check(schema["pattern"], `${field}.pattern`);
    for (const pattern of Object.keys(schema["patternProperties"] ?? {}))
      check(pattern, `${field}.patternProperties`);
    const format = schema["format"];
    if (format !== undefined && !(typeof format === "string" && safeFormats.has(format))) {
      const message = `must be one of ${[...safeFormats.keys()].join(", ")}`;
      problems.push({ field: `${field}.format`, message });
    }
  }
  return problems.slice(0, 10);
}

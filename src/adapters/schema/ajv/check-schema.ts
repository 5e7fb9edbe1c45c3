import { Ajv2020 } from "ajv/dist/2020.js";
import type { FieldProblem, SchemaRefusal } from "../../../ports/schema-compiler.ts";
import { toFieldProblems } from "./field-problems.ts";
import { costKeyword, generateCode } from "./generate-code.ts";
import { type GeneratedCode, readyCode } from "./generated-validator.ts";
import { compilePattern } from "./pattern-program.ts";
import { safeFormats } from "./safe-formats.ts";
import { hasEndlessReference, type Subschema, surveySchema } from "./schema-limits.ts";
import { costOf } from "./validation-cost.ts";

/** The generated code for a schema, or the reason why it is refused. */
export type CheckedSchema = { readonly kind: "generated"; readonly code: GeneratedCode } | SchemaRefusal;

const dialect = "https://json-schema.org/draft/2020-12/schema";
/** ajv quotes the schema in its error texts. */
const reasonLengthMax = 200;

const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** The expensive part of registering a schema. Modifies the schema: marks it with costs. */
export function checkSchema(schema: Record<string, unknown>): CheckedSchema {
  const survey = surveySchema(schema);
  if (survey.kind === "refused") return refusal(survey.problems);
  if (schema["$schema"] !== undefined && schema["$schema"] !== dialect)
    return refusal([{ field: "schema.$schema", message: `must be ${dialect}, or absent` }]);
  if (metaSchema.validateSchema(schema) !== true) {
    const problems = toFieldProblems(metaSchema.errors ?? [], "schema", schema);
    // Alternatives of one keyword each report a problem; show only the first.
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
  // Nothing refers to `$id`: references are paths.
  delete schema["$id"];
  return generated(schema, isEndless);
}

function generated(schema: Record<string, unknown>, isEndless: boolean): CheckedSchema {
  try {
    const code = readyCode(generateCode(schema), trialValues);
    return code === null ? refusal([isEndless ? endless : hopeless]) : { kind: "generated", code };
  } catch (error) {
    if (error instanceof RangeError) return refusal([tooComplex]);
    const reason = error instanceof Error ? error.message.slice(0, reasonLengthMax) : "unknown";
    return refusal([{ field: "schema", message: `cannot be compiled: ${reason}` }]);
  }
}

/** One value of each type. They expose a reference that leads back to itself without a step into the data. */
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

function refusal(problems: readonly FieldProblem[]): SchemaRefusal {
  return { kind: "refused", problems };
}

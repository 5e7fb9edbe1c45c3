import { Ajv2020, type KeywordCxt, type Options } from "ajv/dist/2020.js";
import { _Code } from "ajv/dist/compile/codegen/code.js";
import { _, type Code, type CodeGen, stringify } from "ajv/dist/compile/codegen/index.js";
import standalone from "ajv/dist/standalone/index.js";
import type { RuntimeName } from "./generated-validator.ts";
import { safeFormats } from "./safe-formats.ts";
import type { SubschemaCost } from "./validation-cost.ts";

/** Marks every subschema with the cost of applying it. */
export const costKeyword = "posthornCost";

/**
 * Generates the text of the code that checks data against a schema, for both modes (`GeneratedCode`). It is generated
 * in one thread and runs in another. The name `runtime` in it is defined in generated-validator.ts.
 *
 * Each schema gets a separate ajv instance. A shared instance keeps the ids it saw, so ids of different tenants would
 * collide.
 */
export function generateCode(schema: Readonly<Record<string, unknown>>): {
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
    // ajv distinguishes expressions by this text.
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
    // Runs first, or a reference that leads back here would never be charged.
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
  // ajv nests an `if` for each name, so that some thousands of them overflow the stack.
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

/** Refers to a function of the runtime, named once. */
function ours(gen: CodeGen, name: RuntimeName): Code {
  return gen.scopeValue("func", { ref: name, key: name, code: new _Code(`runtime.${name}`) });
}

/** The result of a runtime function for the keyword's value. */
function made({ gen, schema }: KeywordCxt, name: RuntimeName): Code {
  return gen.scopeValue("func", { ref: {}, code: _`runtime.${new _Code(name)}(${json(schema)})` });
}

function json(value: unknown): Code {
  return stringify(value);
}

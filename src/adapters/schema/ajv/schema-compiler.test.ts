import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompiledSchema, FieldProblem } from "../../../ports/schema-compiler.ts";
import { createSchemaCompiler } from "./schema-compiler.ts";

const compiler = createSchemaCompiler();

/** One validation may stop the process for this long at most; about 50 ms on the machine where it was measured. */
const validationMsMax = 500;

function compiled(schema: unknown): CompiledSchema {
  const result = compiler.compile(schema);
  assert.ok(result.kind === "compiled", JSON.stringify(result));
  return result;
}

function refusalOf(schema: unknown): readonly FieldProblem[] {
  const result = compiler.compile(schema);
  assert.ok(result.kind === "refused", "it was compiled");
  assert.ok(result.problems.length > 0 && result.problems.length <= 10);
  return result.problems;
}

function validateWithinBound(schema: unknown, data: unknown): readonly FieldProblem[] {
  const validator = compiled(schema);
  const start = performance.now();
  const problems = validator.validate(data);
  const durationMs = performance.now() - start;
  assert.ok(durationMs < validationMsMax, `took ${durationMs} ms`);
  assert.ok(problems.length <= 10);
  return problems;
}

const order = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://example.com/order",
  type: "object",
  required: ["id", "items"],
  properties: {
    id: { type: "string", format: "uuid" },
    items: { type: "array", minItems: 1, uniqueItems: true, items: { $ref: "#/$defs/item" } },
    note: { type: "string", maxLength: 5, pattern: "^\\p{L}+$" },
    state: { enum: ["open", "closed", { other: [1, null] }] },
  },
  additionalProperties: false,
  $defs: {
    item: { type: "object", required: ["sku"], properties: { sku: { type: "string" }, "a/b": { const: 1 } } },
  },
};

test("valid data has no problems", () => {
  const validator = compiled(order);
  const valid = {
    id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    items: [{ sku: "x" }, { sku: "y", "a/b": 1 }],
    note: "Größe",
    state: { other: [1, null] },
  };
  assert.deepEqual(validator.validate(valid), []);
  assert.deepEqual(validator.validate(valid), [], "and again");
});

test("every problem is named by its path in the event, and no value is shown", () => {
  const problems = compiled(order).validate({
    id: "canary",
    items: [{ sku: "x" }, { "a/b": "canary" }, { sku: "x" }],
    note: "canary 1",
    state: "canary",
    extra: "canary",
  });
  assert.deepEqual(
    new Set(problems.map((problem) => problem.field)),
    new Set([
      "data.id",
      "data.items",
      "data.items[1].sku",
      "data.items[1].a/b",
      "data.note",
      "data.state",
      "data.extra",
    ]),
  );
  assert.ok(!JSON.stringify(problems).includes("canary"));
  assert.deepEqual(compiled(order).validate([]), [{ field: "data", message: "must be object" }]);
});

test("names that every object inherits are not mistaken for properties", () => {
  const validator = compiled({ required: ["toString"], properties: { constructor: { type: "string" } } });
  assert.deepEqual(validator.validate({}), [{ field: "data.toString", message: "is required" }]);
  assert.deepEqual(validator.validate(JSON.parse('{"toString":1,"__proto__":2}')), []);
});

test("at most ten problems are reported, also of a hundred thousand", () => {
  const problems = validateWithinBound(
    { items: { type: "string" } },
    Array.from({ length: 100_000 }, () => 1),
  );
  assert.ok(problems.length > 0);
});

test("schemas that are not understood in full are refused at the keyword", () => {
  const table: readonly (readonly [schema: unknown, field: string])[] = [
    [null, "schema"],
    [true, "schema"],
    [[], "schema"],
    [{ typ: "string" }, "schema.typ"],
    [{ constructor: 1 }, "schema.constructor"],
    [{ type: "strin" }, "schema.type"],
    [{ properties: { a: { minimum: "1" } } }, "schema.properties.a.minimum"],
    [{ properties: { a: 1 } }, "schema.properties.a"],
    [{ allOf: {} }, "schema.allOf"],
    [{ $schema: "http://json-schema.org/draft-07/schema#" }, "schema.$schema"],
    [{ $ref: "https://example.com/other.json" }, "schema.$ref"],
    [{ $ref: "http://169.254.169.254/latest" }, "schema.$ref"],
    [{ $ref: "file:///etc/passwd" }, "schema.$ref"],
    [{ $ref: "other.json#/a" }, "schema.$ref"],
    [{ $ref: "#name" }, "schema.$ref"],
    [{ $ref: "#/$defs/missing" }, "schema.$ref"],
    [{ enum: [{ type: "string" }], $ref: "#/enum/0" }, "schema.$ref"],
    [{ $dynamicRef: "#a" }, "schema.$dynamicRef"],
    [{ $anchor: "a" }, "schema.$anchor"],
    [{ properties: { a: { $id: "b" } } }, "schema.properties.a.$id"],
    [{ $async: true }, "schema.$async"],
    [{ items: { format: "regex" } }, "schema.items.format"],
    [{ anyOf: [{}, { pattern: "(a)\\1" }] }, "schema.anyOf[1].pattern"],
    [{ patternProperties: { "(?=a)": true } }, "schema.patternProperties"],
    [{ pattern: "x".repeat(201) }, "schema.pattern"],
  ];
  for (const [schema, field] of table) {
    assert.ok(
      refusalOf(schema).some((problem) => problem.field === field),
      `${JSON.stringify(schema)} at ${field}: ${JSON.stringify(refusalOf(schema))}`,
    );
  }
});

test("schemas are bounded in bytes, depth and number of subschemas", () => {
  assert.match(
    refusalOf({ description: "x".repeat(65_536) })[0]?.message ?? "",
    /65\d{3} bytes; the limit is 65536/,
  );
  let deep: unknown = {};
  for (let depth = 0; depth < 40; depth += 1) deep = { not: deep };
  assert.match(refusalOf(deep)[0]?.message ?? "", /32 deep/);
  let bottomless: unknown = [];
  for (let depth = 0; depth < 100_000; depth += 1) bottomless = [bottomless];
  assert.match(refusalOf({ const: bottomless })[0]?.message ?? "", /32 deep/);
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`p${index}`, {}]));
  assert.match(refusalOf({ properties: many })[0]?.message ?? "", /500 subschemas/);
});

test("references that never take a step into the data are refused", () => {
  assert.match(refusalOf({ $ref: "#" })[0]?.message ?? "", /without end/);
  const circle = {
    $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
    $ref: "#/$defs/a",
  };
  assert.match(refusalOf(circle)[0]?.message ?? "", /without end/);
});

test("recursive schemas follow deep data", () => {
  const tree = {
    type: "object",
    properties: { next: { $ref: "#" }, value: { type: "integer" } },
    additionalProperties: false,
  };
  let data: Record<string, unknown> = { value: "no" };
  for (let depth = 0; depth < 62; depth += 1) data = { next: data };
  assert.deepEqual(validateWithinBound(tree, data), [
    { field: `data${".next".repeat(62)}.value`.slice(0, 200) + "…", message: "must be integer" },
  ]);
  for (let depth = 0; depth < 100_000; depth += 1) data = { next: data };
  assert.match(validateWithinBound(tree, data)[0]?.message ?? "", /too costly/);
});

/** Thirty definitions, each of which asks for the next one twice: a billion steps if nobody counts. */
function doubling(keyword: "allOf" | "anyOf", last: unknown) {
  const $defs: Record<string, unknown> = { d30: last };
  for (let index = 29; index >= 0; index -= 1) {
    $defs[`d${index}`] = {
      [keyword]: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }],
    };
  }
  return { $defs, properties: { deep: { $ref: "#/$defs/d0" } } };
}

const attacks: Readonly<Record<string, { readonly schema: unknown; readonly data: unknown }>> = {
  "doubling references, all of them true": {
    schema: doubling("allOf", { type: "integer" }),
    data: { deep: 1 },
  },
  "doubling references, none of them true": {
    schema: doubling("anyOf", { type: "string" }),
    data: { deep: 1 },
  },
  "doubling through recursion": {
    schema: { properties: { a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } }, required: ["z"] },
    data: Array.from({ length: 60 }).reduce<unknown>((inner) => ({ a: inner }), {}),
  },
  "doubling references to a text": {
    schema: doubling("allOf", { minLength: 1 }),
    data: { deep: "x".repeat(200_000) },
  },
  "doubling references to a large constant": {
    schema: doubling("allOf", { const: Array.from({ length: 10_000 }, () => 1) }),
    data: { deep: Array.from({ length: 10_000 }, () => 1) },
  },
  "doubling references to many names": {
    schema: doubling("allOf", { required: Array.from({ length: 5_000 }, (_, index) => `n${index}`) }),
    data: { deep: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`n${index}`, 1])) },
  },
  "a runaway pattern": { schema: { pattern: "^(a+)+$" }, data: `${"a".repeat(200_000)}!` },
  "a runaway pattern with choices": { schema: { pattern: "^(a|a)*$" }, data: `${"a".repeat(200_000)}!` },
  "a runaway pattern that looks far back": {
    schema: { pattern: "(.*a){20}$" },
    data: `${"a".repeat(200_000)}!`,
  },
  "a pattern over every name": {
    schema: { patternProperties: { "(x+x+)+y": { type: "string" }, ".*.*.*=": true } },
    data: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${"x".repeat(100)}${index}`, 1])),
  },
  "uniqueItems over objects": {
    schema: { uniqueItems: true },
    data: Array.from({ length: 20_000 }, (_, index) => ({ a: { b: index } })),
  },
  "a large enum over a long list": {
    schema: { items: { enum: Array.from({ length: 10_000 }, (_, index) => index) } },
    data: Array.from({ length: 100_000 }, () => 9_999),
  },
  "many names over a long list": {
    schema: {
      items: { properties: Object.fromEntries(Array.from({ length: 490 }, (_, index) => [`n${index}`, {}])) },
    },
    data: Array.from({ length: 80_000 }, () => ({})),
  },
  "formats on long text": {
    schema: {
      allOf: ["email", "uri", "uri-reference", "hostname", "ipv6", "duration"].map((format) => ({ format })),
    },
    data: `${"a.".repeat(100_000)}@`,
  },
  "a text measured hundreds of times": {
    schema: { allOf: Array.from({ length: 490 }, () => ({ minLength: 1 })) },
    data: "x".repeat(250_000),
  },
};

for (const [name, { schema, data }] of Object.entries(attacks)) {
  test(`bounded: ${name}`, () => void validateWithinBound(schema, data));
}

test("the largest schemas compile in bounded time", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 490 }, (_, index) => [`p${index}`, { type: "string", maxLength: 9 }]),
  );
  const large = { properties, required: Object.keys(properties) };
  const start = performance.now();
  assert.equal(compiled(large).validate({}).length, 10);
  assert.ok(performance.now() - start < 2_000);
});

test("tenants' schemas never meet: the same $id twice, with different content", () => {
  assert.deepEqual(compiled({ $id: "https://x.example/a", type: "string" }).validate(1).length, 1);
  assert.deepEqual(compiled({ $id: "https://x.example/a", type: "integer" }).validate(1), []);
});

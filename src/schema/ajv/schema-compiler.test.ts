import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompiledSchema, FieldProblem } from "../../ports/schema-compiler.ts";
import { createSchemaCompiler } from "./schema-compiler.ts";

const compiler = createSchemaCompiler();

/** CPU time allowed for one validation. The worst case takes about 50 ms. */
const validationMsMax = 250;

async function compiled(schema: unknown): Promise<CompiledSchema> {
  const result = await compiler.compile(schema);
  assert.ok(result.kind === "compiled", JSON.stringify(result));
  return result;
}

async function refusalOf(schema: unknown): Promise<readonly FieldProblem[]> {
  const result = await compiler.compile(schema);
  assert.ok(result.kind === "refused", "it was compiled");
  assert.ok(result.problems.length > 0 && result.problems.length <= 10);
  return result.problems;
}

/** CPU time of this thread. Wall-clock time would include waiting on a busy machine. */
function processorMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

async function validateWithinBound(schema: unknown, data: unknown): Promise<readonly FieldProblem[]> {
  const validator = await compiled(schema);
  const problems: FieldProblem[] = [];
  const durationMs = processorMs(() => problems.push(...validator.validate(data)));
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

test("valid data has no problems", async () => {
  const validator = await compiled(order);
  const valid = {
    id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    items: [{ sku: "x" }, { sku: "y", "a/b": 1 }],
    note: "Größe",
    state: { other: [1, null] },
  };
  assert.deepEqual(validator.validate(valid), []);
  assert.deepEqual(validator.validate(valid), [], "and again");
});

test("every problem is named by its path in the event, and no value is shown", async () => {
  const problems = (await compiled(order)).validate({
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
  assert.deepEqual((await compiled(order)).validate([]), [{ field: "data", message: "must be object" }]);
});

test("names that every object inherits are not mistaken for properties", async () => {
  const validator = await compiled({
    required: ["toString"],
    properties: { constructor: { type: "string" } },
  });
  assert.deepEqual(validator.validate({}), [{ field: "data.toString", message: "is required" }]);
  assert.deepEqual(validator.validate(JSON.parse('{"toString":1,"__proto__":2}')), []);
});

test("at most ten problems are reported, even of a hundred thousand", async () => {
  const problems = await validateWithinBound(
    { items: { type: "string" } },
    Array.from({ length: 100_000 }, () => 1),
  );
  assert.ok(problems.length > 0);
});

test("schemas with unsupported keywords are rejected at the keyword", async () => {
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
      (await refusalOf(schema)).some((problem) => problem.field === field),
      `${JSON.stringify(schema)} at ${field}: ${JSON.stringify(await refusalOf(schema))}`,
    );
  }
});

test("schemas are bounded in bytes, depth and number of subschemas", async () => {
  assert.match(
    (await refusalOf({ description: "x".repeat(65_536) }))[0]?.message ?? "",
    /65\d{3} bytes; the limit is 65536/,
  );
  let deep: unknown = {};
  for (let depth = 0; depth < 40; depth += 1) deep = { not: deep };
  assert.match((await refusalOf(deep))[0]?.message ?? "", /32 deep/);
  let bottomless: unknown = [];
  for (let depth = 0; depth < 100_000; depth += 1) bottomless = [bottomless];
  assert.match((await refusalOf({ const: bottomless }))[0]?.message ?? "", /32 deep/);
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`p${index}`, {}]));
  assert.match((await refusalOf({ properties: many }))[0]?.message ?? "", /500 subschemas/);
});

test("references that never descend into the data are rejected", async () => {
  assert.match((await refusalOf({ $ref: "#" }))[0]?.message ?? "", /endlessly/);
  const circle = {
    $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
    $ref: "#/$defs/a",
  };
  assert.match((await refusalOf(circle))[0]?.message ?? "", /endlessly/);
});

test("recursive schemas follow deep data", async () => {
  const tree = {
    type: "object",
    properties: { next: { $ref: "#" }, value: { type: "integer" } },
    additionalProperties: false,
  };
  let data: Record<string, unknown> = { value: "no" };
  for (let depth = 0; depth < 62; depth += 1) data = { next: data };
  assert.deepEqual(await validateWithinBound(tree, data), [
    { field: `data${".next".repeat(62)}.value`.slice(0, 200) + "…", message: "must be integer" },
  ]);
  for (let depth = 0; depth < 100_000; depth += 1) data = { next: data };
  assert.match((await validateWithinBound(tree, data))[0]?.message ?? "", /too costly/);
});

/**
 * Thirty definitions, each of which refers to the next one twice. Without a limit, validation would take a billion
 * steps.
 */
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
  "a runaway pattern with long lookback": {
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
  test(`bounded: ${name}`, async () => void (await validateWithinBound(schema, data)));
}

test("the largest schemas are compiled on another thread", async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 490 }, (_, index) => [`p${index}`, { type: "string", pattern: "^[a-z]+$" }]),
  );
  const large = { properties, required: Object.keys(properties) };
  const before = process.threadCpuUsage();
  const validator = await compiled(large);
  assert.equal(validator.validate({}).length, 10);
  const { user, system } = process.threadCpuUsage(before);
  // Compiling these schemas on this thread takes 400 ms or more.
  assert.ok(user + system < 150_000, `${user + system} µs of this thread`);
  assert.ok(validator.bytes > 100_000);
});

test("a schema is rejected for the right reason: too many steps are not an endless reference", async () => {
  const $defs: Record<string, unknown> = { d20: { type: "object" } };
  for (let index = 0; index < 20; index += 1) {
    const next = { $ref: `#/$defs/d${index + 1}` };
    $defs[`d${index}`] = { allOf: [next, next] };
  }
  const [problem] = await refusalOf({ $defs, $ref: "#/$defs/d0" });
  assert.match(problem?.message ?? "", /too costly/);
  const chain = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }]),
  );
  const inRow = await compiled({ $defs: { ...chain, d20: { type: "object" } }, $ref: "#/$defs/d0" });
  assert.deepEqual(inRow.validate({ a: 1 }), []);
});

test("a schema that fails fast is accepted, however long listing all its problems would take", async () => {
  const $defs: Record<string, unknown> = { d20: { required: ["id"] } };
  for (let index = 0; index < 20; index += 1) {
    const next = { $ref: `#/$defs/d${index + 1}` };
    $defs[`d${index}`] = { allOf: [next, next] };
  }
  const validator = await compiled({ type: "object", allOf: [{ $ref: "#/$defs/d0" }], $defs });
  assert.deepEqual(validator.validate({}), [{ field: "data.id", message: "is required" }]);
});

test("dependentRequired holds for thousands of names", async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `n${index}`);
  const validator = await compiled({
    dependentRequired: Object.fromEntries(names.map((name) => [name, ["id", "time"]])),
  });
  assert.deepEqual(validator.validate({ n5: 1, id: 1, time: 1 }), []);
  assert.deepEqual(validator.validate({ other: 1 }), []);
  assert.deepEqual(validator.validate({ n1999: 1, id: 1 }), [{ field: "data.time", message: "is required" }]);
});

test("the validations of one request share an allowance", async () => {
  const validator = await compiled({ items: { type: "integer" } });
  const data = Array.from({ length: 1_000 }, (_, index) => index);
  const allowance = { unitsLeft: 2_500 };
  assert.deepEqual(validator.validate(data, allowance), []);
  assert.deepEqual(validator.validate(data, allowance), []);
  assert.match(validator.validate(data, allowance)[0]?.message ?? "", /together with the events before it/);
  assert.deepEqual(validator.validate(data), [], "alone it is within its bound");
});

test("tenants' schemas are independent: the same $id twice, with different content", async () => {
  assert.deepEqual((await compiled({ $id: "https://x.example/a", type: "string" })).validate(1).length, 1);
  assert.deepEqual((await compiled({ $id: "https://x.example/a", type: "integer" })).validate(1), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { exampleValue } from "./example-value.ts";

const schemas = [
  {
    type: "object",
    properties: { id: { type: "string", format: "uuid" }, at: { format: "date-time", type: "string" } },
  },
  { type: "object", required: ["n"], properties: { n: { type: "integer", minimum: 7, multipleOf: 5 } } },
  {
    type: "object",
    properties: { n: { type: "number", exclusiveMaximum: 0 }, m: { exclusiveMinimum: 3, type: "number" } },
  },
  { type: "object", properties: { list: { type: "array", items: { enum: ["a", "b"] }, minItems: 2 } } },
  {
    type: "object",
    properties: { t: { type: "string", minLength: 9 }, u: { type: "string", maxLength: 2 } },
  },
  {
    $defs: { a: { type: "object", required: ["b"], properties: { b: { const: 5 } } } },
    properties: { a: { $ref: "#/$defs/a" } },
    type: "object",
  },
  { type: "object", properties: { self: { $ref: "#" }, text: { type: ["null", "string"] } } },
  {
    allOf: [
      { required: ["a"], properties: { a: { type: "string" } } },
      { required: ["b"], properties: { b: { type: "boolean" } } },
    ],
    type: "object",
  },
  { oneOf: [{ type: "object", required: ["x"], properties: { x: { type: "string", examples: ["y"] } } }] },
];

test("an example generated from a schema is valid", () => {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  for (const schema of schemas) {
    const value = exampleValue(schema);
    assert.ok(
      ajv.validate(schema, value),
      `${JSON.stringify(schema)}\n${JSON.stringify(value)}\n${ajv.errorsText()}`,
    );
  }
});

test("an example in the schema itself is preferred", () => {
  const schema = {
    properties: { id: { type: "string", examples: ["4711"] }, open: { type: "boolean", default: false } },
  };
  assert.deepEqual(exampleValue({ type: "object", ...schema }), { id: "4711", open: false });
});

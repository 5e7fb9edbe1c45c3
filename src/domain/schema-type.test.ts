import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { commentLines, declarationOf, typeOfSchema } from "./type-text.ts";

const context = { nameOf: (reference: string) => (reference === "#/$defs/address" ? "Address" : null) };

const types: readonly (readonly [unknown, string])[] = [
  [true, "unknown"],
  [false, "never"],
  [{}, "unknown"],
  [{ type: "string", minLength: 2, pattern: "^a" }, "string"],
  [{ type: "integer" }, "number"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ enum: ["a", 1, null, true] }, '"a" | 1 | null | true'],
  [{ const: { a: [1] } }, "{ a: [1] }"],
  [{ type: "array", items: { type: "string" } }, "string[]"],
  [{ type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  [{ type: "array", items: { enum: ["a", "b"] } }, '("a" | "b")[]'],
  [{ type: "array" }, "unknown[]"],
  [{ prefixItems: [{ type: "string" }, { type: "number" }], minItems: 1, items: false }, "[string, number?]"],
  [{ prefixItems: [{ type: "string" }], minItems: 1, items: { type: "number" } }, "[string, ...number[]]"],
  [{ $ref: "#/$defs/address" }, "Address"],
  [{ $ref: "https://example.com/schema" }, "unknown"],
  [{ anyOf: [{ type: "string" }, { type: "number" }] }, "string | number"],
  [{ oneOf: [{ type: "string" }, {}] }, "unknown"],
  [
    { allOf: [{ $ref: "#/$defs/address" }, { anyOf: [{ type: "string" }, { type: "null" }] }] },
    "Address & (string | null)",
  ],
  [{ type: "object" }, "Record<string, unknown>"],
  [{ type: "object", additionalProperties: { type: "number" } }, "Record<string, number>"],
  [{ type: "object", additionalProperties: false }, "Record<string, never>"],
  [
    {
      properties: { "a b": { type: "string" }, c: { type: "number" } },
      required: ["c"],
      additionalProperties: false,
    },
    '{\n  "a b"?: string;\n  c: number;\n}',
  ],
  [{ properties: { a: true }, required: ["a"] }, "{\n  a: unknown;\n  [name: string]: unknown;\n}"],
  // Constraints that TypeScript cannot express are omitted, so the type accepts more than the schema.
  [{ not: { type: "string" } }, "unknown"],
  [JSON.parse('{"if":{"type":"string"},"then":{"const":"a"}}'), "unknown"],
];

suite("JSON Schemas as types", () => {
  for (const [schema, type] of types) {
    test(`${JSON.stringify(schema)} is ${type.replaceAll("\n", " ")}`, () => {
      assert.equal(typeOfSchema(schema, context), type);
    });
  }

  test("descriptions are comments, and their content cannot end the comment", () => {
    const schema = {
      properties: { a: { type: "string", description: "*/ evil(); /*", deprecated: true } },
      additionalProperties: false,
    };
    assert.equal(
      declarationOf("A", schema, context),
      "export interface A {\n  /**\n   * *\\/ evil(); /*\n   * @deprecated\n   */\n  a?: string;\n}\n",
    );
    assert.equal(commentLines(["a */ b"], ""), "/** a *\\/ b */\n");
  });

  test("braces in text do not turn another type into an interface", () => {
    const text = declarationOf("A", { anyOf: [{ const: "}" }, { const: "{" }] }, context);
    assert.equal(text, 'export type A = "}" | "{";\n');
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { embedSchema } from "./data-schemas.ts";

const at = "#/components/schemas/a-data";
const pointerTo = (reference: string): string => at + reference.slice(1);

test("references move with the schema, wherever a subschema occurs", () => {
  const ref = (to: string): object => ({ $ref: to });
  const schemaWith = (from: (to: string) => object): object => ({
    properties: { a: from("/$defs/x"), $ref: from("/$defs/x"), const: from("") },
    patternProperties: { "^b": from("/properties/a") },
    dependentSchemas: { a: from("/$defs/y~1z") },
    $defs: { x: {}, "y/z": from("/$defs/x"), deep: { items: { not: from("/$defs/x") } } },
    definitions: { old: from("/$defs/x") },
    prefixItems: [from("/$defs/x"), true],
    allOf: [from("/$defs/x")],
    anyOf: [{ oneOf: [from("/$defs/%C3%BC")] }],
    if: from(""),
    else: { contains: from("/x") },
    items: from("/x"),
    additionalProperties: false,
    propertyNames: from("/x"),
    unevaluatedItems: from("/x"),
    unevaluatedProperties: from("/x"),
    contentSchema: from("/x"),
    ...from("/x"),
  });
  const embedded = embedSchema(
    schemaWith((to) => ref(`#${to}`)),
    pointerTo,
  );
  assert.deepEqual(
    embedded,
    schemaWith((to) => ref(at + to)),
  );
});

test("values that look like references are left alone, and the schema loses its identifier", () => {
  const values = {
    const: { $ref: "#/a" },
    enum: [{ $ref: "#/a" }],
    default: { $ref: "#/a" },
    examples: [{ $ref: "#/a", items: { $ref: "#/b" } }],
    required: ["$ref"],
    dependentRequired: { $ref: ["a"] },
  };
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  assert.deepEqual(embedSchema({ $schema, $id: "https://example.com/a", ...values }, pointerTo), values);
  for (const whole of [true, false]) assert.equal(embedSchema(whole, pointerTo), whole);
});

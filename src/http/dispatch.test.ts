import assert from "node:assert/strict";
import { test } from "node:test";
import { anyJson, choice, flag, integer, line, list, nullable } from "../resources/field.ts";
import { closed, freeObject, schemaOfField, Type } from "../resources/schema.ts";
import { compileValidator } from "./dispatch.ts";

const schema = closed({
  name: Type.String({ minLength: 2, maxLength: 3 }),
  count: Type.Optional(schemaOfField(nullable(integer({ min: 1, max: 9 })))),
  kind: Type.Optional(schemaOfField(nullable(choice(["a", "b"])))),
  free: Type.Optional(freeObject()),
  inner: Type.Optional(closed({ list_of: schemaOfField(list(flag(), { countMin: 0, countMax: 2 })) })),
});

function problems(value: unknown): Record<string, string> {
  const errors = compileValidator(schema, "body")(value) ?? [];
  return Object.fromEntries(errors.map(({ field, message }) => [field, message]));
}

test("valid input has no problems", () => {
  for (const value of [
    { name: "abc" },
    { name: "ab", count: null, kind: null, free: { "a\nb": 1 }, inner: { list_of: [] } },
  ]) {
    assert.equal(compileValidator(schema, "body")(value), null);
  }
});

test("messages say what is wrong", () => {
  assert.deepEqual(problems({ name: "a", count: 10, kind: "c", inner: { list_of: [true, 1, false] } }), {
    name: "must have at least 2 characters",
    count: "must be a whole number from 1 to 9, or null",
    kind: "must be one of a, b, or null",
    "inner.list_of[1]": "must be true or false",
    "inner.list_of": "must be a list of 0 to 2 items",
  });
  assert.deepEqual(problems({ count: "1" }), {
    name: "is required",
    count: "must be a whole number from 1 to 9, or null",
  });
  assert.deepEqual(problems([]), { "": "must be an object" });
});

test("an item that is listed twice is reported at its second place", () => {
  for (const field of [
    list(line({ lengthMax: 9 }), { countMax: 9, isSet: true }),
    list(anyJson({}), { countMax: 9, isSet: true }),
  ]) {
    const errors = compileValidator(
      closed({ names: schemaOfField(field) }),
      "body",
    )({ names: ["a", "b", "a"] });
    assert.deepEqual(errors, [{ field: "names[2]", message: "is listed twice" }]);
  }
});

test("unknown fields are reported with the closest name", () => {
  assert.deepEqual(problems({ name: "ab", nmae: 1, zzzzzzzz: 1, inner: { listOf: [], list_of: [] } }), {
    nmae: 'is not a known field; did you mean "name"?',
    zzzzzzzz: "is not a known field",
    "inner.listOf": 'is not a known field; did you mean "list_of"?',
  });
});

test("other products' names for our fields are recognized, if there is such a field", () => {
  const event = closed({ event_type: Type.Optional(Type.String()), data: Type.Optional(freeObject()) });
  const errors = compileValidator(event, "body")({ type: "a", payload: {}, Body: {}, endpoint: "x" }) ?? [];
  assert.deepEqual(Object.fromEntries(errors.map(({ field, message }) => [field, message])), {
    type: 'is not a known field; did you mean "event_type"?',
    payload: 'is not a known field; did you mean "data"?',
    Body: 'is not a known field; did you mean "data"?',
    endpoint: "is not a known field",
  });
});

test("foreign names are clipped, and values are never shown", () => {
  const errors = problems({ name: "secret-value", ["x".repeat(5_000)]: 1 });
  assert.ok(Object.keys(errors).every((field) => field.length <= 201));
  assert.ok(!JSON.stringify(errors).includes("secret-value"));
});

test("the number of problems is limited", () => {
  const flood = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, 1]));
  assert.equal(Object.keys(problems(flood)).length, 50);
});

test("queries are coerced in place", () => {
  const check = compileValidator(
    closed({
      limit: Type.Optional(Type.Integer()),
      on: Type.Optional(Type.Boolean()),
      ids: Type.Optional(Type.Array(Type.String())),
    }),
    "query",
  );
  const query = { limit: "5", on: "false", ids: "a" };
  assert.equal(check(query), null);
  assert.deepEqual(query, { limit: 5, on: false, ids: ["a"] });
  assert.deepEqual(check({ limit: "5x" }), [{ field: "limit", message: "must be an integer" }]);
});

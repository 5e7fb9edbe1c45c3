import assert from "node:assert/strict";
import { it } from "node:test";
import { tryParseJson } from "./json-text.ts";

it("recognizes JSON, including null, and rejects other text", () => {
  assert.deepEqual(tryParseJson('{"a":[1]}'), { a: [1] });
  assert.equal(tryParseJson("null"), null);
  for (const text of ["", "{", "undefined", "{'a':1}"]) assert.equal(tryParseJson(text), undefined);
});

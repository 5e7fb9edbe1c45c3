import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PosthornError } from "../errors.ts";
import { minified, readJsonText, tryParseJson } from "./json-text.ts";

const bounds = { depthMax: 3, valuesMax: 10, hugeNumbers: "kept" } as const;
const name = { what: "dataJson", field: "data" };

test("text is kept except for surrounding white space", () => {
  const { text, value } = readJsonText(' \n{ "n" : 9007199254740993, "e": 1e400 }\t', bounds, name);
  assert.equal(text, '{ "n" : 9007199254740993, "e": 1e400 }');
  assert.deepEqual(value, { n: 9007199254740992, e: Infinity });
});

test("invalid text is rejected by name", () => {
  const refusals: readonly (readonly [text: string, code: string, field: string | undefined])[] = [
    ['{"a":1', "malformed_json", undefined],
    ['{"a":"\ud800"}', "malformed_json", undefined],
    ["\ufeff{}", "malformed_json", undefined],
    ['{"a":{"b":1,"b":1}}', "invalid_request", "data.a.b"],
    ['{"a":[[[]]]}', "invalid_request", "data"],
    ['{"__proto__":1}', "invalid_request", "data.__proto__"],
    [`[${"1,".repeat(20)}1]`, "payload_too_large", undefined],
  ];
  for (const [text, code, field] of refusals) {
    assert.throws(
      () => readJsonText(text, bounds, name),
      (error: unknown) => {
        assert.ok(error instanceof PosthornError, text);
        assert.deepEqual([error.code, error.fields[0]?.field], [code, field], text);
        assert.match(error.message, /^dataJson/);
        return true;
      },
    );
  }
});

test("minified text equals JSON.stringify of the same tokens", () => {
  assert.equal(minified('{ "a b" : [ 1.0 ,\n "\\" \\\\" , -0 ] }\n'), '{"a b":[1.0,"\\" \\\\",-0]}');
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(" ", "\t", "\n \r"), (text, space) => {
      const tidy = JSON.stringify(JSON.parse(text));
      assert.equal(minified(JSON.stringify(JSON.parse(text), null, space.replaceAll("\n", " "))), tidy);
      assert.equal(minified(tidy), tidy);
    }),
  );
});

test("JSON is recognized, including null, and other text is not", () => {
  assert.deepEqual(tryParseJson('{"a":[1]}'), { a: [1] });
  assert.equal(tryParseJson("null"), null);
  for (const text of ["", "{", "undefined", "{'a':1}"]) assert.equal(tryParseJson(text), undefined);
});

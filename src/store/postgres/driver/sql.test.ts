import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoredId, storable } from "../../column-values.ts";
import { booleans, decimals, numbers, plainWords, texts } from "./sql.ts";

test("numbers, words and flags become array literals, null among them", () => {
  assert.equal(numbers([1, null, -2]), "{1,NULL,-2}");
  assert.equal(decimals([1, -2.5]), "{1,-2.5}");
  assert.equal(plainWords(["a-b", null]), "{a-b,NULL}");
  assert.equal(booleans([true, false]), "{t,f}");
  assert.equal(numbers([]), "{}");
});

test("numbers are whole, and within the range of both bigint and number", () => {
  assert.equal(numbers([1.5, 1e300, Number.NEGATIVE_INFINITY]), "{2,9007199254740991,-9007199254740991}");
});

test("texts keep characters that are special in array literals", () => {
  assert.equal(
    texts(['a"b', "c\\d", "{e,f}", "NULL", "", null]),
    '{"a\\"b","c\\\\d","{e,f}","NULL","",NULL}',
  );
});

test("a character that PostgreSQL cannot store is replaced", () => {
  assert.equal(storable("a\0b"), "a\uFFFDb");
  assert.equal(texts(["a\0b"]), '{"a\uFFFDb"}');
});

test("only canonical UUIDs can be ids of rows", () => {
  assert.ok(isStoredId("0197f000-0000-7000-8000-0123456789ab"));
  for (const id of ["", "x", "0197F000-0000-7000-8000-0123456789AB", "0197f000-0000-7000-8000-0123456789ab'"])
    assert.equal(isStoredId(id), false, id);
});

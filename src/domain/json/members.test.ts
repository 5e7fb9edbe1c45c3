import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { elementsOf, membersOf, textOf } from "./members.ts";

test("a member is found as written, regardless of its surroundings", () => {
  const json = Buffer.from('\u00fc {"a":1.0 ,\n"\\u0062" : "x\\"}" ,"":[ {"c":",}" } ]\t, "d": {}\r}, 5');
  const members = membersOf(json, json.indexOf("{"));
  const found = [...members].map(([name, span]) => [name, textOf(json, span)]);
  assert.deepEqual(found, [
    ["a", "1.0"],
    ["b", '"x\\"}"'],
    ["", '[ {"c":",}" } ]'],
    ["d", "{}"],
  ]);
});

test("elements are found as written", () => {
  const json = Buffer.from('[ 1 , [2,3] ,{ "a" : 1 }\n,"]" ,null]');
  assert.deepEqual(
    elementsOf(json, 0).map((span) => textOf(json, span)),
    ["1", "[2,3]", '{ "a" : 1 }', '"]"', "null"],
  );
  assert.deepEqual(elementsOf(Buffer.from("[ ]"), 0), []);
  assert.deepEqual([...membersOf(Buffer.from("{\n}"), 0)], []);
});

test("members and elements of any JSON agree with the parsed value", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 1, 2), (text, spaces) => {
      const value: unknown = JSON.parse(text);
      const json = Buffer.from(JSON.stringify(value, null, spaces));
      if (Array.isArray(value)) {
        const read = elementsOf(json, 0).map((span): unknown => JSON.parse(textOf(json, span)));
        assert.deepEqual(read, value);
      } else if (typeof value === "object" && value !== null) {
        const read = [...membersOf(json, 0)].map(([name, span]) => [name, JSON.parse(textOf(json, span))]);
        assert.deepEqual(new Map(read as [string, unknown][]), new Map(Object.entries(value)));
      }
    }),
  );
});

test("long strings end at the right place, whatever escapes they contain", () => {
  const piece = fc.constantFrom("\\", '"', "a", "\u00fc", "}", "\n");
  fc.assert(
    fc.property(fc.array(piece, { minLength: 30, maxLength: 90 }), (pieces) => {
      const text = pieces.join("");
      const json = Buffer.from(JSON.stringify({ [text]: text, next: [text] }));
      const read = [...membersOf(json, 0)].map(([name, span]) => [name, JSON.parse(textOf(json, span))]);
      assert.deepEqual(read, [
        [text, text],
        ["next", [text]],
      ]);
    }),
  );
});

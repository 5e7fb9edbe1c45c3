import fc from "fast-check";
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { firstItemText, laidOut, memberText, tokensOf } from "./json-tokens.ts";

const joined = (source: string) =>
  laidOut(tokensOf(source))
    .map(({ space, text }) => space + text)
    .join("");

suite("JSON tokens", () => {
  test("formatting a value changes only white space", () => {
    fc.assert(
      fc.property(fc.json(), (source) => {
        assert.deepEqual(JSON.parse(joined(source)), JSON.parse(source));
        assert.equal(joined(source), JSON.stringify(JSON.parse(source), null, 2));
      }),
    );
  });

  test("digits, escapes, order and repeated names are preserved", () => {
    const source = '{"b":90071992547409931,"a":1.0,"b":-0,"c":"\\ud800\\u0041\\/","d":1e400}';
    assert.equal(
      tokensOf(source)
        .map(({ text }) => text)
        .join(""),
      source,
    );
    assert.deepEqual(
      tokensOf(source)
        .filter(({ kind }) => kind === "number")
        .map(({ text }) => text),
      ["90071992547409931", "1.0", "-0", "1e400"],
    );
  });

  test("text that is not JSON is preserved", () => {
    fc.assert(
      fc.property(fc.string(), (source) => {
        assert.equal(
          tokensOf(source)
            .map(({ text }) => text)
            .join("")
            .replaceAll(/\s/g, ""),
          source.replaceAll(/\s/g, ""),
        );
      }),
    );
  });

  test("a member is found by name only at the outermost level", () => {
    const source = '{"x":{"data":1},"data": [1.0, {"data":"},"}] ,"y":"data"}';
    assert.equal(memberText(source, { member: "data" }), '[1.0, {"data":"},"}]');
    assert.equal(memberText(source, { member: "y" }), '"data"');
    assert.equal(memberText(source, { member: "z" }), null);
    assert.equal(memberText("[1]", { member: "data" }), null);
  });

  test("the first item of a list keeps its text", () => {
    const lists = [
      ['[{"id":9007199254740993,"a":[1,2]},{"b":1}]', '{"id":9007199254740993,"a":[1,2]}'],
      ["[ 1.0 , 2]", "1.0"],
      ['["],"]', '"],"'],
      ["[[1],[2]]", "[1]"],
      ["[]", null],
      ["[ ]", null],
      ["", null],
      ["{}", null],
    ] as const;
    for (const [list, first] of lists) assert.equal(firstItemText(list), first, list);
  });
});

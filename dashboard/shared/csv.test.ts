import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "./csv.ts";

test("cells that a spreadsheet would compute stay text; commas, quotes and lines stay in their cell", () => {
  const rows = [
    ["when", "what"],
    ["=1+1", "+49"],
    ["-2", "@SUM(A1)"],
    ["a,b", 'say "hi"'],
    ["two\nlines", "\tx"],
  ];
  const expected = ["when,what", "'=1+1,'+49", "'-2,'@SUM(A1)", '"a,b","say ""hi"""', '"two\nlines",\'\tx'];
  assert.equal(csvOf(rows), `${expected.join("\r\n")}\r\n`);
});

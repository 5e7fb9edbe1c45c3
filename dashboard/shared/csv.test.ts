import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "./csv.ts";

test("cells with formulas stay text; commas, quotes and line breaks stay in their cell", () => {
  const rows = [
    ["when", "what"],
    ["=1+1", "+49"],
    ["-2", "@SUM(A1)"],
    ["a,b", 'say "hi"'],
    ["two\nlines", "\tx"],
  ];
  const expected = ["when,what", "'=1+1,'+49", "'-2,'@SUM(A1)", '"a,b","say ""hi"""', '"two\nlines","\'\tx"'];
  assert.equal(csvOf(rows), `${expected.join("\r\n")}\r\n`);
});

test("no separator, white space, invisible or full-width character starts a formula within a cell", () => {
  const cells: Readonly<Record<string, string>> = {
    "a;=1+1": `"a;'=1+1"`,
    "a; =1+1": `"a; '=1+1"`,
    "a\t@SUM(A1)": `"a\t'@SUM(A1)"`,
    "a|=1": `"a|'=1"`,
    "a\n=1": `"a\n'=1"`,
    'a;"=1"': `"a;""'=1"""`,
    " =1": "' =1",
    "\u00a0=1": "'\u00a0=1",
    "\u200b=1": "'\u200b=1",
    "\ufeff=1": "'\ufeff=1",
    "\uff1d1": "'\uff1d1",
    "\uff0b1": "'\uff0b1",
    "\uff20a": "'\uff20a",
    "\u22121": "'\u22121",
    '"=1"': `"'""=1"""`,
    "a=1": "a=1",
    "a; b": `"a; b"`,
  };
  for (const [cell, expected] of Object.entries(cells))
    assert.equal(csvOf([[cell]]), `${expected}\r\n`, JSON.stringify(cell));
});

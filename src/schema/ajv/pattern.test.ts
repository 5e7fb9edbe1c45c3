import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compilePattern, matchesAnywhere, patternLengthMax } from "./pattern-program.ts";

function run(pattern: string, text: string): { readonly matched: boolean; readonly units: number } {
  const program = compilePattern(pattern);
  assert.ok(program.kind === "program", `${pattern}: ${program.kind === "refused" ? program.reason : ""}`);
  let units = 0;
  const matched = matchesAnywhere(program.instructions, text, { spend: (more) => void (units += more) });
  return { matched, units };
}

const patterns = [
  "",
  "a",
  "^a$",
  "^$",
  "ab|cd",
  "(ab|cd)+",
  "^(?:a|b)*c$",
  "a?b?c?$",
  "a{2}",
  "^a{2,3}$",
  "^a{2,}$",
  "(a{0,2}){2}b",
  "^(a+)+$",
  "(a|a)*$",
  "(.*a){3}",
  "[abc]+d",
  "[^a-c]",
  "\\d{3}-\\d{4}",
  "\\bword\\b",
  "\\Ba",
  "a.c",
  "^\\p{Lu}",
  "\\u{1F600}",
  "\\u0061",
  "\\x61b",
  "[\\]\\\\-]",
  "(?<year>\\d{4})",
  "a*?b",
  "(|a)+b",
  "(a*)*b",
  "^.$",
  "\\.",
  "\\$",
  "\\/",
  "[\\w-]+@[\\w-]+",
  "\\ud83d\\ude00",
  "[😀b]",
  "(^a|b$)",
  "a||b",
  "x{0}a",
];
const texts = [
  "",
  "a",
  "b",
  "ab",
  "cd",
  "abcd",
  "aa",
  "aaa",
  "aaaa",
  "aab",
  "abc",
  "aaab",
  "dd",
  "555-1234",
  "a word",
  "words",
  "a\nc",
  "Éa",
  "😀",
  "\\",
  "]",
  "-",
  "$",
  ".",
  "/",
  "me@host",
  "1999",
  "\ud83d",
  "\nb",
  "a\u2028",
];

test("agrees with the language's own engine on every pattern and text of a table", () => {
  for (const pattern of patterns) {
    for (const text of texts) {
      assert.equal(
        run(pattern, text).matched,
        new RegExp(pattern, "u").test(text),
        `/${pattern}/u on ${JSON.stringify(text)}`,
      );
    }
  }
});

test("agrees with the language's own engine on random patterns", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "\\w",
    "\\b",
    "^",
    "$",
    "(?:a|b)",
    "(ab)",
    "a|",
    "|b",
  );
  const suffix = fc.constantFrom("", "", "", "{0,2}", "{2}", "?", "+", "*");
  const pattern = fc
    .array(fc.tuple(piece, suffix), { maxLength: 6 })
    .map((parts) => parts.map((part) => part.join("")).join(""));
  const isValid = (source: string) => compilePattern(source).kind === "program";
  const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "é"), maxLength: 8 });
  fc.assert(
    fc.property(pattern.filter(isValid), text, (source, subject) => {
      assert.equal(
        run(source, subject).matched,
        new RegExp(source, "u").test(subject),
        `/${source}/u on "${subject}"`,
      );
    }),
    { numRuns: 2_000 },
  );
});

test("classic runaway patterns cost no more than text times program", () => {
  const attacks: readonly (readonly [pattern: string, text: string])[] = [
    ["(a+)+$", `${"a".repeat(5_000)}!`],
    ["^(a+)+$", `${"a".repeat(5_000)}!`],
    ["(a|a)*$", `${"a".repeat(5_000)}!`],
    ["(a|aa)+$", `${"a".repeat(5_000)}!`],
    ["(.*a){20}", `${"a".repeat(15)}${"b".repeat(5_000)}`],
    ["(.*a){20}$", `${"a".repeat(5_000)}b`],
    [".*.*.*.*.*.*=", "x".repeat(5_000)],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(5_000)],
    ["(a*)*b", "a".repeat(5_000)],
  ];
  for (const [pattern, text] of attacks) {
    const program = compilePattern(pattern);
    assert.ok(program.kind === "program");
    const { units } = run(pattern, text);
    assert.ok(units <= 3 * (text.length + 1) * program.instructions.length, `${pattern}: ${units}`);
  }
});

test("patterns that cannot run in linear time are rejected with a reason", () => {
  const table: readonly (readonly [pattern: string, reason: RegExp])[] = [
    ["(a)\\1", /backreference/],
    ["(?<x>a)\\k<x>", /backreference/],
    ["(?=a)b", /lookahead/],
    ["(?!a)b", /lookahead/],
    ["(?<=a)b", /lookbehind/],
    ["(?<!a)b", /lookbehind/],
    ["(?i:a)", /inline flags/],
    ["(a{99}){99}", /too large/],
    ["a{1000000000}", /too large/],
    ["(){1000000000}", /too large/],
    ["((){9999}){9999}", /too large/],
    ["((((a{9}){9}){9}){9}){9}", /too large/],
    ["(", /valid/],
    ["a{2,1}", /valid/],
    ["x".repeat(patternLengthMax + 1), /longer than 200/],
  ];
  for (const [pattern, reason] of table) {
    const program = compilePattern(pattern);
    assert.ok(program.kind === "refused", pattern);
    assert.match(program.reason, reason);
  }
});

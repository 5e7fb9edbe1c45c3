import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseItem, serializeItem } from "structured-headers";
import {
  idempotencyProblems,
  isIdempotencyKey,
  parseKeyHeader,
  serializeKey,
  UnserializableKeyError,
} from "./idempotency-key.ts";

const uuid = "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e";

/** [raw, key]. */
const wellFormed: readonly (readonly [string, string])[] = [
  ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', "8e03978e-40d5-43e8-bc93-6894a57f9324"],
  ['"clkyoesmbgybucifusbbtdsbohtyuuwz"', "clkyoesmbgybucifusbbtdsbohtyuuwz"],
  ['  "a b"  ', "a b"],
  ['" a "', " a "],
  [String.raw`"b \"q\" \\ e"`, String.raw`b "q" \ e`],
  [String.raw`"\\"`, "\\"],
  ['"a";p', "a"],
  ['"a";p=1; q="x;y\\"";*r=tok/en;s=:aGk=:;t=?0;u=1.5;v=@-3;w=%"f%c3%bc"', "a"],
  ['"a";p;p=2', "a"],
  [`"${"x".repeat(255)}"`, "x".repeat(255)],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
];

/** [raw, reason]. */
const malformed: readonly (readonly [string, string])[] = [
  ["", "empty"],
  ["   ", "empty"],
  ['""', "empty"],
  [uuid, "not_a_string"],
  ["abc", "not_a_string"],
  ["'abc'", "not_a_string"],
  ["1", "not_a_string"],
  ["?1", "not_a_string"],
  [":aGk=:", "not_a_string"],
  ["@1", "not_a_string"],
  ['%"a"', "not_a_string"],
  ['("a")', "not_a_string"],
  ['\t"a"', "not_a_string"],
  ['"', "unterminated"],
  ['"a', "unterminated"],
  ['"a\\', "unterminated"],
  ['"a\\"', "unterminated"],
  [String.raw`"\n"`, "bad_escape"],
  [String.raw`"\x41"`, "bad_escape"],
  ['"a\nb"', "bad_character"],
  ['"a\tb"', "bad_character"],
  ['"\u0000"', "bad_character"],
  ['"\u007f"', "bad_character"],
  ['"é"', "bad_character"],
  ['"😀"', "bad_character"],
  ['"a" "b"', "trailing_characters"],
  ['"a", "b"', "trailing_characters"],
  ['"a"x', "trailing_characters"],
  ['"a" ;p', "trailing_characters"],
  ['"a"\t', "trailing_characters"],
  ['"a";', "bad_parameters"],
  ['"a";P', "bad_parameters"],
  ['"a";1', "bad_parameters"],
  ['"a";p=', "bad_parameters"],
  ['"a";p=1.', "bad_parameters"],
  ['"a";p=1234567890123456', "bad_parameters"],
  ['"a";p="x', "bad_parameters"],
  ['"a";p=é', "bad_parameters"],
  ['"a";p ;q', "bad_parameters"],
  ['"a";\tp', "bad_parameters"],
  ['"a";p=?2', "bad_parameters"],
  ['"a";p=(1)', "bad_parameters"],
  ['"a";p=%"%c0%a0"', "bad_parameters"],
  ['"a";p=%"%C3%BC"', "bad_parameters"],
  [`"${"x".repeat(256)}"`, "too_long"],
  [`"${"x".repeat(10_000)}"`, "too_long"],
  ["x".repeat(10_000), "too_long"],
];

describe("reading a key", () => {
  for (const [raw, key] of wellFormed) {
    test(`IDK-2 EDS-9.4-2 ${JSON.stringify(raw).slice(0, 60)} is read in both modes`, () => {
      const expected = { kind: "ok", key, form: "string" };
      assert.deepEqual(parseKeyHeader(raw), expected);
      assert.deepEqual(parseKeyHeader(raw, true), expected);
    });
  }

  for (const [raw, reason] of malformed) {
    test(`${JSON.stringify(raw).slice(0, 60)} is malformed: ${reason}`, () => {
      assert.deepEqual(parseKeyHeader(raw), { kind: "malformed", reason });
      assert.deepEqual(parseKeyHeader(raw, false), { kind: "malformed", reason });
    });
  }

  test("IDK-31 the draft's examples are read", () => {
    for (const key of ["8e03978e-40d5-43e8-bc93-6894a57f9324", "clkyoesmbgybucifusbbtdsbohtyuuwz"])
      assert.deepEqual(parseKeyHeader(`"${key}"`), { kind: "ok", key, form: "string" });
  });

  test("structured-headers reads the same keys from the same values", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '"',
        '"',
        "\\",
        '\\"',
        "\\\\",
        " ",
        ";",
        "=",
        ";p",
        ";q=1",
        "=?1",
        "=1.5",
        ",",
        "a",
        "B",
        "9",
        "\t",
        "é",
        '="x"',
        "=*t/",
        "=@1",
        "(",
        ")",
        '=%"%c3%bc"',
        '=%"%c3"',
        "=:aGk=:",
      ),
      fc.string({ unit: "binary-ascii", maxLength: 2 }),
    );
    const inside = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(""));
    const raw = fc.oneof(
      inside,
      inside.map((text) => `"${text}"`),
      inside.map((text) => `"a"${text}`),
    );
    fc.assert(
      fc.property(raw, (text) => {
        // The peer library refuses a date with trailing characters; RFC 9651, section 4.2.9, ends a date at the first
        // non-digit.
        fc.pre(!/@-?\d+\D/.test(text));
        let oracle: unknown = null;
        try {
          oracle = parseItem(text)[0];
        } catch {}
        const parsed = parseKeyHeader(text);
        const expected = typeof oracle === "string" && oracle !== "" ? oracle : null;
        assert.equal(parsed.kind === "ok" ? parsed.key : null, expected, JSON.stringify(text));
      }),
      { numRuns: 10_000 },
    );
  });
});

describe("lenient mode", () => {
  for (const raw of [uuid, `  ${uuid} `, "abc", "1", "a.b_c~d:e/f+g=h-", "x".repeat(255), "@1".slice(1)]) {
    test(`accepts bare ${JSON.stringify(raw).slice(0, 50)}`, () => {
      const parsed = parseKeyHeader(raw, true);
      assert.deepEqual(parsed, { kind: "ok", key: raw.trim(), form: "bare" });
    });
  }

  test("the bare and the quoted form give the same key", () => {
    const bare = parseKeyHeader(uuid, true);
    const quoted = parseKeyHeader(`"${uuid}"`, true);
    assert.ok(bare.kind === "ok" && quoted.kind === "ok");
    assert.equal(bare.key, quoted.key);
  });

  for (const [raw, reason] of [
    ["x".repeat(256), "too_long"],
    ["a b", "not_a_string"],
    ["a,b", "not_a_string"],
    ["a;p=1", "not_a_string"],
    ["é", "not_a_string"],
    ["a'b", "not_a_string"],
    ["a\n", "not_a_string"],
    ["*\r\nDEL x", "not_a_string"],
    ['"unterminated', "unterminated"],
    ["", "empty"],
  ] as const) {
    test(`still rejects ${JSON.stringify(raw).slice(0, 50)}: ${reason}`, () => {
      assert.deepEqual(parseKeyHeader(raw, true), { kind: "malformed", reason });
    });
  }
});

describe("writing a key", () => {
  test("a UUID is quoted", () => assert.equal(serializeKey(uuid), `"${uuid}"`));

  test("IDK-2 EDS-9.4-2 every key is written as structured-headers writes it and read back unchanged", () => {
    const key = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    fc.assert(
      fc.property(key, (text) => {
        const raw = serializeKey(text);
        assert.equal(raw, serializeItem(text));
        assert.deepEqual(parseKeyHeader(raw), { kind: "ok", key: text, form: "string" });
      }),
    );
  });

  for (const key of ["", "é", "a\nb", "a\r", "\u0000", "\u007f", "x".repeat(256), "a\n"]) {
    test(`${JSON.stringify(key).slice(0, 40)} cannot be written`, () => {
      assert.equal(isIdempotencyKey(key), false);
      assert.throws(() => serializeKey(key), UnserializableKeyError);
    });
  }
});

test("the published problems have their statuses", () => {
  const statuses = Object.values(idempotencyProblems).map(({ status, title }) => [status, title]);
  assert.deepEqual(statuses, [
    [400, "Idempotency-Key is missing"],
    [422, "Idempotency-Key is already used"],
    [409, "A request is outstanding for this Idempotency-Key"],
  ]);
});

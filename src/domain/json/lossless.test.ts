import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { suite, test } from "node:test";
import { seededNumbers } from "../../../test/services/seeded-numbers.fixture.ts";
import { compileFilter } from "../filter.ts";
import {
  canonicalNumber,
  compareNumbers,
  isRawNumber,
  parseCanonical,
  parseLossless,
  withDoubles,
} from "./lossless.ts";

const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? randomInt(2 ** 31));
const valueOf = (text: string) => parseLossless(text) as Parameters<typeof compareNumbers>[0];

suite("JSON that keeps its digits", () => {
  test("numbers beyond the precision of a double are written as they were read, others are ordinary numbers", () => {
    const raw = [
      "9007199254740993",
      "-9007199254740993",
      "1e400",
      "123456789012345678901234567890",
      "0.1234567890123456789",
      "1E-400",
    ];
    for (const text of raw) {
      const whole = `{"a":[${text}],"b":"${text}"}`;
      assert.equal(JSON.stringify(parseLossless(whole)), whole);
      assert.ok(isRawNumber((parseLossless(whole) as { readonly a: readonly unknown[] }).a[0]), text);
    }
    const plain = [
      "0",
      "-0",
      "1.0",
      "0.1",
      "1e3",
      "9007199254740992",
      "1e22",
      "5e-324",
      "100000000000000000000",
    ];
    for (const text of plain) assert.equal(typeof parseLossless(text), "number", text);
    assert.throws(() => parseLossless("9007199254740993,"), SyntaxError);
  });

  test("equal numbers have one canonical text, different numbers have different ones", () => {
    const equal = [
      ["1", "1.0", "1e0", "10e-1", "0.1e1", "1E+0"],
      ["0", "-0", "0.0", "0e99", "-0e-5"],
      ["9007199254740993", "9007199254740993.0", "9.007199254740993e15", "90071992547409930e-1"],
      ["1e400", "10e399", "0.1e401"],
      ["1e99999999999999999999", "10e99999999999999999998"],
    ];
    const texts = equal.map((spellings) => {
      const [first, ...others] = spellings.map(canonicalNumber);
      for (const other of others) assert.equal(other, first);
      return first;
    });
    assert.equal(new Set(texts).size, equal.length);
    assert.equal(
      JSON.stringify(parseCanonical('{"id":9007199254740993.0}')),
      JSON.stringify(parseCanonical('{"id":9.007199254740993E15}')),
    );
  });

  test("a number as long as a whole message is parsed once, regardless of how many conditions compare it", () => {
    const digits = "7".repeat(250_000);
    for (const text of [`1e${digits}`, `1e-${digits}`, `${digits}.5`, `-${digits}e${digits}`]) {
      const never = [{ $gt: 5, $lt: 4 }, { $in: [1, valueOf("9007199254740993")] }];
      const filter = compileFilter({
        body: { $or: Array.from({ length: 100 }, (_, at) => ({ n: never[at % 2] })) },
      });
      const from = process.cpuUsage();
      const message = { body: parseCanonical(`{"n":${text}}`), headers: {}, query: {}, path: "" };
      for (let connection = 0; connection < 50; connection += 1) filter(message);
      const { user, system } = process.cpuUsage(from);
      assert.ok(user + system < 4_000_000, `${user + system} microseconds for ${text.slice(0, 10)}`);
    }
  });

  test("enormous exponents keep numbers distinct and ordered", () => {
    const huge = "9".repeat(2_000);
    const ascending = [
      `-1e${huge}9`,
      `-1e${huge}`,
      "-1",
      `1e-${huge}9`,
      `1e-${huge}`,
      "1e-400",
      "1e400",
      `1e${huge}`,
      `1e${huge}9`,
    ];
    for (const [at, left] of ascending.entries())
      for (const [other, right] of ascending.entries()) {
        assert.equal(Math.sign(compareNumbers(valueOf(left), valueOf(right))) + 0, Math.sign(at - other));
        assert.equal(canonicalNumber(left) === canonicalNumber(right), at === other);
      }
    assert.notEqual(canonicalNumber(`10e${huge}`), canonicalNumber(`1e${huge}`));
    assert.equal(canonicalNumber(`0e${huge}`), "0");
    assert.equal(canonicalNumber(`1e0${"0".repeat(2_000)}5`), canonicalNumber("1e5"));
  });

  test(`numbers are ordered by value (seed ${seed})`, () => {
    const next = seededNumbers(seed);
    const below = (count: number) => Math.floor(next() * count);
    for (let round = 0; round < 3_000; round += 1) {
      const draw = () => BigInt(below(3) - 1) * (2n ** 53n + BigInt(below(4))) * 10n ** BigInt(below(3));
      const [a, b] = [draw(), draw()];
      const expected = a === b ? 0 : Number(a > b) * 2 - 1;
      const [left, right] = [`${a}${below(2) === 0 ? "" : ".0"}`, `${b}${below(2) === 0 ? "" : "e0"}`];
      assert.equal(
        Math.sign(compareNumbers(valueOf(left), valueOf(right))) + 0,
        expected,
        `${left} ${right}`,
      );
    }
    const ascending = [
      "-1e400",
      "-9007199254740993",
      "-1",
      "0",
      "1e-400",
      "0.5",
      "9007199254740993",
      "1e400",
    ];
    for (const [at, text] of ascending.entries())
      for (const [other, otherText] of ascending.entries())
        assert.equal(Math.sign(compareNumbers(valueOf(text), valueOf(otherText))) + 0, Math.sign(at - other));
  });

  test("schemas get doubles", () => {
    assert.deepEqual(withDoubles(parseLossless('{"a":[9007199254740993,{"b":1e400}],"c":"x"}')), {
      a: [9007199254740992, { b: Number.POSITIVE_INFINITY }],
      c: "x",
    });
  });
});

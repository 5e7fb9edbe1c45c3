import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createUuidV7Source, isUuid, uuidV7TimeMs } from "./uuid.ts";

const canonical = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function sourceAt(times: Iterable<number>) {
  const clock = times[Symbol.iterator]();
  let last = 0;
  return createUuidV7Source(() => {
    const step = clock.next();
    if (step.done !== true) last = step.value;
    return last;
  }, randomBytes);
}

describe("version 7 ids", () => {
  test("EDS-9.4-4 IDK-5 TS16-32 have the form of RFC 9562 and contain the clock", () => {
    const source = sourceAt([1_645_557_742_000]);
    const id = source.next();
    assert.match(id, canonical);
    assert.match(id, /^017f22e2-79b0-7/);
    assert.equal(uuidV7TimeMs(id), 1_645_557_742_000);
  });

  test("EDS-9.4-4 IDK-5 contain 62 random bits, each of which takes both values", () => {
    const source = sourceAt([1_645_557_742_000]);
    const seen = { ones: 0n, zeros: 0n };
    const all = (1n << 62n) - 1n;
    for (let count = 0; count < 512; count += 1) {
      const random = BigInt(`0x${source.next().slice(19).replace("-", "")}`) & all;
      seen.ones |= random;
      seen.zeros |= ~random & all;
    }
    // The probability that a random bit has the same value 512 times in a row is 2^-511.
    assert.deepEqual(seen, { ones: all, zeros: all });
  });

  test("EDS-7.2-8 increase strictly, whatever the clock does", () => {
    const clock = fc.array(fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 2 ** 40 })), {
      minLength: 2,
    });
    fc.assert(
      fc.property(clock, (times) => {
        const source = sourceAt(times);
        const ids = times.map(() => source.next());
        for (const [index, id] of ids.entries()) {
          assert.match(id, canonical);
          const previous = ids[index - 1];
          if (previous !== undefined) assert.ok(previous < id);
        }
      }),
    );
  });

  test("still increase if one millisecond has more ids than the counter", () => {
    const source = sourceAt([5]);
    let previous = source.next();
    for (let count = 0; count < 20_000; count++) {
      const id = source.next();
      if (!(previous < id)) assert.fail(`${previous} then ${id}`);
      previous = id;
    }
    const aheadMs = (uuidV7TimeMs(previous) ?? 0) - 5;
    assert.ok(aheadMs >= 4 && aheadMs <= 10, `${aheadMs} ms ahead of the clock`);
  });

  test("follow the clock again once it catches up", () => {
    const source = sourceAt([1000, 10, 1001]);
    const times = [source.next(), source.next(), source.next()].map(uuidV7TimeMs);
    assert.deepEqual(times, [1000, 1000, 1001]);
  });

  test("EDS-7.1-3 differ in all 62 random bits, also across refills of the pool", () => {
    const source = sourceAt([1]);
    const ones = new Array<number>(64).fill(0);
    const count = 4000;
    for (let index = 0; index < count; index++) {
      const tail = BigInt(`0x${source.next().slice(19).replace("-", "")}`);
      for (let bit = 0; bit < 64; bit++) ones[bit] = (ones[bit] ?? 0) + Number((tail >> BigInt(bit)) & 1n);
    }
    // 4,000 random values per bit. A count outside 1,700 to 2,300 would deviate by more than nine standard deviations.
    assert.ok(
      ones.slice(0, 62).every((n) => n > 1700 && n < 2300),
      ones.join(" "),
    );
    assert.deepEqual(ones.slice(62), [0, count], "the variant is fixed");
  });

  test("never reuse random bytes", () => {
    let calls = 0;
    const source = createUuidV7Source(
      () => 1,
      (bytes) => {
        calls++;
        return new Uint8Array(bytes).fill(calls);
      },
    );
    const ids = Array.from({ length: 511 }, () => source.next());
    assert.equal(calls, 1, "a pool of 4,096 bytes serves 511 ids and one counter");
    assert.ok(source.next().endsWith("0202"));
    assert.equal(calls, 2);
    assert.equal(new Set(ids).size, ids.length, "unique even when the random bytes repeat");
  });

  test("a clock beyond 48 bits is an error, not a wrong id", () => {
    for (const now of [-1, Number.NaN, 2 ** 48]) {
      assert.throws(() => sourceAt([now]).next(), RangeError);
    }
  });
});

describe("reading ids", () => {
  test("isUuid accepts only the 36-character form", () => {
    assert.ok(isUuid("0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e"));
    assert.ok(isUuid("8E03978E-40D5-43E8-BC93-6894A57F9324"));
    for (const text of [
      "",
      "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2",
      "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e\n",
      "0190a4d51c9e7c5e9b9a3f8e3b3f1a2e",
      "{0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e}",
      "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2g",
    ]) {
      assert.equal(isUuid(text), false, JSON.stringify(text));
    }
  });

  test("uuidV7TimeMs reads version 7 in either case and nothing else", () => {
    assert.equal(uuidV7TimeMs("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), 1_645_557_742_000);
    assert.equal(uuidV7TimeMs("8e03978e-40d5-43e8-bc93-6894a57f9324"), null);
    assert.equal(uuidV7TimeMs("017f22e2-79b0-7cc3-c8c4-dc0c0c07398f"), null, "wrong variant");
    assert.equal(uuidV7TimeMs("nonsense"), null);
  });
});

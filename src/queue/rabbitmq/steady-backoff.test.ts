import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SteadyBackoff } from "./connection.ts";

const minuteMs = 60_000;

suite("steady backoff", () => {
  for (const [name, uniform] of [
    ["smallest", 0],
    ["largest", 0.999_999],
  ] as const) {
    test(`WDS-210 the ${name} pauses grow from below half a second to at most five minutes`, () => {
      const backoff = new SteadyBackoff({ uniform: () => uniform });
      const pauses = Array.from({ length: 20 }, () => backoff.failed());
      const [first = 0] = pauses;
      assert.ok(first >= 100 && first <= 500, String(first));
      for (const [index, pause] of pauses.entries()) {
        const before = pauses[index - 1] ?? 0;
        assert.ok(pause > before || pause >= 2.5 * minuteMs, `${before} then ${pause}`);
        assert.ok(pause <= 5 * minuteMs);
      }
      assert.ok((pauses.at(-1) ?? 0) >= 2.5 * minuteMs);
    });
  }

  test("pauses of several processes differ", () => {
    const [a, b] = [0.1, 0.9].map((uniform) => new SteadyBackoff({ uniform: () => uniform }));
    assert.notEqual(a?.failed(), b?.failed());
  });

  test("a lasting success resets the backoff, a short one counts as a failure", () => {
    const backoff = new SteadyBackoff({ uniform: () => 0 });
    backoff.failed();
    backoff.failed();
    assert.equal(backoff.ended(100), 1_000);
    assert.equal(backoff.failures, 3);
    assert.equal(backoff.ended(minuteMs), 250);
    assert.equal(backoff.failures, 0);
  });
});

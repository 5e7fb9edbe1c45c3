import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Backoff, backoffMs } from "./backoff.ts";

const bounds = { delayMsMin: 100, delayMsMax: 2_000 };

describe("backoff", () => {
  it("doubles from the lower bound to the upper bound, and stays there", () => {
    const backoff = new Backoff(bounds);
    const pauses = Array.from({ length: 7 }, () => backoff.nextMs());
    assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it("shortens a pause by up to half", () => {
    for (const [random, share] of [
      [0, 0.5],
      [0.5, 0.75],
      [1, 1],
    ] as const) {
      assert.equal(backoffMs(bounds, 0, random), 100 * share);
      assert.equal(backoffMs(bounds, 9, random), 2_000 * share);
    }
  });

  it("restarts after a success", () => {
    const backoff = new Backoff(bounds);
    backoff.nextMs();
    backoff.nextMs();
    backoff.reset();
    assert.equal(backoff.nextMs(), 100);
  });

  it("stays finite after any number of failures", () => {
    assert.equal(backoffMs(bounds, 1e9), 2_000);
    assert.equal(backoffMs({ delayMsMin: 0, delayMsMax: 0 }, 1e9), 0);
  });
});

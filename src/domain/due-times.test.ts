import assert from "node:assert/strict";
import { test } from "node:test";
import { dueBroughtNear } from "./due-times.ts";

const now = 1_800_000_000_000;
const day = 86_400_000;
const fresh = { state: "pending", attemptCount: 0, createdAt: now, dueAt: now, retried: null } as const;
const retried = {
  ...fresh,
  state: "failed",
  attemptCount: 2,
  createdAt: now - 1_000,
  dueAt: now + day,
} as const;

test("a new delivery from a clock that was ahead is due after its delay", () => {
  const ahead = { ...fresh, createdAt: now + day };
  assert.equal(dueBroughtNear({ ...ahead, dueAt: now + day }, null, now), now);
  assert.equal(dueBroughtNear({ ...ahead, dueAt: now + day + 5_000 }, null, now), now + 5_000);
  assert.equal(dueBroughtNear({ ...fresh, dueAt: now + day }, null, now), null, "a delay stays a delay");
  assert.equal(dueBroughtNear({ ...fresh, createdAt: now + 900 }, null, now), null, "clocks differ a little");
});

test("a retry keeps its remaining wait, and is moved closer once", () => {
  const last = { executedAt: now + day - 30_000, nextRetryAt: now + day };
  const due = dueBroughtNear(retried, last, now);
  assert.equal(due, now + 30_000);
  assert.equal(dueBroughtNear({ ...retried, dueAt: due ?? 0 }, last, now + 10_000), null);
});

test("a wait requested by the receiver is not shortened", () => {
  const last = { executedAt: now - 60_000, nextRetryAt: now + day };
  assert.equal(dueBroughtNear(retried, last, now), null);
});

test("a manually retried delivery is due at once", () => {
  for (const attemptCount of [0, 2]) {
    const byHand = {
      ...retried,
      state: "pending",
      attemptCount,
      retried: { at: now + day, attemptCount },
    } as const;
    assert.equal(dueBroughtNear(byHand, null, now), now);
    assert.equal(dueBroughtNear({ ...byHand, dueAt: now }, null, now), null);
  }
});

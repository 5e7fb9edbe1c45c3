import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, discardAction, phraseFor, retryAction, targetOf } from "./bulk-actions.ts";

test("a filter keeps its timestamps, ends now if it is open, and omits the sort order", () => {
  const nowMs = Date.parse("2026-11-22T11:48:20.000Z");
  const query = {
    status: ["failed", "exhausted"],
    attempt_min: ["3"],
    error: ["timed out"],
    order: ["oldest"],
    from: "2026-11-22T11:00:00.000Z",
  };
  assert.deepEqual(targetOf(query, nowMs), {
    filter: {
      status: ["failed", "exhausted"],
      attempt_min: 3,
      error: "timed out",
      from: "2026-11-22T11:00:00.000Z",
      to: "2026-11-22T11:48:20.000Z",
    },
  });
  const closed = targetOf({ to: "2026-11-22T11:30:00.000Z" }, nowMs);
  assert.deepEqual(closed, { filter: { to: "2026-11-22T11:30:00.000Z" } });
});

test("a discard, more than 10,000 deliveries, and an inexact count require typed confirmation", () => {
  const counted = (count: number, count_is_exact = true) => ({ count, count_is_exact });
  assert.equal(phraseFor(discardAction, counted(2)), "discard 2");
  assert.equal(phraseFor(retryAction, counted(10_000)), null);
  assert.equal(phraseFor(retryAction, counted(10_001)), "retry 10001");
  assert.equal(phraseFor(retryAction, counted(5_000, false)), "retry 5000");
});

test("the CLI command has the same effect and is quoted for a shell", () => {
  const choice = { perSecond: 5, priority: "low", closesCircuits: false };
  const filter = { webhook_id: ["01a2"], error: "it's late", attempt_min: 3 };
  const flags = "--webhook 01a2 --error 'it'\\''s late' --attempts-min 3";
  const command = `deliveries retry ${flags} --rate 5 --priority low --yes --watch`;
  assert.equal(commandOf(retryAction, { filter }, choice).text, command);
  const ids = commandOf(
    discardAction,
    { ids: ["a", "b"] },
    { perSecond: 100, priority: null, closesCircuits: false },
  );
  assert.equal(ids.text, "dlq discard a b --rate 100 --yes --watch");
});

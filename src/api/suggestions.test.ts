import assert from "node:assert/strict";
import { test } from "node:test";
import { suggest } from "./suggestions.ts";

const known = ["event_type", "data", "idempotency_key", "priority"];

test("a slip finds its name, something else finds none", () => {
  for (const name of ["event_typ", "eventType", "event-type", "EVENT_TYPE"])
    assert.equal(suggest(name, known), "event_type");
  assert.equal(suggest("dta", known), "data");
  assert.equal(suggest("idempotencyKey", known), "idempotency_key");
  for (const name of ["zzz", "", "x".repeat(10_000)]) assert.equal(suggest(name, known), null);
});

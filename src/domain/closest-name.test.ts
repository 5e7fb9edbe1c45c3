import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName } from "./closest-name.ts";

const known = ["event_type", "data", "idempotency_key", "priority"];

test("a typo finds the closest name, an unrelated word finds none", () => {
  for (const name of ["event_typ", "eventType", "event-type", "EVENT_TYPE"])
    assert.equal(closestName(name, known), "event_type");
  assert.equal(closestName("dta", known), "data");
  assert.equal(closestName("idempotencyKey", known), "idempotency_key");
  for (const name of ["zzz", "", "x".repeat(10_000)]) assert.equal(closestName(name, known), null);
});

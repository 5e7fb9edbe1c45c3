import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../../domain/errors.ts";
import { systemClock as clock } from "../../system/clock.ts";
import { OpenStreams } from "./event-streams.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

function setUp() {
  const streams = new OpenStreams({ clock, log });
  let callers = 0;
  /** Opens streams of a tenant, each with a separate caller, until one is refused. */
  const fill = (tenantId: string | null, isCustomer = false): number => {
    for (let count = 0; ; count += 1) {
      try {
        streams.begin({ callerId: `caller-${callers++}`, tenantId, isCustomer, isAllowed: () => true });
      } catch (error) {
        assert.ok(error instanceof PosthornError && error.code === "rate_limited");
        assert.equal(error.retryAfterSeconds, 5);
        return count;
      }
    }
  };
  return { streams, fill };
}

test("one tenant holds at most half of the streams, and others and the operator still get some", () => {
  const { streams, fill } = setUp();
  assert.equal(fill("acme"), 100);
  assert.equal(fill("globex"), 50);
  assert.ok(fill(null) >= 20);
  assert.ok(fill("initech") >= 1);
  streams.endAll();
});

test("the customers of one tenant hold at most half of the streams of portal sessions", () => {
  const { streams, fill } = setUp();
  assert.equal(fill("acme", true), 50);
  assert.equal(fill("globex", true), 25);
  assert.ok(fill("acme") >= 10, "and keys of the tenant get others");
  streams.endAll();
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { PublishEntry } from "../../ports/shared-state.ts";
import { systemClock } from "../../system/clock.ts";
import { createSystemRandom } from "../../system/random.ts";
import type { KeyScope } from "./limits.ts";
import { openRedisSharedState } from "./open.ts";

const url = process.env["POSTHORN_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const nothing = (): void => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

test("data of another database, or of an earlier server run, is not found", async (t) => {
  const prefix = `posthorn-test-${randomBytes(6).toString("hex")}`;
  const state = await openRedisSharedState({
    url,
    prefix,
    clock: systemClock,
    random: createSystemRandom(),
    telemetry: { log },
  });
  t.after(() => state.close());
  let scope: KeyScope = { deployment: "first", incarnation: "1" };
  state.serve(() => scope);
  const key = { tenantId: "amber", idempotencyKey: "key" };
  const { publishes } = state;
  const publish = {
    fingerprint: null,
    id: "event",
    eventType: "a",
    timestamp: 1,
    sequenceNumber: 1,
    deliveries: 1,
  };
  const entry: PublishEntry = { key, publish, until: Date.now() + 10_000 };
  const found = async (): Promise<boolean> => (await publishes.recall([key]))[0] !== null;
  await publishes.remember([entry]);
  assert.equal(await found(), true);
  const others: readonly KeyScope[] = [
    { deployment: "second", incarnation: "1" },
    { deployment: "first", incarnation: "2" },
    { deployment: "first", incarnation: null },
  ];
  for (const other of others) {
    scope = other;
    assert.equal(await found(), false, JSON.stringify(other));
  }
  // Nothing is stored until the server run is known.
  await publishes.remember([entry]);
  scope = { deployment: "first", incarnation: "2" };
  assert.equal(await found(), false);

  const draw = { key: "tenant", limit: { requestsPerMinute: 60, burst: 1 }, tokens: 1 };
  assert.equal((await state.limits.draw([draw]))[0]?.granted, 1);
  assert.equal((await state.limits.draw([draw]))[0]?.granted, 0);
  scope = { deployment: "second", incarnation: "2" };
  assert.equal((await state.limits.draw([draw]))[0]?.granted, 1);
});

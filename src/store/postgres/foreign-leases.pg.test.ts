/** Leases written by a call of the former owner after the webhook had moved to another worker. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  lane,
  minute,
  newWebhook,
  only,
  publish,
  settled,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

async function openTwo(t: TestContext): Promise<readonly [Store, Store]> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const open = async (): Promise<Store> => {
    const masterKeyIds = { current: "key", previous: [] };
    const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
    stack.defer(() => store.close());
    return store;
  };
  return [await open(), await open()];
}

test("WDS-199 WDS-217 a foreign lease is freed with a new token, so that its holder settles nothing", async (t) => {
  const [former, owner] = await openTwo(t);
  const { id: webhookId } = newWebhook();
  const key = lane(webhookId, "strict");
  await publish(former, { deliveries: [{ lane: key }] });
  assert.ok(owner.ownership !== undefined);
  const worker = await owner.ownership.join({ aliveMs: 60_000, pool: "default" });
  const from = { kind: "webhooks", ids: [webhookId] } as const;
  assert.equal((await owner.ownership.acquire({ worker, from, limit: 1, slack: 1 })).webhooks.length, 1);

  // The former owner's claim arrives only now.
  const late = only((await claim(former, key)).deliveries);
  assert.deepEqual((await claim(owner, key)).deliveries, [], "the foreign lease is still in force");
  // The delivery is now neither leased nor claimed, so only the token check refuses the former owner.
  assert.notEqual((await settled(former, late.lease)).kind, "written");
  const own = only((await claim(owner, key, { now: start + minute / 2 })).deliveries);
  assert.equal((await settled(owner, own.lease)).kind, "written");
});

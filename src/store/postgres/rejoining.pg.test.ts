// What happens to the webhooks and leases of workers when the database crashes and the workers join again.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  commit,
  newAttempt,
  newWebhook,
  only,
  lane,
  publish,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { PostgresServer } from "../../../test/services/postgres-server.fixture.ts";
import type { Store } from "../../ports/store.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import { openPostgresStore } from "./open.ts";

const life = { aliveMs: 60_000, pool: "default" };

type SharedStore = Store & { readonly ownership: OwnershipStore };

interface Scene {
  readonly server: PostgresServer;
  readonly stores: readonly [SharedStore, SharedStore];
}

async function openScene(t: TestContext): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await PostgresServer.start();
  stack.defer(() => server.remove());
  const open = async (): Promise<SharedStore> => {
    const masterKeyIds = { current: "key", previous: [] };
    const store = await openPostgresStore({ url: server.url, now: start, masterKeyIds });
    stack.defer(() => store.close());
    const { ownership } = store;
    assert.ok(ownership !== undefined);
    return store as SharedStore;
  };
  return { server, stores: [await open(), await open()] };
}

/** A webhook that a worker owns, and one of its deliveries that the worker has leased. */
async function ownedWebhook(store: SharedStore, worker: number) {
  const webhook = newWebhook();
  await store.webhooks.save(webhook);
  await publish(store, { deliveries: [{ lane: lane(webhook.id) }] });
  const from = { kind: "webhooks", ids: [webhook.id] } as const;
  const { webhooks } = await store.ownership.acquire({ worker, from, limit: 9, slack: 9 });
  const { leases } = await publish(store, { deliveries: [{ lane: lane(webhook.id), claim: true }] });
  return { id: webhook.id, ownerEpoch: only(webhooks).ownerEpoch, lease: only(leases), from };
}

test("results that a worker holds when the database crashes are written after it joins again", async (t) => {
  const { server, stores } = await openScene(t);
  const [mine, theirs] = stores;
  const worker = await mine.ownership.join(life);
  const busy = await ownedWebhook(mine, worker);
  const stale = await ownedWebhook(mine, worker);
  const quiet = await ownedWebhook(mine, worker);
  await server.restart("immediate");

  const keeps = [
    { webhookId: busy.id, ownerEpoch: busy.ownerEpoch },
    { webhookId: stale.id, ownerEpoch: stale.ownerEpoch + 1 },
  ];
  const again = await mine.ownership.join({ ...life, keeps });
  assert.notEqual(again, worker);
  const other = await theirs.ownership.join(life);
  const taken = async (of: typeof busy): Promise<number> => {
    const request = { worker: other, from: of.from, limit: 9, slack: 9 };
    return (await theirs.ownership.acquire(request)).webhooks.length;
  };
  assert.deepEqual([await taken(busy), await taken(stale), await taken(quiet)], [0, 1, 1]);
  const held = [busy, stale, quiet].map(({ lease }) => settlement(lease, { attempt: newAttempt() }));
  const { settled } = await commit(mine, { settlements: held });
  assert.deepEqual(
    settled.map(({ kind }) => kind),
    ["written", "lost", "lost"],
  );

  const state = { pausedUntil: null, pauseReason: null, lastSuccessAt: start, circuit: null, health: null };
  const handover = { state: { ...state, webhookId: busy.id, ownerEpoch: busy.ownerEpoch }, rateFullAt: null };
  await mine.ownership.release(again, [handover]);
  assert.equal(await taken(busy), 1, "it was released under the new number");
});

test("the first worker that returns after a long outage leaves the others time to return", async (t) => {
  const { server, stores } = await openScene(t);
  const [mine, theirs] = stores;
  const worker = await mine.ownership.join(life);
  const busy = await ownedWebhook(mine, worker);
  await theirs.ownership.join(life);
  await server.query("UPDATE posthorn.workers SET alive_until = now() - interval '1 s'");
  await server.restart("immediate");

  const other = await theirs.ownership.join(life);
  assert.notEqual(await theirs.ownership.heartbeat({ worker: other, aliveMs: life.aliveMs }), null);
  await mine.ownership.join({ ...life, keeps: [{ webhookId: busy.id, ownerEpoch: busy.ownerEpoch }] });
  const held = settlement(busy.lease, { attempt: newAttempt() });
  await theirs.ownership.acquire({ worker: other, from: busy.from, limit: 9, slack: 9 });
  assert.deepEqual((await commit(mine, { settlements: [held] })).settled, [{ kind: "written" }]);
});

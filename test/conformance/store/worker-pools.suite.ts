import assert from "node:assert/strict";
import type { Priority } from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type { NewDelivery } from "../../../src/ports/store/deliveries.ts";
import type { AcquireRequest, PendingLane } from "../../../src/ports/store/ownership.ts";
import type { Tenant } from "../../../src/ports/store/registry.ts";
import type { Store } from "../../../src/ports/store.ts";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { claim, lane, minute, newWebhook, only, publish, settle, start } from "./scene.fixture.ts";
import { ownershipOf } from "./several-processes.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const longMs = 60_000;
const anyWork = { kind: "work", after: null, except: [] } as const;

async function saveTenant(store: Store, id: string, workerPool: string): Promise<void> {
  const tenant: Tenant = {
    id,
    name: id,
    rateLimit: null,
    webhooksMax: null,
    workerPool,
    createdAt: start,
    updatedAt: start,
  };
  await store.registry.saveTenant(tenant);
}

/** A webhook of the tenant with one delivery of each of these priorities. */
async function webhookWithWork(
  store: Store,
  { tenantId = "default", priorities = ["normal"] }: { tenantId?: string; priorities?: readonly Priority[] },
): Promise<string> {
  const webhook = newWebhook({ tenantId });
  await store.webhooks.save(webhook);
  const deliveries = priorities.map((priority) => ({ lane: lane(webhook.id), priority }));
  await publish(store, { deliveries });
  return webhook.id;
}

async function taken(store: Store, request: Pick<AcquireRequest, "worker"> & Partial<AcquireRequest>) {
  const { webhooks } = await ownershipOf(store).acquire({
    from: anyWork,
    limit: 100,
    slack: 100,
    ...request,
  });
  return webhooks.map(({ webhookId }) => webhookId).toSorted();
}

async function unownedLanes(store: Store, pageSize: number): Promise<readonly PendingLane[]> {
  const found: PendingLane[] = [];
  for (let after: string | null = null; ; ) {
    const page = await ownershipOf(store).unownedLanes(after, pageSize);
    found.push(...page.lanes);
    if (page.next === null) return found;
    after = page.next;
  }
}

/** Worker pools (WDS-220), and the amount of work in each pool. */
export const workerPools: StoreTheme = (check) => {
  check("WDS-220 a worker acquires only webhooks of its pool", async (store) => {
    await saveTenant(store, "acme", "big");
    const [plain, big] = [
      await webhookWithWork(store, {}),
      await webhookWithWork(store, { tenantId: "acme" }),
    ];
    const joined = async (pool: string) => ownershipOf(store).join({ aliveMs: longMs, pool });
    const [usual, dedicated, other] = [await joined("default"), await joined("big"), await joined("third")];
    const named = { from: { kind: "webhooks", ids: [plain, big] } } as const;
    assert.deepEqual(await taken(store, { worker: other, ...named }), []);
    assert.deepEqual(await taken(store, { worker: usual, ...named }), [plain]);
    assert.deepEqual(await taken(store, { worker: other }), []);
    assert.deepEqual(await taken(store, { worker: dedicated }), [big]);
  });

  check("WDS-220 a tenant that moves to another pool is served there from then on", async (store) => {
    await saveTenant(store, "acme", "big");
    const id = await webhookWithWork(store, { tenantId: "acme" });
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(await taken(store, { worker }), []);
    await saveTenant(store, "acme", "default");
    assert.deepEqual(await taken(store, { worker }), [id]);
  });

  check("shares are counted within a pool", async (store) => {
    await saveTenant(store, "acme", "big");
    for (let count = 0; count < 8; count += 1) {
      await webhookWithWork(store, {});
      await webhookWithWork(store, { tenantId: "acme" });
    }
    const join = async (pool: string) => ownershipOf(store).join({ aliveMs: longMs, pool });
    const [first, second, dedicated] = [await join("default"), await join("default"), await join("big")];
    assert.equal((await taken(store, { worker: first, slack: 0 })).length, 4);
    assert.equal((await taken(store, { worker: dedicated, slack: 0 })).length, 8);
    assert.equal((await taken(store, { worker: second, slack: 0 })).length, 4);
    const beat = async (worker: number) => ownershipOf(store).heartbeat({ worker, aliveMs: longMs });
    assert.deepEqual(await beat(first), { workers: 2, owned: 8 });
    assert.deepEqual(await beat(dedicated), { workers: 1, owned: 8 });
  });

  check("WDS-220 returns how many workers are alive in each pool, and which pool has none", async (store) => {
    const pools = async () => Object.fromEntries(await ownershipOf(store).pools());
    assert.deepEqual(await pools(), { default: 0 });
    const [first] = await Promise.all(
      ["default", "default", "third"].map((pool) => ownershipOf(store).join({ aliveMs: longMs, pool })),
    );
    await ownershipOf(store).join({ aliveMs: 1, pool: "default" });
    await saveTenant(store, "acme", "big");
    await eventually("the last one counts as dead", {
      ask: pools,
      holds: ({ default: alive }) => alive === 2,
    });
    assert.deepEqual(await pools(), { default: 2, third: 1, big: 0 });
    await ownershipOf(store).retire(first ?? 0);
    assert.deepEqual(await pools(), { default: 1, third: 1, big: 0 });
  });

  check("finds the pending deliveries of some lanes, with owner, pool and priority", async (store) => {
    await saveTenant(store, "acme", "big");
    const id = await webhookWithWork(store, { tenantId: "acme", priorities: ["low", "high", "normal"] });
    const key = lane(id);
    const left = { lane: key, worker: null, pool: "big", priority: "high" };
    assert.deepEqual(await ownershipOf(store).pendingLanes([key, lane("never seen")]), [left]);
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "big" });
    await taken(store, { worker });
    assert.deepEqual(await ownershipOf(store).pendingLanes([key]), [{ ...left, worker }]);
    await claim(store, key, { limit: 1 });
    assert.deepEqual(await ownershipOf(store).pendingLanes([key]), [{ ...left, worker, priority: "normal" }]);
    await claim(store, key);
    assert.deepEqual(await ownershipOf(store).pendingLanes([key]), [], "the owner has all of it");
  });

  check(
    "finds deliveries that an owner has left unclaimed for long, and nothing leased or waiting",
    async (store) => {
      const before = start + minute;
      const dueAt = before + 1;
      const save = async (ordering: LaneKey["ordering"], deliveries: readonly Partial<NewDelivery>[]) => {
        const webhook = newWebhook({ ordering });
        await store.webhooks.save(webhook);
        const key = lane(webhook.id, ordering);
        for (const fields of deliveries) await publish(store, { deliveries: [{ lane: key, ...fields }] });
        return key;
      };
      const free = await save("none", [{ dueAt }, { priority: "low" }]);
      const head = await save("strict", [{}, { dueAt }]);
      const ranOut = await save("none", [{}]);
      const ranOutHead = await save("strict", [{}, {}]);
      const leased = await save("none", [{}, { dueAt }]);
      const leasedHead = await save("strict", [{}, {}]);
      await save("strict", [{ dueAt }, {}]);
      await save("none", [
        { dueAt, priority: "high" },
        { dueAt, priority: "low" },
      ]);
      const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
      const overdue = async (limit: number, of = worker) => {
        const found: LaneKey[] = [];
        for (let after: string | null = null; ; ) {
          const page = await ownershipOf(store).overdue({ worker: of, before, after, limit });
          found.push(...page.lanes);
          if (page.next === null) return found;
          after = page.next;
        }
      };
      assert.deepEqual(await overdue(100), [], "nobody owns them");
      const ids = [free, head, ranOut, ranOutHead].map(({ webhookId }) => webhookId);
      await taken(store, { worker });
      await claim(store, ranOut, { leaseUntil: before });
      await claim(store, ranOutHead, { limit: 1, leaseUntil: before });
      await claim(store, leased, { leaseUntil: before + 1 });
      await claim(store, leasedHead, { limit: 1, leaseUntil: before + 1 });
      for (const limit of [3, 100])
        assert.deepEqual((await overdue(limit)).map(({ webhookId }) => webhookId).toSorted(), ids.toSorted());
      const other = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
      assert.deepEqual(await overdue(100, other), []);
    },
  );

  check(
    "unserved deliveries are found a page at a time, including those claimed by a dead worker",
    async (store) => {
      const ids: string[] = [];
      for (let count = 0; count < 5; count += 1) ids.push(await webhookWithWork(store, {}));
      const found = async () =>
        (await unownedLanes(store, 2)).map(({ lane: { webhookId } }) => webhookId).toSorted();
      assert.deepEqual(await found(), ids.toSorted());
      const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
      const [claimed = "", ...rest] = ids;
      await taken(store, { worker, from: { kind: "webhooks", ids: [claimed] } });
      const { deliveries } = await claim(store, lane(claimed));
      assert.deepEqual(await found(), rest.toSorted());
      await ownershipOf(store).leave(worker);
      assert.deepEqual(await found(), ids.toSorted());
      await settle(store, only(deliveries).lease);
      assert.deepEqual(await found(), rest.toSorted());
    },
  );
};

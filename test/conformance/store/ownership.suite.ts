import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreChange } from "../../../src/ports/store/changes.ts";
import type { Acquisition } from "../../../src/ports/store/ownership.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  newWebhook,
  nothingMore,
  only,
  progressed,
  publish,
  settle,
  start,
} from "./scene.fixture.ts";
import { acquire, another, blank, idsIn, ownershipOf } from "./several-processes.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const longMs = 60_000;

/** A stored webhook with waiting deliveries. */
async function webhookWithWork(store: Store, deliveries = 1): Promise<string> {
  const webhook = newWebhook();
  await store.webhooks.save(webhook);
  await publish(store, {
    deliveries: Array.from({ length: deliveries }, () => ({ lane: lane(webhook.id) })),
  });
  return webhook.id;
}

/** The same data is opened twice to represent two workers. */
export const ownership: StoreTheme = (check) => {
  check("a webhook with work has one owner, with its lanes and an owner epoch", async (store, open) => {
    const other = await another(open);
    const id = await webhookWithWork(store);
    const [mine, theirs] = [
      await ownershipOf(store).join({ aliveMs: longMs, pool: "default" }),
      await ownershipOf(other).join({ aliveMs: longMs, pool: "default" }),
    ];
    assert.notEqual(mine, theirs);
    const taken = only((await acquire(store, mine)).webhooks);
    assert.deepEqual(taken, {
      webhookId: id,
      ownerEpoch: taken.ownerEpoch,
      runtime: null,
      rate: { kind: "unused" },
      lanes: [lane(id)],
    });
    assert.deepEqual(idsIn(await acquire(other, theirs)), []);
    assert.deepEqual(idsIn(await acquire(other, theirs, { from: { kind: "webhooks", ids: [id] } })), []);
    assert.deepEqual(await ownershipOf(other).heartbeat({ worker: theirs, aliveMs: longMs }), {
      workers: 2,
      owned: 1,
    });
  });

  check("of two concurrent callers exactly one acquires each webhook", async (store, open) => {
    const other = await another(open);
    const workers = [store, other].map(async (each) => ({
      each,
      worker: await ownershipOf(each).join({ aliveMs: longMs, pool: "default" }),
    }));
    const both = await Promise.all(workers);
    for (let round = 0; round < 10; round += 1) {
      const ids: string[] = [];
      for (let count = 0; count < 8; count += 1) ids.push(await webhookWithWork(store));
      const results = await Promise.all(both.map(({ each, worker }) => acquire(each, worker)));
      assert.deepEqual(results.flatMap(idsIn).toSorted(), ids.toSorted());
    }
  });

  check("acquires named webhooks only if they are free, and skips excluded ones", async (store) => {
    const [first, second, third] = [
      await webhookWithWork(store),
      await webhookWithWork(store),
      await webhookWithWork(store),
    ];
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    const named = await acquire(store, worker, { from: { kind: "webhooks", ids: [first, "never seen"] } });
    assert.deepEqual(idsIn(named), [first]);
    const rest = await acquire(store, worker, { from: { kind: "work", after: null, except: [second] } });
    assert.deepEqual(idsIn(rest), [third]);
  });

  check("reads work a page at a time", async (store) => {
    const ids: string[] = [];
    const deliveries = Array.from({ length: 1_100 }, (_, index) => {
      ids.push(`webhook-${String(index).padStart(4, "0")}`);
      return { lane: lane(ids.at(-1) ?? "") };
    });
    await publish(store, { deliveries });
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    const found: string[] = [];
    let pages = 0;
    for (let after: string | null = null; pages < 5; ) {
      const page: Acquisition = await acquire(store, worker, {
        from: { kind: "work", after, except: [] },
        limit: 2_000,
      });
      pages += 1;
      found.push(...idsIn(page));
      after = page.next;
      if (after === null) break;
    }
    assert.deepEqual(found.toSorted(), ids);
    assert.equal(pages, 2);
  });

  check("a worker acquires an equal share and the slack", async (store, open) => {
    const other = await another(open);
    for (let count = 0; count < 20; count += 1) await webhookWithWork(store);
    const mine = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    const theirs = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    assert.equal((await acquire(store, mine, { slack: 1 })).webhooks.length, 11);
    assert.equal((await acquire(store, mine, { slack: 1 })).webhooks.length, 0);
    assert.equal((await acquire(other, theirs, { slack: 1, limit: 4 })).webhooks.length, 4);
    assert.equal((await acquire(other, theirs, { slack: 1 })).webhooks.length, 5);
  });

  check("a released webhook goes to the next owner with its state and its lanes", async (store, open) => {
    const other = await another(open);
    const id = await webhookWithWork(store);
    const mine = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    const { ownerEpoch } = only((await acquire(store, mine)).webhooks);
    const state = {
      ...blank(id),
      pausedUntil: start + 5,
      pauseReason: "retry_after",
      lastSuccessAt: start,
      circuit: "{}",
      health: "[]",
    };
    const theirs = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    const handover = { state, rateFullAt: start + 0.5 };
    await ownershipOf(other).release(theirs, [{ state: blank(id), rateFullAt: null }]);
    await ownershipOf(store).release(mine, [handover]);
    const taken = only((await acquire(other, theirs)).webhooks);
    assert.deepEqual(taken.runtime, state);
    assert.deepEqual(taken.rate, { kind: "full_at", fullAt: start + 0.5 });
    assert.deepEqual(taken.lanes, [lane(id)]);
    assert.ok(taken.ownerEpoch > ownerEpoch);
  });

  check("a worker that is silent for too long is reaped, and learns of it", async (store, open) => {
    const other = await another(open);
    const id = await webhookWithWork(store);
    const dying = await ownershipOf(store).join({ aliveMs: 40, pool: "default" });
    await acquire(store, dying);
    const living = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(idsIn(await acquire(other, living)), []);
    await sleep(80);
    await ownershipOf(other).heartbeat({ worker: living, aliveMs: longMs });
    assert.equal(await ownershipOf(store).heartbeat({ worker: dying, aliveMs: longMs }), null);
    assert.deepEqual(idsIn(await acquire(store, dying)), []);
    const taken = only((await acquire(other, living)).webhooks);
    assert.equal(taken.webhookId, id);
    assert.deepEqual(taken.rate, { kind: "unknown" }, "it may have used up the whole limit");
  });

  check("a late heartbeat before any reaping keeps everything", async (store) => {
    const id = await webhookWithWork(store);
    const worker = await ownershipOf(store).join({ aliveMs: 20, pool: "default" });
    assert.deepEqual(idsIn(await acquire(store, worker)), [id]);
    await sleep(40);
    const beat = await ownershipOf(store).heartbeat({ worker, aliveMs: longMs });
    assert.deepEqual(beat, { workers: 1, owned: 1 });
  });

  check("a former owner can neither settle nor write notes", async (store, open) => {
    const other = await another(open);
    const id = await webhookWithWork(store, 2);
    const first = await ownershipOf(store).join({ aliveMs: 20, pool: "default" });
    const { ownerEpoch } = only((await acquire(store, first)).webhooks);
    const held = await claim(store, lane(id));
    await sleep(40);
    const second = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    await ownershipOf(other).heartbeat({ worker: second, aliveMs: longMs });
    const taken = only((await acquire(other, second)).webhooks);
    const states = [{ ...blank(id), lastSuccessAt: start, ownerEpoch }];
    await commit(store, { webhookStates: states });
    for (const { lease } of held.deliveries) assert.equal(await settle(store, lease), false);
    assert.equal(only(await store.webhooks.some([id])).runtime, null);
    assert.deepEqual(claimedIds(await claim(other, lane(id))), idsOf(held.deliveries));
    await commit(other, {
      webhookStates: [{ ...blank(id), lastSuccessAt: start + 1, ownerEpoch: taken.ownerEpoch }],
    });
    assert.equal(only(await other.webhooks.some([id])).runtime?.lastSuccessAt, start + 1);
    const [stored, ...rest] = await ownershipOf(store).states([id, "never seen"]);
    assert.deepEqual([stored, rest], [only(await other.webhooks.some([id])).runtime, []]);
  });

  check("leftovers of an ordered lane do not block the next owner", async (store, open) => {
    const other = await another(open);
    const key = lane("webhook-1", "strict");
    const { deliveries } = await publish(store, { deliveries: [{ lane: key }, { lane: key }] });
    const first = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    await acquire(store, first);
    await claim(store, key, { limit: 1 });
    const second = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(await claim(other, key, { now: start + 1 }), {
      deliveries: [],
      more: nothingMore,
      nextDueAt: start + 60_000,
    });
    await ownershipOf(store).leave(first);
    await acquire(other, second);
    assert.deepEqual(claimedIds(await claim(other, key)), idsOf(deliveries));
  });

  check("webhooks that a worker never served are released unchanged, and no others", async (store, open) => {
    const other = await another(open);
    const [kept, used, fresh] = [
      await webhookWithWork(store),
      await webhookWithWork(store),
      await webhookWithWork(store),
    ];
    const before = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    const state = { ...blank(used), circuit: "{}" };
    await acquire(other, before, { from: { kind: "webhooks", ids: [used] } });
    await ownershipOf(other).release(before, [{ state, rateFullAt: start }]);
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(idsIn(await acquire(store, worker)), [kept, used, fresh].toSorted());
    await ownershipOf(other).keepOnly(before, []);
    await ownershipOf(store).keepOnly(worker, [kept, "never seen"]);
    const { webhooks } = await acquire(other, before);
    const handed = new Map(webhooks.map(({ webhookId, ...rest }) => [webhookId, rest]));
    assert.deepEqual([...handed.keys()].toSorted(), [used, fresh].toSorted());
    assert.deepEqual(handed.get(used)?.runtime, state);
    assert.deepEqual(handed.get(used)?.rate, { kind: "full_at", fullAt: start });
    assert.deepEqual(handed.get(fresh)?.rate, { kind: "unused" });
    await ownershipOf(store).keepOnly(worker, []);
    assert.deepEqual(idsIn(await acquire(other, before)), [kept]);
  });

  check("a retiring worker leaves its share to the others, and keeps what it owns", async (store, open) => {
    const other = await another(open);
    for (let count = 0; count < 4; count += 1) await webhookWithWork(store);
    const [retired, staying] = [
      await ownershipOf(store).join({ aliveMs: longMs, pool: "default" }),
      await ownershipOf(other).join({ aliveMs: longMs, pool: "default" }),
    ];
    const mine = idsIn(await acquire(store, retired, { slack: 0 }));
    assert.equal(mine.length, 2);
    assert.equal((await acquire(other, staying, { slack: 0 })).webhooks.length, 2);
    await ownershipOf(store).retire(retired);
    assert.deepEqual(await ownershipOf(other).heartbeat({ worker: staying, aliveMs: longMs }), {
      workers: 1,
      owned: 2,
    });
    assert.notEqual(await ownershipOf(store).heartbeat({ worker: retired, aliveMs: longMs }), null);
    await webhookWithWork(store);
    assert.deepEqual(idsIn(await acquire(store, retired)), []);
    assert.equal((await acquire(other, staying, { slack: 0 })).webhooks.length, 1);
    for (const id of mine)
      await ownershipOf(store).release(retired, [{ state: blank(id), rateFullAt: null }]);
    assert.deepEqual(idsIn(await acquire(other, staying, { slack: 0 })), mine);
  });

  check("a webhook without waiting deliveries has no owner", async (store) => {
    const key = lane("webhook-1");
    const { leases } = await publish(store, { deliveries: [{ lane: key, claim: true }] });
    await settle(store, only(leases), { progress: progressed() });
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(idsIn(await acquire(store, worker)), []);
    const named = await acquire(store, worker, { from: { kind: "webhooks", ids: ["webhook-1"] } });
    assert.deepEqual(only(named.webhooks).lanes, []);
  });

  check("others read the reports of the present owner, and none of a former one", async (store, open) => {
    const other = await another(open);
    const [id, silent] = [await webhookWithWork(store), await webhookWithWork(store)];
    const first = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    const [ownerEpoch = 0, silentOwnerEpoch = 0] = (await acquire(store, first)).webhooks.map(
      (taken) => taken.ownerEpoch,
    );
    const report = { webhookId: id, ownerEpoch, document: '{"a":"\\"}' };
    await ownershipOf(store).report([
      report,
      { webhookId: silent, ownerEpoch: silentOwnerEpoch, document: "" },
    ]);
    assert.deepEqual(await ownershipOf(other).reports([id, silent, "never seen"]), [report]);
    await ownershipOf(store).report([{ ...report, document: "2" }]);
    assert.deepEqual(await ownershipOf(other).reports([id]), [{ ...report, document: "2" }]);
    await ownershipOf(store).leave(first);
    assert.deepEqual(await ownershipOf(other).reports([id]), [], "nobody owns it");
    const second = await ownershipOf(other).join({ aliveMs: longMs, pool: "default" });
    const taken = (await acquire(other, second)).webhooks.find(({ webhookId }) => webhookId === id);
    assert.deepEqual(await ownershipOf(store).reports([id]), [], "of a former owner");
    const newest = { webhookId: id, ownerEpoch: taken?.ownerEpoch ?? 0, document: "3" };
    await ownershipOf(other).report([newest]);
    await ownershipOf(store).report([report]);
    assert.deepEqual(await ownershipOf(store).reports([id]), [newest], "a late report changes nothing");
  });

  check("orders wait for the owner, oldest first, until they are followed", async (store, open) => {
    const other = await another(open);
    const id = await webhookWithWork(store);
    await ownershipOf(other).order(id, "1");
    await ownershipOf(other).order(id, "2");
    const worker = await ownershipOf(store).join({ aliveMs: longMs, pool: "default" });
    assert.deepEqual(await ownershipOf(store).orders({ worker }), []);
    await acquire(store, worker);
    const orders = await ownershipOf(store).orders({ worker });
    assert.deepEqual(
      orders.map(({ webhookId, order }) => [webhookId, order]),
      [
        [id, "1"],
        [id, "2"],
      ],
    );
    assert.deepEqual(await ownershipOf(other).orders({ webhookIds: [id] }), orders);
    await ownershipOf(store).followed({ worker, refs: [orders[0]?.ref ?? 0] });
    assert.deepEqual(
      (await ownershipOf(store).orders({ worker })).map(({ order }) => order),
      ["2"],
    );
  });

  check("a leadership belongs to one process until it expires", async (store, open) => {
    const other = await another(open);
    const asks = (from: Store, owner: string, forMs: number) =>
      ownershipOf(from).acquireLeadership("upkeep", owner, forMs);
    assert.equal(await asks(store, "a", longMs), true);
    assert.equal(await asks(other, "b", longMs), false);
    assert.equal(await asks(store, "a", 20), true);
    await sleep(40);
    assert.equal(await asks(other, "b", longMs), true);
    assert.equal(await asks(store, "a", longMs), false);
    assert.equal((await ownershipOf(store).leaderships()).has("upkeep"), true);
    assert.equal(await asks(other, "b", 0), true);
    assert.equal((await ownershipOf(store).leaderships()).has("upkeep"), false);
    assert.equal(await ownershipOf(store).acquireLeadership("other", "a", longMs), true);
  });

  check("announces changed configuration to other processes, and not to itself", async (store, open) => {
    const other = await another(open);
    const heard: StoreChange[] = [];
    const echoes: StoreChange[] = [];
    const ready = Promise.withResolvers<null>();
    const ended = Promise.withResolvers<null>();
    other.changes?.subscribe((change) => {
      if (change.kind === "unknown") return ready.resolve(null);
      heard.push(change);
      if (change.kind === "config" && change.change.kind === "orders") ended.resolve(null);
    });
    store.changes?.subscribe((change) => echoes.push(change));
    await ready.promise;
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    await store.webhooks.saveTenantKeys("acme", []);
    await store.registry.deleteApiKey("none");
    await ownershipOf(store).order(webhook.id, "{}");
    await ended.promise;
    assert.deepEqual(
      heard.map((change) => (change.kind === "config" ? change.change : null)),
      [
        { kind: "webhooks", webhookIds: [webhook.id] },
        { kind: "tenant_keys", tenantIds: ["acme"] },
        { kind: "api_keys" },
        { kind: "orders", webhookIds: [webhook.id] },
      ],
    );
    assert.deepEqual(
      echoes.filter(({ kind }) => kind === "config"),
      [],
    );
  });
};

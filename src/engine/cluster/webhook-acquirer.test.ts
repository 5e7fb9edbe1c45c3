import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { MemberScene } from "./member-scene.fixture.ts";

const key: LaneKey = { webhookId: "a", ordering: "none", eventType: null };
const away = (): Promise<never> => Promise.reject(new StoreUnavailableError("away"));

async function started(...ids: readonly string[]) {
  const scene = new MemberScene(new ManualClock());
  for (const id of ids) scene.add(id);
  await scene.member.start();
  await scene.pass(1_000);
  return { scene, store: scene.store, ownership: scene.member };
}

suite("acquisitions that the worker did not receive", () => {
  test("a webhook whose acquisition got no answer is released and acquired again", async () => {
    const { scene, store } = await started("kept");
    store.acquireGate = away;
    scene.add("a");
    await scene.pass(1_500);
    assert.deepEqual([...store.given], ["kept", "a"]);
    assert.equal(scene.endpoints.get("a")?.owned, false, "the store believes that it is served");
    store.acquireGate = async () => undefined;
    await scene.pass(5_000);
    assert.equal(scene.endpoints.get("a")?.owned, true);
    assert.equal(scene.endpoints.get("kept")?.ownerEpoch, 7);
    assert.deepEqual([...store.given], ["kept", "a"]);
  });

  test("so is a webhook whose orders could not be read", async () => {
    const { scene, store } = await started();
    store.ordersGate = away;
    scene.add("a");
    await scene.pass(2_000);
    assert.equal(scene.endpoints.get("a")?.owned, false);
    store.ordersGate = async () => undefined;
    await scene.pass(5_000);
    assert.equal(scene.endpoints.get("a")?.owned, true);
  });

  test("webhooks that it owns or is about to release are not released with it", async () => {
    const { scene, store } = await started("busy", "leaving");
    const [busy, leaving] = [scene.endpoints.get("busy"), scene.endpoints.get("leaving")];
    assert.ok(busy !== undefined && leaving !== undefined);
    leaving.requestBegan();
    scene.endpoints.delete("leaving");
    store.acquireGate = away;
    scene.add("a");
    await scene.pass(4_000);
    store.acquireGate = async () => undefined;
    await scene.pass(4_000);
    assert.equal(leaving.owned, false);
    assert.deepEqual([...store.given].toSorted(), ["a", "busy", "leaving"]);
    assert.equal(busy.owned, true);
  });

  test("after a failure it asks once a second, regardless of requests", async () => {
    const { scene, store, ownership } = await started();
    scene.isBrought = true;
    store.acquireGate = away;
    store.requests.length = 0;
    for (let tenths = 0; tenths < 50; tenths += 1) {
      scene.add(`w${tenths}`);
      void ownership.acquirer.wanted(`w${tenths}`);
      await scene.pass(100);
    }
    assert.ok(store.requests.length <= 7, `${store.requests.length} calls in five seconds`);
  });
});

suite("webhooks that cannot be served", () => {
  test("a deleted webhook is tried once a minute, however often it is requested, and its notes are kept", async () => {
    const { scene, store, ownership } = await started();
    store.free.push("deleted");
    store.requests.length = 0;
    for (let tenths = 0; tenths < 50; tenths += 1) {
      void ownership.acquirer.wanted("deleted");
      await scene.pass(100);
    }
    const tried = store.requests.filter(({ from }) => from.kind === "webhooks" && from.ids.length > 0);
    assert.equal(tried.length, 1);
    assert.equal(ownership.acquirer.isUnservable("deleted"), true);
    assert.deepEqual(store.released, [], "nothing was written over its state");
    await scene.pass(60_000);
    assert.equal(ownership.acquirer.isUnservable("unheard of"), false);
    assert.ok(tried.length < store.requests.length);
  });

  test("a webhook that cannot be read does not prevent others from being served", async () => {
    const { scene, store } = await started();
    scene.load = async (ids) => {
      for (const id of ids) {
        if (id === "newer") throw new Error("an unknown profile");
        scene.endpoints.set(id, scene.bare(id));
      }
    };
    store.free.push("first", "newer", "last");
    await scene.pass(2_000);
    assert.equal(scene.endpoints.get("first")?.owned, true);
    assert.equal(scene.endpoints.get("last")?.owned, true);
    assert.deepEqual(store.free, ["newer"], "another worker may serve it");
  });

  test("while the store is unavailable nothing counts as deleted", async () => {
    const { scene, store, ownership } = await started();
    scene.load = away;
    store.free.push("a");
    await scene.pass(1_500);
    assert.equal(ownership.acquirer.isUnservable("a"), false);
    scene.load = async (ids) => {
      for (const id of ids) scene.endpoints.set(id, scene.bare(id));
    };
    await scene.pass(5_000);
    assert.equal(scene.endpoints.get("a")?.owned, true);
  });
});

suite("between request and response", () => {
  test("work stored for a webhook during its acquisition is found", async () => {
    const { scene, store, ownership } = await started();
    const gate = Promise.withResolvers<undefined>();
    store.acquireGate = () => gate.promise;
    const [a, b] = [scene.add("a"), scene.add("b")];
    for (const endpoint of [a, b]) endpoint.lanes.set("n", new Lane(key, endpoint));
    ownership.acquirer.workAdded("b");
    await scene.pass(1_500);
    ownership.acquirer.workAdded("a");
    gate.resolve(undefined);
    await scene.pass(100);
    assert.equal(a.owned, true);
    assert.equal(a.lanes.get("n")?.hasMore(), true);
    assert.equal(b.lanes.get("n")?.hasMore(), false, "that was there when the store was asked");
  });

  test("a webhook that the store took back unnoticed is not released twice", async () => {
    const { scene, store } = await started("a");
    store.releaseGate = away;
    await scene.pass(35_000);
    const isOwned = (): boolean | undefined => scene.endpoints.get("a")?.owned;
    assert.equal(isOwned(), false);
    store.free.push("a");
    for (let tenths = 0; tenths < 50 && isOwned() !== true; tenths += 1) await scene.pass(100);
    assert.equal(isOwned(), true);
    store.releaseGate = async () => undefined;
    store.released.length = 0;
    await scene.pass(10_000);
    assert.deepEqual(store.released, []);
    assert.equal(scene.endpoints.get("a")?.ownerEpoch, 7);
  });
});

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { MemberScene } from "./member-scene.fixture.ts";

async function started(...ids: readonly string[]) {
  const clock = new ManualClock();
  const scene = new MemberScene(clock);
  for (const id of ids) scene.add(id);
  await scene.member.start();
  await scene.pass(1_000);
  return { clock, scene, store: scene.store, ownership: scene.member };
}

/** The current lane of the endpoint. */
function laneOf(endpoint: Endpoint): Lane {
  const lane = new Lane({ webhookId: endpoint.webhook.id, ordering: "none", eventType: null }, endpoint);
  endpoint.lanes.set("n", lane);
  return lane;
}

suite("a worker in a cluster", () => {
  test("acquires webhooks with work, and is alive while heartbeats are answered", async () => {
    const { scene, ownership } = await started("a", "b");
    assert.deepEqual(scene.events.slice(0, 3), ["resumed", "taken a", "taken b"]);
    assert.equal(scene.endpoints.get("a")?.owned, true);
    assert.equal(scene.endpoints.get("a")?.ownerEpoch, 7);
    for (let minute = 0; minute < 3; minute += 1) {
      await scene.pass(60_000);
      assert.equal(ownership.holds(), true);
    }
  });

  test("sends nothing if no heartbeat was answered for its lifetime, and continues after an answer", async () => {
    const { scene, store, ownership } = await started("a");
    store.heartbeatAnswer = async () => Promise.reject(new StoreUnavailableError("away"));
    await scene.pass(12_000);
    assert.equal(ownership.holds(), true);
    await scene.pass(2_000);
    assert.equal(ownership.holds(), false);
    assert.equal(scene.endpoints.get("a")?.owned, true, "nobody else has it yet");
    store.heartbeatAnswer = async () => ({ workers: 1, owned: 1 });
    await scene.pass(3_000);
    assert.equal(ownership.holds(), true);
    assert.equal(scene.events.at(-1), "resumed");
    assert.equal(scene.endpoints.get("a")?.owned, true);
  });

  test("a heartbeat counts from the time before it was sent, however late its answer is", async () => {
    const { scene, store, ownership } = await started("a");
    const answers: (() => void)[] = [];
    store.heartbeatAnswer = () =>
      new Promise((resolve) => answers.push(() => resolve({ workers: 1, owned: 1 })));
    await scene.pass(14_000);
    assert.equal(ownership.holds(), false);
    answers[0]?.();
    await scene.pass(1);
    // The heartbeat was sent about 12 seconds ago, so it proves ownership for only two more seconds instead of
    // fourteen.
    assert.equal(ownership.holds(), true);
    await scene.pass(3_000);
    assert.equal(ownership.holds(), false);
  });

  test("sends no heartbeat while one is unanswered, because it would be queued behind it", async () => {
    const { scene, store } = await started("a");
    const sent = (): number => store.calls.filter((call) => call.startsWith("heartbeat")).length;
    const before = sent();
    const refusals: (() => void)[] = [];
    store.heartbeatAnswer = () =>
      new Promise((_, reject) => refusals.push(() => reject(new StoreUnavailableError("locked"))));
    await scene.pass(10_000);
    assert.equal(sent(), before + 1);
    for (const refuse of refusals) refuse();
    await scene.pass(3_000);
    assert.equal(sent(), before + 2);
  });

  test("a process that was paused notices this before its first timer", async () => {
    const { clock, ownership } = await started("a");
    clock.time += 60_000;
    assert.equal(ownership.holds(), false);
  });

  test("a machine that slept, with a stopped monotonic clock, sends nothing before a heartbeat is answered", async () => {
    const { clock, scene, ownership } = await started("a");
    clock.wallOffsetMs += 60_000;
    assert.equal(ownership.holds(), false);
    await scene.pass(3_000);
    assert.equal(ownership.holds(), true);
    assert.equal(scene.events.at(-1), "resumed");
    clock.wallOffsetMs -= 3_600_000;
    await scene.pass(3_000);
    assert.equal(ownership.holds(), true);
  });

  test("a reaped worker forgets everything it owned and joins again", async () => {
    const { scene, store, ownership } = await started("a");
    store.heartbeatAnswer = async () => null;
    await scene.pass(3_000);
    assert.equal(scene.endpoints.get("a")?.owned, false);
    assert.match(scene.warnings.join(), /unreachable for too long/);
    store.heartbeatAnswer = async () => ({ workers: 2, owned: 0 });
    store.free.push("a");
    await scene.pass(3_000);
    assert.equal(ownership.worker, store.calls.filter((call) => call === "join").length);
    assert.ok(store.calls.includes(`heartbeat ${ownership.worker}`));
    assert.equal(scene.endpoints.get("a")?.owned, true);
  });

  test("webhooks assigned under an earlier worker number do not count", async () => {
    const { scene, store } = await started();
    const gate = Promise.withResolvers<undefined>();
    store.acquireGate = () => gate.promise;
    scene.add("late");
    await scene.pass(1_500);
    store.heartbeatAnswer = async () => null;
    await scene.pass(3_000);
    gate.resolve(undefined);
    await scene.pass(1);
    assert.equal(scene.endpoints.get("late")?.owned, false);
    assert.ok(!scene.events.includes("taken late"));
  });

  test("after a restart of the database it keeps webhooks with unfinished requests until these are settled", async () => {
    const { scene, store, ownership } = await started("a", "b");
    const endpoint = scene.endpoints.get("a");
    assert.ok(endpoint !== undefined);
    endpoint.requestBegan();
    ownership.rejoin();
    assert.equal(ownership.worker, null);
    await scene.pass(1_000);
    assert.deepEqual(store.kept.at(-1), [{ webhookId: "a", ownerEpoch: 7 }]);
    assert.equal(ownership.worker, 2);
    assert.deepEqual(
      [endpoint.owned, endpoint.ownerEpoch],
      [false, 7],
      "its states are written under the epoch",
    );
    assert.equal(scene.endpoints.get("b")?.ownerEpoch, null);
    assert.deepEqual(store.released, []);
    endpoint.requestEnded(true);
    await scene.pass(1_000);
    assert.deepEqual(store.released, ["a"]);
    assert.equal(endpoint.ownerEpoch, null);
    assert.deepEqual(scene.numbers, [1, null, 2]);
  });

  test("joins at once if the restart is detected during a heartbeat", async () => {
    const { scene, store, ownership } = await started("a");
    const gate = Promise.withResolvers<null>();
    store.heartbeatAnswer = () => gate.promise;
    await scene.pass(3_000);
    ownership.rejoin();
    store.heartbeatAnswer = async () => ({ workers: 1, owned: 0 });
    gate.resolve(null);
    await scene.pass(1);
    assert.equal(ownership.worker, 2);
  });

  test("an endpoint whose requests are still in flight is not acquired again", async () => {
    const { scene, store } = await started("a");
    const endpoint = scene.endpoints.get("a");
    assert.ok(endpoint !== undefined);
    endpoint.requestBegan();
    store.heartbeatAnswer = async () => null;
    await scene.pass(3_000);
    store.heartbeatAnswer = async () => ({ workers: 1, owned: 0 });
    store.free.push("a");
    await scene.pass(5_000);
    assert.equal(endpoint.owned, false);
    const { from } = store.requests.at(-1) ?? {};
    assert.deepEqual(from?.kind === "work" ? from.except : null, ["a"]);
    endpoint.requestEnded(true);
    await scene.pass(2_000);
    assert.equal(endpoint.owned, true);
  });

  test("follows orders before it sends anything", async () => {
    const { scene, store } = await started();
    store.pendingOrders = [{ ref: 1, webhookId: "a", order: "force_open" }];
    scene.add("a");
    scene.events.length = 0;
    await scene.pass(2_000);
    assert.deepEqual(scene.events.slice(0, 2), ["follow force_open", "taken a"]);
  });

  test("requests many webhooks with one call, and none that it owns", async () => {
    const { scene, store, ownership } = await started("mine");
    for (const id of ["b", "c"]) scene.add(id);
    store.requests.length = 0;
    for (const id of ["mine", "b", "c", "b"]) void ownership.acquirer.wanted(id);
    await scene.pass(200);
    const named = store.requests.flatMap(({ from }) => (from.kind === "webhooks" ? [from.ids] : []));
    assert.deepEqual(named, [["b", "c"]]);
    assert.equal(scene.endpoints.get("b")?.owned, true);
  });
});

suite("releasing webhooks", () => {
  test("releases webhooks that were idle for half a minute, and no busy ones", async () => {
    const { scene, store } = await started("idle", "busy", "waiting");
    const busy = scene.endpoints.get("busy");
    const waiting = scene.endpoints.get("waiting");
    assert.ok(busy !== undefined && waiting !== undefined);
    waiting.lanes.set("n", { hasMore: () => false, wakeAt: 1, renew: () => undefined } as never);
    for (let second = 0; second < 25; second += 1) {
      busy.succeeded(second);
      await scene.pass(1_000);
    }
    assert.deepEqual(store.released, []);
    for (let second = 25; second < 45; second += 1) {
      busy.succeeded(second);
      await scene.pass(1_000);
    }
    assert.deepEqual(store.released, ["idle"]);
    assert.equal(scene.endpoints.get("idle")?.owned, false);
    assert.equal(scene.endpoints.get("idle")?.ownerEpoch, null);
  });

  test("releases webhooks beyond its share when their last request is settled", async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `w${index}`);
    const { scene, store } = await started(...ids);
    const busy = scene.endpoints.get("w0");
    assert.ok(busy !== undefined);
    for (const endpoint of scene.endpoints.values()) endpoint.requestBegan();
    store.heartbeatAnswer = async () => ({ workers: 2, owned: 12 });
    await scene.pass(5_000);
    const dropped = [...scene.endpoints.values()].filter(({ owned }) => !owned);
    assert.equal(dropped.length, 6);
    assert.deepEqual(store.released, []);
    for (const endpoint of dropped) endpoint.requestEnded(true);
    await scene.pass(1_000);
    assert.equal(store.released.length, 6);
  });

  test("releases nothing if it has only slightly more than its share", async () => {
    const { scene, store } = await started("a", "b", "c", "d");
    store.heartbeatAnswer = async () => ({ workers: 2, owned: 4 });
    await scene.pass(10_000);
    assert.deepEqual(store.released, []);
  });

  test("releases a webhook that was deleted while owned", async () => {
    const { scene, store } = await started("a", "b");
    const deleted = scene.endpoints.get("a");
    assert.ok(deleted !== undefined);
    laneOf(deleted).markAllMore();
    scene.endpoints.delete("a");
    await scene.pass(4_000);
    assert.deepEqual(store.released, ["a"]);
  });

  test("releases a webhook that no longer exists, and does not try it again for a while", async () => {
    const { scene, store } = await started();
    store.free.push("deleted");
    await scene.pass(2_000);
    assert.deepEqual(store.free, ["deleted"], "nothing of it was written");
    const { from } = store.requests.at(-1) ?? {};
    assert.deepEqual(from?.kind === "work" ? from.except : null, ["deleted"]);
  });

  test("releases everything at the end, and acquires nothing more", async () => {
    const { scene, store, ownership } = await started("a", "b");
    ownership.pause();
    scene.add("c");
    void ownership.acquirer.wanted("c");
    await scene.pass(5_000);
    assert.equal(ownership.holds(), true, "requests under way may still be settled");
    await ownership.leave();
    assert.deepEqual(store.released.toSorted(), ["a", "b"]);
    assert.equal(store.calls.at(-1), "leave 1");
    assert.equal(ownership.holds(), false);
    const calls = store.calls.length;
    await scene.pass(20_000);
    assert.equal(store.calls.length, calls);
  });

  test("releases idle webhooks before the end, and the rest as soon as they are settled", async () => {
    const { scene, store, ownership } = await started("quiet", "flying", "settling");
    const [flying, settling] = [scene.endpoints.get("flying"), scene.endpoints.get("settling")];
    assert.ok(flying !== undefined && settling !== undefined);
    flying.requestBegan();
    const lane = laneOf(settling);
    lane.settlementBegan();
    ownership.pause();
    ownership.retire();
    await scene.pass(1_000);
    assert.deepEqual(store.released, ["quiet"]);
    assert.equal(store.calls.at(-1), "retire 1");
    assert.equal(ownership.holds(), true, "what is under way may still be settled");
    lane.settlementEnded();
    await scene.pass(100);
    assert.deepEqual(store.released, ["quiet", "settling"]);
    await ownership.leave();
    assert.deepEqual(store.released, ["quiet", "settling", "flying"], "the grace time is over");
  });

  test("a worker that is reaped while it stops does not join again", async () => {
    const { scene, store, ownership } = await started("a");
    ownership.pause();
    store.heartbeatAnswer = async () => null;
    await scene.pass(10_000);
    assert.equal(store.calls.filter((call) => call === "join").length, 1);
    assert.equal(ownership.worker, null);
  });

  test("does not repeat a release at once while the store does not accept it", async () => {
    const { scene, store } = await started("a");
    let tries = 0;
    store.releaseGate = async () => {
      tries += 1;
      throw new StoreUnavailableError("away");
    };
    scene.endpoints.delete("a");
    await scene.pass(12_000);
    assert.ok(tries >= 3 && tries <= 4, `${tries} tries in ten seconds`);
  });

  test("looks for work rarely while hints arrive, and at once when they stop", async () => {
    const clock = new ManualClock();
    const scene = new MemberScene(clock);
    scene.isBrought = true;
    await scene.member.start();
    await scene.pass(1_000);
    assert.equal(scene.store.requests.length, 1, "once at the start");
    scene.add("a");
    await scene.pass(25_000);
    assert.equal(scene.endpoints.get("a")?.owned, false);
    await scene.pass(10_000);
    assert.equal(scene.endpoints.get("a")?.owned, true);
    scene.add("b");
    scene.isBrought = false;
    await scene.pass(2_000);
    assert.equal(scene.endpoints.get("b")?.owned, true);
    scene.isBrought = true;
    scene.add("c");
    scene.member.acquirer.lookNow();
    await scene.pass(2_000);
    assert.equal(scene.endpoints.get("c")?.owned, true);
  });

  test("a caller that waits for a webhook is notified when its acquisition was tried", async () => {
    const { scene, store, ownership } = await started();
    const tried: string[] = [];
    for (let count = 0; count < 70; count += 1) {
      scene.add(`w${count}`);
      void ownership.acquirer.wanted(`w${count}`).then(() => tried.push(`w${count}`));
    }
    assert.deepEqual(tried, []);
    await scene.pass(300);
    assert.equal(tried.length, 70);
    assert.ok(scene.endpoints.values().every(({ owned }) => owned));
    const named = store.requests.filter(({ from }) => from.kind === "webhooks");
    assert.equal(named.length, 3, "a few calls, not one for each");
    ownership.pause();
    await ownership.acquirer.wanted("w1");
  });

  test("other workers learn the number under which it can be notified", async () => {
    const { scene, store } = await started("a");
    store.heartbeatAnswer = async () => null;
    await scene.pass(3_000);
    assert.deepEqual(scene.numbers.slice(0, 3), [1, null, 2]);
  });
});

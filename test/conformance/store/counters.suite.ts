import assert from "node:assert/strict";
import {
  claim,
  commit,
  day,
  lane,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  retry,
  runToEnd,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const dead = progressed({ state: "exhausted", reason: "max_attempts_exceeded" });

export const counters: StoreTheme = (check) => {
  check("an empty store counts nothing", async (store) => {
    assert.deepEqual(await store.deliveries.depth(), {
      waiting: { high: 0, normal: 0, low: 0 },
      deadLetters: new Map(),
    });
  });

  check("counts waiting deliveries by priority, leased ones included", async (store) => {
    await publish(store, {
      deliveries: [
        { priority: "high" },
        { priority: "normal", claim: true },
        { priority: "normal" },
        { priority: "low", dueAt: start + day },
        { priority: "low", state: "skipped" },
      ],
    });
    await claim(store, lane("webhook-1"));
    assert.deepEqual((await store.deliveries.depth()).waiting, { high: 1, normal: 2, low: 1 });
  });

  check(
    "a failed attempt still waits, an ended delivery does not; dead letters count by tenant",
    async (store) => {
      const publishes = ["a", "a", "b", "b"].map((tenantId) =>
        publishCommand({ event: { tenantId }, deliveries: [{ claim: true }] }),
      );
      const result = await commit(store, { publishes });
      const leases = result.publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : []));
      const ends = [dead, progressed({ state: "failed" }), dead, progressed()];
      await commit(store, {
        settlements: leases.map((lease, index) => settlement(lease, { progress: ends[index] ?? dead })),
      });
      const depth = await store.deliveries.depth();
      assert.equal(depth.waiting.normal, 1);
      assert.deepEqual(
        depth.deadLetters,
        new Map([
          ["a", 1],
          ["b", 1],
        ]),
      );
    },
  );

  check("follows retries, expiry, cancellation and retention", async (store, open) => {
    const first = await publishSettled(store, {}, { progress: dead });
    await publishSettled(store, {}, { progress: dead });
    await retry(store, only(first.deliveries).id);
    assert.deepEqual((await store.deliveries.depth()).deadLetters, new Map([["default", 1]]));
    await runToEnd(() =>
      store.upkeep.expire({ now: start + day, limit: 9, ageMsByWebhook: new Map(), ageMsDefault: 1_000 }),
    );
    assert.deepEqual(await store.deliveries.depth(), {
      waiting: { high: 0, normal: 0, low: 0 },
      deadLetters: new Map([["default", 2]]),
    });
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + day, now: start + day, limit: 2 }),
    );
    const reopened = await open.reopen();
    assert.equal((await reopened.deliveries.depth()).deadLetters.get("default") ?? 0, 0);
  });
};

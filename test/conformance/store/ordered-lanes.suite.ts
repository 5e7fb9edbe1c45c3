import assert from "node:assert/strict";
import { claim, claimedIds, idsOf, lane, only, progressed, publish, settle, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

export const orderedLanes: StoreTheme = (check) => {
  for (const key of [lane("w", "strict"), lane("w", "per_event_type", "a")]) {
    check(`${key.ordering}: publish order, whatever the priority or due time`, async (store) => {
      const { deliveries } = await publish(store, {
        deliveries: [
          { lane: key, dueAt: start + 100, priority: "low" },
          { lane: key, dueAt: start - 100, priority: "high" },
          { lane: key, dueAt: start },
        ],
      });
      assert.deepEqual(claimedIds(await claim(store, key)), idsOf(deliveries));
    });

    check(`${key.ordering}: says how many remain and when the oldest is due`, async (store) => {
      await publish(store, {
        deliveries: [
          { lane: key },
          { lane: key, dueAt: start + 100, priority: "low" },
          { lane: key, dueAt: start + 1 },
        ],
      });
      const first = await claim(store, key, { limit: 1 });
      assert.deepEqual(first.more, { high: false, normal: false, low: true });
      assert.equal(first.nextDueAt, start + 100);
    });

    check(`${key.ordering}: a failing head returns first`, async (store) => {
      const { deliveries } = await publish(store, {
        deliveries: [{ lane: key }, { lane: key }, { lane: key }],
      });
      const head = only((await claim(store, key, { limit: 1 })).deliveries);
      await settle(store, head.lease, { progress: progressed({ state: "failed", dueAt: start + 1_000 }) });
      assert.deepEqual(claimedIds(await claim(store, key)), idsOf(deliveries));
    });

    check(`${key.ordering}: a head leased at publish returns first`, async (store) => {
      const { deliveries, leases } = await publish(store, {
        deliveries: [{ lane: key, claim: true }, { lane: key }],
      });
      assert.deepEqual(claimedIds(await claim(store, key)), [deliveries[1]?.id]);
      await store.deliveries.release(leases.slice(0, 1));
      assert.deepEqual(claimedIds(await claim(store, key)), [deliveries[0]?.id]);
    });
  }
};

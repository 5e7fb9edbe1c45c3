import assert from "node:assert/strict";
import { type DeliveryFilter, everyDelivery } from "../../../src/ports/store/search.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";
import { idsOf, only, publish } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

export const sourceSearches: StoreTheme = (check) => {
  check("deliveries of a gateway source are found by the keys of its events", async (store) => {
    const keys = ["gateway:s1:a", "gateway:s1:b", "gateway:s10:a", "gateway:s", null];
    const ids: string[] = [];
    for (const idempotencyKey of keys) {
      const { deliveries } = await publish(store, { event: { idempotencyKey, fingerprint: idempotencyKey } });
      ids.push(only(deliveries).id);
    }
    const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 100_000, durationMsMax: 1 });
    const foundOf = async (sourceId: string, more: Partial<DeliveryFilter> = {}) => {
      const filter = { ...everyDelivery, ...more, sourceId };
      const order = "oldest";
      const page = await store.history.searchDeliveries({ filter, order, after: null, limit: 10, budget });
      return idsOf(page.rows);
    };
    assert.deepEqual(await foundOf("s1"), ids.slice(0, 2));
    assert.deepEqual(await foundOf("s10"), [ids[2]]);
    assert.deepEqual(await foundOf("s1", { states: ["exhausted"] }), []);
    for (const none of ["%", "s1:a", ""]) assert.deepEqual(await foundOf(none), [], none);
  });
};

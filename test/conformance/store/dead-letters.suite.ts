import assert from "node:assert/strict";
import { SearchBudget } from "../../../src/ports/clock.ts";
import type { StoredDelivery } from "../../../src/ports/store/history.ts";
import {
  type DeliveryFilter,
  type DeliverySearch,
  everyDelivery,
  type SearchPage,
  type SearchPlace,
} from "../../../src/ports/store/search.ts";
import { idsOf, lane, newAttempt, only, progressed, publishSettled, retry, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeadLetters } from "../../listed-deliveries.ts";

const everyDeadLetter: DeliveryFilter = { ...everyDelivery, states: ["exhausted"] };
const progress = progressed({ state: "exhausted", reason: "max_attempts_exceeded" });

export const deadLetters: StoreTheme = (check) => {
  check("TS16-120 lists exhausted deliveries newest first, with every filter", async (store) => {
    const rows = [
      { tenantId: "a", webhookId: "w1", eventType: "x", category: "timeout" },
      { tenantId: "b", webhookId: "w2", eventType: "x", category: "dns" },
      { tenantId: "a", webhookId: "w3", eventType: "y", category: "timeout" },
      { tenantId: "a", webhookId: "w1", eventType: "y", category: "dns" },
    ] as const;
    const ids: string[] = [];
    for (const [index, row] of rows.entries()) {
      const { deliveries } = await publishSettled(
        store,
        {
          event: { tenantId: row.tenantId, eventType: row.eventType, createdAt: start + index },
          deliveries: [{ lane: lane(row.webhookId) }],
        },
        { progress, attempt: newAttempt({ outcome: "transient", category: row.category }) },
      );
      ids.push(only(deliveries).id);
    }
    await publishSettled(store, { event: { tenantId: "a" } }, {});
    const listed = async (filter: Partial<DeliveryFilter>) =>
      idsOf((await listDeadLetters(store.history, filter)).rows).map((id) => ids.indexOf(id));
    assert.deepEqual(await listed({}), [3, 2, 1, 0]);
    assert.deepEqual(await listed({ tenantId: "a" }), [3, 2, 0]);
    assert.deepEqual(await listed({ tenantId: "c" }), []);
    assert.deepEqual(await listed({ webhookIds: ["w1", "w2", "never seen"] }), [3, 1, 0]);
    assert.deepEqual(await listed({ webhookIds: [] }), []);
    assert.deepEqual(await listed({ tenantId: "a", webhookIds: ["w2"] }), []);
    assert.deepEqual(await listed({ eventTypes: ["x"] }), [1, 0]);
    assert.deepEqual(await listed({ categories: ["dns"], tenantId: "a" }), [3]);
    assert.deepEqual(await listed({ from: start + 1, to: start + 2 }), [2, 1]);
    assert.equal(await store.history.countDeliveries({ ...everyDeadLetter, tenantId: "a" }, 100), 3);
    assert.equal(await store.history.countDeliveries(everyDeadLetter, 2), 2);
    const page = await listDeadLetters(store.history, {}, { limit: 1, offset: 1 });
    const rest = await listDeadLetters(store.history, {}, { before: page.next });
    assert.deepEqual(idsOf([...page.rows, ...rest.rows]), [ids[2], ids[1], ids[0]]);
  });

  check("a search whose budget ends early continues at a position that a cursor can carry", async (store) => {
    for (let index = 0; index < 3; index += 1) await publishSettled(store, {}, { progress });
    for (const order of ["newest", "oldest"] as const) {
      const filter = { ...everyDeadLetter, eventTypes: ["another.type"] };
      let pages = 0;
      for (let after = null as SearchPlace | null; ; pages += 1) {
        const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 1, durationMsMax: 1 });
        const search: DeliverySearch = { filter, order, after, limit: 10, budget };
        const page: SearchPage<StoredDelivery> = await store.history.searchDeliveries(search);
        assert.deepEqual(page.rows, []);
        if (page.next === null) break;
        assert.ok(page.next.position >= 0 && page.next.position !== after?.position);
        after = page.next;
      }
      assert.ok(pages < 10, `${pages} pages`);
    }
  });

  check("omits retried deliveries", async (store) => {
    const { deliveries } = await publishSettled(store, {}, { progress });
    await retry(store, only(deliveries).id);
    assert.deepEqual((await listDeadLetters(store.history)).rows, []);
  });
};

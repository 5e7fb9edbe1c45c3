import assert from "node:assert/strict";
import { type DeliveryFilter, type EventFilter, everyDelivery } from "../../../src/ports/store/search.ts";
import type { StoredDelivery } from "../../../src/ports/store/history.ts";
import type { Page, PageRequest, Store } from "../../../src/ports/store.ts";
import {
  claim,
  commit,
  idsOf,
  lane,
  newAttempt,
  newId,
  newWebhook,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  settlement,
  start,
} from "./scene.fixture.ts";
import { eventSearchOf } from "./search-model.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

export const history: StoreTheme = (check) => {
  check("rows of other tenants do not exist", async (store) => {
    const { event, deliveries } = await publish(store, { event: { tenantId: "a" } });
    const { id } = only(deliveries);
    assert.equal(await store.history.getEvent("b", event.id), null);
    assert.equal(await store.history.getDelivery("b", id), null);
    assert.equal((await store.history.getEvent("a", event.id))?.id, event.id);
    assert.equal((await store.history.getDelivery(null, id))?.id, id);
    for (const tenantId of ["b", "never seen"]) {
      assert.deepEqual((await store.history.searchEvents(eventSearchOf({ tenantId }))).rows, []);
      assert.deepEqual((await listDeliveries(store.history, { tenantId })).rows, []);
      assert.deepEqual((await listDeliveries(store.history, { tenantId, eventId: event.id })).rows, []);
      assert.deepEqual(
        (await listDeliveries(store.history, { tenantId, webhookIds: ["webhook-1"] })).rows,
        [],
      );
    }
  });

  check("several deliveries are read at once, without those of others and missing ones", async (store) => {
    const first = only((await publish(store, { event: { tenantId: "a" } })).deliveries).id;
    const second = only((await publish(store, { event: { tenantId: "a" } })).deliveries).id;
    const foreign = only((await publish(store, { event: { tenantId: "b" } })).deliveries).id;
    const ids = [foreign, second, newId(), "no id", first];
    const idsOf = async (tenantId: string | null) =>
      (await store.history.getDeliveries(tenantId, ids)).map(({ id }) => id).sort();
    assert.deepEqual(await idsOf("a"), [first, second].sort());
    assert.deepEqual(await idsOf("b"), [foreign]);
    assert.deepEqual(await idsOf(null), [first, second, foreign].sort());
    assert.deepEqual(await store.history.getDeliveries(null, []), []);
    const [read] = await store.history.getDeliveries(null, [first]);
    assert.deepEqual(read, await store.history.getDelivery(null, first));
  });

  check("returns nothing for unknown ids", async (store) => {
    assert.equal(await store.history.getEvent(null, newId()), null);
    assert.equal(await store.history.getDelivery(null, newId()), null);
    assert.deepEqual(await store.history.listAttempts(newId()), []);
    assert.deepEqual((await listDeliveries(store.history, { eventId: newId() })).rows, []);
  });

  check("returns a complete delivery", async (store) => {
    const key = lane("w", "per_event_type", "order.created");
    const { event, deliveries } = await publish(store, {
      event: { tenantId: "acme" },
      deliveries: [{ lane: key, priority: "low", origin: "test", dueAt: start + 7 }],
    });
    const stored = await store.history.getDelivery("acme", only(deliveries).id);
    assert.deepEqual(stored, {
      id: only(deliveries).id,
      position: stored?.position,
      tenantId: "acme",
      webhookId: "w",
      eventId: event.id,
      eventType: "order.created",
      priority: "low",
      lane: key,
      origin: "test",
      progress: progressed({ state: "pending", attemptCount: 0, firstAttemptAt: null, dueAt: start + 7 }),
      category: null,
      retryAfterHolds: false,
      completedAt: null,
      retries: [],
      replayOf: null,
      replayedBy: null,
      format: only(deliveries).format,
      lastAttempt: null,
    });
  });

  check("counts the waiting deliveries of a webhook by priority, up to a given limit", async (store) => {
    const at = (priority: "high" | "normal" | "low", createdAt: number) => ({ priority, createdAt });
    const other = { lane: lane("other") };
    const waiting = [
      at("low", start + 3),
      at("high", start + 5),
      at("low", start + 1),
      at("normal", start + 2),
    ];
    for (const each of waiting)
      await publish(store, { deliveries: [{ lane: lane("counted"), ...each }, other] });
    await publishSettled(store, { deliveries: [{ lane: lane("counted"), createdAt: start }] }, {});
    const backlog = (webhookId: string, countMax: number) => store.history.backlog(webhookId, countMax);
    const all = { waiting: { high: 1, normal: 1, low: 2 }, isMore: false, oldestCreatedAt: start + 1 };
    assert.deepEqual(await backlog("counted", 10), all);
    assert.deepEqual(await backlog("counted", 4), all);
    const some = await backlog("counted", 3);
    const { high, normal, low } = some.waiting;
    assert.deepEqual([high + normal + low, some.isMore], [3, true]);
    const none = { waiting: { high: 0, normal: 0, low: 0 }, isMore: false, oldestCreatedAt: null };
    assert.deepEqual(await backlog("never", 10), none);
    const webhookIds = ["counted", "never"];
    const each = await store.history.waitingOf({ webhookIds, countMax: 4 });
    assert.deepEqual([each.get("counted")?.total, each.get("counted")?.isMore], [4, false]);
    assert.equal(each.has("never"), false);
    await publish(store, { deliveries: [{ lane: lane("two"), createdAt: start }, { lane: lane("two") }] });
    const two = await store.history.waitingOf({ webhookIds: ["two"], countMax: 4 });
    assert.deepEqual(two.get("two"), { total: 2, isMore: false, oldestCreatedAt: start });
    const few = await store.history.waitingOf({ webhookIds, countMax: 3 });
    assert.deepEqual([few.get("counted")?.total, few.get("counted")?.isMore], [3, true]);
    const claimed = await claim(store, lane("counted"), { now: start + 10 });
    assert.ok(claimed.deliveries.length > 0);
    assert.deepEqual(await backlog("counted", 10), all, "what is in flight waits for its answer");
  });

  check("lists events newest first and filters by tenant, type and time", async (store) => {
    const publishes = Array.from({ length: 12 }, (_, index) =>
      publishCommand({
        event: {
          tenantId: index % 2 === 0 ? "a" : "b",
          eventType: index % 3 === 0 ? "x" : "y",
          createdAt: start + index,
        },
      }),
    );
    await commit(store, { publishes });
    const ids = publishes.map(({ event }) => event.id);
    const pick = (...indexes: number[]) => indexes.map((index) => ids[index]);
    const listed = async (filter: Partial<EventFilter>) =>
      idsOf((await store.history.searchEvents(eventSearchOf(filter))).rows);
    assert.deepEqual(await listed({}), ids.toReversed());
    assert.deepEqual(await listed({ tenantId: "a" }), pick(10, 8, 6, 4, 2, 0));
    assert.deepEqual(await listed({ eventTypes: ["x"] }), pick(9, 6, 3, 0));
    assert.deepEqual(await listed({ tenantId: "a", eventTypes: ["x"] }), pick(6, 0));
    assert.deepEqual(await listed({ from: start + 3, to: start + 5 }), pick(5, 4, 3));
    assert.deepEqual(await listed({ eventTypes: ["never seen"] }), []);
  });

  check("lists deliveries newest first and filters by webhook, state, event and time", async (store) => {
    const { ids, eventIds } = await manyDeliveries(store);
    const pick = (...indexes: number[]) => indexes.map((index) => ids[index]);
    const listed = async (query: Partial<DeliveryFilter>) =>
      idsOf((await listDeliveries(store.history, query)).rows);
    assert.deepEqual(await listed({}), ids.toReversed());
    assert.deepEqual(await listed({ webhookIds: ["w0"] }), pick(9, 6, 3, 0));
    assert.deepEqual(await listed({ tenantId: "default", webhookIds: ["w0"] }), pick(9, 6, 3, 0));
    assert.deepEqual(await listed({ states: ["success"] }), pick(8, 6, 4, 2, 0));
    assert.deepEqual(await listed({ states: ["success", "pending"], webhookIds: ["w1"] }), pick(10, 7, 4, 1));
    assert.deepEqual(await listed({ states: [] }), []);
    assert.deepEqual(await listed({ eventId: eventIds[4] ?? "" }), pick(4));
    assert.deepEqual(await listed({ from: start + 2, to: start + 4 }), pick(4, 3, 2));
    assert.deepEqual(await listed({ webhookIds: ["never seen"] }), []);
    const counted = { ...everyDelivery, webhookIds: ["w0"] };
    assert.equal(await store.history.countDeliveries(counted, 100), 4);
    assert.equal(await store.history.countDeliveries(counted, 3), 3);
  });

  check("finds deliveries of a saved webhook with an admin key", async (store) => {
    const webhook = newWebhook({ tenantId: "acme" });
    await store.webhooks.save(webhook);
    const { deliveries } = await publish(store, {
      event: { tenantId: "acme" },
      deliveries: [{ lane: lane(webhook.id) }],
    });
    const page = await listDeliveries(store.history, { webhookIds: [webhook.id] });
    assert.deepEqual(idsOf(page.rows), idsOf(deliveries));
  });

  check("pages by position and by offset, without gaps, while new rows arrive", async (store) => {
    const { ids } = await manyDeliveries(store);
    const newestFirst = ids.toReversed();
    const list = (page: PageRequest): Promise<Page<StoredDelivery>> =>
      listDeliveries(store.history, {}, page);
    const first = await list({ limit: 4, before: null, offset: 0 });
    await publish(store);
    const second = await list({ limit: 4, before: first.next, offset: 0 });
    const third = await list({ limit: 4, before: second.next, offset: 0 });
    assert.deepEqual(idsOf([...first.rows, ...second.rows, ...third.rows]), newestFirst);
    assert.equal(third.next, null);
    assert.deepEqual(
      idsOf((await list({ limit: 3, before: first.next, offset: 2 })).rows),
      newestFirst.slice(6, 9),
    );
    assert.deepEqual((await list({ limit: 3, before: null, offset: 99 })).rows, []);
    assert.notEqual((await list({ limit: 11, before: null, offset: 0 })).next, null);
    assert.equal((await list({ limit: 12, before: null, offset: 0 })).next, null);
  });

  check("lists across thousands of rows, and across a clock that jumped back", async (store) => {
    const total = 9_000;
    for (let from = 0; from < total; from += 1_000) {
      const publishes = Array.from({ length: 1_000 }, (_, offset) => {
        const index = from + offset;
        const createdAt = index === 5_000 ? start - 1_000_000 : start + index;
        return publishCommand({
          event: { createdAt, tenantId: index % 1_000 === 7 ? "rare" : "common" },
          deliveries: [{ lane: lane(index % 1_000 === 7 ? "rare" : "common"), createdAt }],
        });
      });
      await commit(store, { publishes });
    }
    const rare = await listDeliveries(store.history, { tenantId: "rare", webhookIds: ["rare"] });
    assert.deepEqual(
      rare.rows.map((row) => row.progress.createdAt - start),
      [8007, 7007, 6007, 5007, 4007, 3007, 2007, 1007, 7],
    );
    const edge = { from: start + 4_090, to: start + 4_100 };
    assert.equal((await listDeliveries(store.history, edge)).rows.length, 11);
    assert.equal((await store.history.searchEvents(eventSearchOf(edge))).rows.length, 11);
    const jumped = { from: start - 2_000_000, to: start - 1 };
    assert.equal((await listDeliveries(store.history, jumped)).rows.length, 1);
    assert.equal((await store.history.searchEvents(eventSearchOf({ tenantId: "rare" }))).rows.length, 9);
    assert.equal(await store.history.countDeliveries(everyDelivery, 100_000), total);
  });

  check("sums up the attempts of a webhook since a time", async (store) => {
    const attempts = [
      newAttempt({ executedAt: start + 1, durationMs: 100 }),
      newAttempt({ executedAt: start + 2, durationMs: 10 }),
      newAttempt({ executedAt: start + 3, durationMs: 20, outcome: "transient", category: "timeout" }),
      newAttempt({ executedAt: start + 4, durationMs: 30, outcome: "terminal", category: "client_error" }),
      newAttempt({ executedAt: start + 5, durationMs: 40, outcome: "transient", category: "timeout" }),
    ];
    for (const attempt of attempts) await publishSettled(store, {}, { attempt });
    await publishSettled(store, { deliveries: [{ lane: lane("other") }] }, { attempt: newAttempt() });
    assert.deepEqual(await store.history.attemptStats("webhook-1", start + 2), {
      total: 4,
      accepted: 1,
      transient: 2,
      terminal: 1,
      byCategory: { timeout: 2, client_error: 1 },
      durationMsP50: 20,
      durationMsP95: 40,
      lastAttemptAt: start + 5,
    });
    assert.deepEqual(await store.history.attemptStats("never seen", 0), {
      total: 0,
      accepted: 0,
      transient: 0,
      terminal: 0,
      byCategory: {},
      durationMsP50: null,
      durationMsP95: null,
      lastAttemptAt: null,
    });
  });
};

/** Eleven deliveries, each of a separate event, for three webhooks. Those with even numbers up to 8 succeeded. */
async function manyDeliveries(
  store: Store,
): Promise<{ ids: readonly string[]; eventIds: readonly string[] }> {
  const publishes = Array.from({ length: 11 }, (_, index) =>
    publishCommand({
      event: { createdAt: start + index },
      deliveries: [{ lane: lane(`w${index % 3}`), claim: index % 2 === 0 && index < 10 }],
    }),
  );
  const result = await commit(store, { publishes });
  const leases = result.publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : []));
  await commit(store, {
    settlements: leases.filter(({ leaseToken }) => leaseToken > 0).map((lease) => settlement(lease)),
  });
  return {
    ids: publishes.map(({ deliveries }) => only(deliveries).id),
    eventIds: publishes.map(({ event }) => event.id),
  };
}

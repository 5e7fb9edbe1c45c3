import assert from "node:assert/strict";
import {
  claim,
  commit,
  idsOf,
  lane,
  minute,
  newWebhook,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  requeue,
  newDelivery,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

export const durability: StoreTheme = (check) => {
  check("everything is kept across a restart", async (store, open) => {
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    const published = await publish(store, {
      event: { tenantId: "acme" },
      deliveries: [{ lane: lane(webhook.id) }],
    });
    const dead = await publishSettled(
      store,
      {},
      { progress: progressed({ state: "exhausted", reason: "expired" }) },
    );
    const depth = await store.deliveries.depth();
    const event = await store.history.getEvent(null, published.event.id);
    const delivery = await store.history.getDelivery(null, only(dead.deliveries).id);

    const reopened = await open.reopen();
    assert.deepEqual(await reopened.deliveries.depth(), depth);
    assert.deepEqual(await reopened.history.getEvent(null, published.event.id), event);
    assert.deepEqual(await reopened.history.getDelivery(null, only(dead.deliveries).id), delivery);
    assert.equal(only(await reopened.webhooks.page(null, 9)).webhook.id, webhook.id);
    const next = await publish(reopened, { event: { tenantId: "acme" } });
    assert.equal(next.result.kind === "accepted" && next.result.sequenceNumber, 2);
  });

  check("a delivery leased at publish is claimed in the right place after a restart", async (store, open) => {
    const strict = lane("strict", "strict");
    const { deliveries } = await publish(store, {
      deliveries: [
        { lane: strict, claim: true, dueAt: start + 5, priority: "low" },
        { lane: strict, claim: false, priority: "high" },
        { lane: strict, claim: true },
        { claim: true, priority: "low" },
        { claim: true, priority: "high", dueAt: start + 1 },
        { claim: false, priority: "high", dueAt: start + 2 },
      ],
    });
    const ids = idsOf(deliveries);
    const reopened = await open.reopen();
    const now = start + 2 * minute;
    assert.deepEqual(idsOf((await claim(reopened, strict, { now })).deliveries), ids.slice(0, 3));
    const free = await claim(reopened, lane("webhook-1"), { now });
    assert.deepEqual(idsOf(free.deliveries), [ids[4], ids[5], ids[3]]);
  });

  check("finds leased deliveries far apart, and requeued ones, after each restart", async (store, open) => {
    const first = await publish(store, { deliveries: [{ claim: true }] });
    const publishes = Array.from({ length: 5_000 }, () =>
      publishCommand({ deliveries: [{ state: "skipped" }] }),
    );
    await commit(store, { publishes });
    const retry = newDelivery({ claim: true, origin: "replay" });
    await requeue(store, { eventId: first.event.id, deliveries: [retry] });
    await open.reopen();
    const reopened = await open.reopen();
    const { deliveries } = await claim(reopened, lane("webhook-1"), { now: start + 2 * minute });
    assert.deepEqual(idsOf(deliveries), [only(first.deliveries).id, retry.id]);
  });

  check("an empty batch changes nothing", async (store) => {
    assert.deepEqual(await commit(store, {}), { publishes: [], requeues: [], retries: [], settled: [] });
    assert.deepEqual(await store.deliveries.claim([]), []);
    await store.deliveries.release([]);
  });

  check("answers pings, closes twice, and rejects all later calls", async (store) => {
    await store.ping();
    await store.close();
    await store.close();
    await assert.rejects(store.ping(), { name: "StoreUnavailableError" });
    await assert.rejects(publish(store), { name: "StoreUnavailableError" });
    await assert.rejects(claim(store, lane("webhook-1")), { name: "StoreUnavailableError" });
  });
};

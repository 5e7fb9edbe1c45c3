import assert from "node:assert/strict";
import {
  newWebhook,
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  noLease,
  nothingMore,
  progressed,
  publish,
  settle,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const key = lane("webhook-1");
const trace = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  flags: 1,
  state: "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
};

export const claims: StoreTheme = (check) => {
  check("returns when the first free delivery of some lanes is due, whatever its priority", async (store) => {
    const ordered = lane("webhook-2", "strict");
    const oldest = () => store.deliveries.oldestDue([key, ordered, lane("nobody")]);
    assert.equal(await oldest(), null);
    await publish(store, {
      deliveries: [
        { priority: "high", dueAt: start + 9_000 },
        { priority: "low", dueAt: start + 5_000 },
        { lane: lane("webhook-3"), dueAt: start },
      ],
    });
    assert.equal(await oldest(), start + 5_000);
    await publish(store, {
      deliveries: [
        { lane: ordered, dueAt: start + 2_000 },
        { lane: ordered, dueAt: start + 1_000 },
      ],
    });
    assert.equal(await oldest(), start + 2_000, "the next of an ordered lane is its head");
    await claim(store, ordered, { now: start + 3_000, limit: 1 });
    assert.equal(await oldest(), start + 1_000, "what is leased is in somebody's hands");
  });

  check("returns everything that a sender needs", async (store) => {
    const { event, deliveries } = await publish(store, {
      event: {
        eventType: "user.updated",
        tenantId: "acme",
        contentType: "text/plain",
        raw: true,
        timestamp: start - 7,
        source: "shop",
        idempotencyKey: "key-1",
        fingerprint: "print-1",
        trace,
        relayed: null,
      },
      deliveries: [{ priority: "high", format: "cloudevents-binary" }],
    });
    const { deliveries: claimed } = await claim(store, key);
    assert.deepEqual(claimed, [
      {
        lease: claimed[0]?.lease,
        id: deliveries[0]?.id,
        webhookId: "webhook-1",
        webhookTenantId: null,
        tenantId: "acme",
        eventId: event.id,
        eventType: "user.updated",
        priority: "high",
        progress: progressed({ state: "pending", attemptCount: 0, firstAttemptAt: null }),
        format: "cloudevents-binary",
        timestamp: start - 7,
        source: "shop",
        idempotencyKey: "key-1",
        eventPriority: "normal",
        sequenceNumber: 1,
        contentType: "text/plain",
        raw: true,
        body: event.body,
        trace,
        relayed: null,
      },
    ]);
  });

  check("returns the stored tenants of the event and of the webhook", async (store) => {
    const webhook = newWebhook({ tenantId: "acme" });
    await store.webhooks.save(webhook);
    for (const tenantId of ["acme", "other"])
      await publish(store, { event: { tenantId }, deliveries: [{ lane: lane(webhook.id) }] });
    const { deliveries } = await claim(store, lane(webhook.id));
    assert.deepEqual(
      deliveries.map(({ webhookId, webhookTenantId, tenantId }) => [webhookId, webhookTenantId, tenantId]),
      [
        [webhook.id, "acme", "acme"],
        [webhook.id, "acme", "other"],
      ],
    );
  });

  check("answers for a lane that was never written to", async (store) => {
    const result = await claim(store, lane("unknown", "per_event_type", "unknown"));
    assert.deepEqual(result, { deliveries: [], more: nothingMore, nextDueAt: null });
  });

  check("high priority first, then by due time", async (store) => {
    const { deliveries } = await publish(store, {
      deliveries: [
        { priority: "low", dueAt: start - 9 },
        { priority: "normal", dueAt: start - 1 },
        { priority: "normal", dueAt: start - 2 },
        { priority: "high", dueAt: start },
        { priority: "high", dueAt: start + 1 },
      ],
    });
    const [low, later, sooner, high] = idsOf(deliveries);
    const result = await claim(store, key);
    assert.deepEqual(claimedIds(result), [high, sooner, later, low]);
    assert.equal(result.nextDueAt, start + 1);
  });

  check("claims what is due to the millisecond and returns when the next is due", async (store) => {
    await publish(store, { deliveries: [{ dueAt: start + 5 }, { dueAt: start + 9, priority: "low" }] });
    assert.deepEqual(await claim(store, key, { now: start + 4 }), {
      deliveries: [],
      more: nothingMore,
      nextDueAt: start + 5,
    });
    const result = await claim(store, key, { now: start + 5 });
    assert.equal(result.deliveries.length, 1);
    assert.equal(result.nextDueAt, start + 9);
  });

  check("stops at the limit and returns which priorities have more", async (store) => {
    await publish(store, {
      deliveries: [
        { priority: "high" },
        { priority: "normal" },
        { priority: "normal" },
        { dueAt: start + 3 },
      ],
    });
    const first = await claim(store, key, { limit: 2 });
    assert.equal(first.deliveries.length, 2);
    assert.deepEqual(first.more, { high: false, normal: true, low: false });
    assert.equal(first.nextDueAt, start + 3);
    const second = await claim(store, key, { limit: 2 });
    assert.equal(second.deliveries.length, 1);
    assert.deepEqual(second.more, nothingMore);
  });

  check("with a limit of zero claims nothing", async (store) => {
    await publish(store, { deliveries: [{ priority: "low" }, { dueAt: start + 1 }] });
    const result = await claim(store, key, { limit: 0 });
    assert.deepEqual(result, {
      deliveries: [],
      more: { high: false, normal: false, low: true },
      nextDueAt: start + 1,
    });
  });

  check("stops once enough body bytes were read, but claims at least one", async (store) => {
    const body = new Uint8Array(1_000);
    for (let count = 0; count < 4; count += 1) await publish(store, { event: { body } });
    const first = await claim(store, key, { bodyBytesMax: 1 });
    assert.equal(first.deliveries.length, 1);
    assert.equal(first.more.normal, true);
    assert.equal((await claim(store, key, { bodyBytesMax: 1_500 })).deliveries.length, 2);
    assert.equal((await claim(store, key, { bodyBytesMax: 1_500 })).deliveries.length, 1);
  });

  check("serves several lanes in one call without mixing them", async (store) => {
    const keys = [lane("w1"), lane("w2"), lane("w1", "per_event_type", "a"), lane("w1", "strict")];
    const { deliveries } = await publish(store, { deliveries: keys.map((each) => ({ lane: each })) });
    const results = await store.deliveries.claim(
      keys.map((each) => ({
        lane: each,
        now: start,
        limit: 5,
        bodyBytesMax: 10_000,
        leaseUntil: start + 1_000,
      })),
    );
    assert.deepEqual(
      results.map(claimedIds),
      deliveries.map(({ id }) => [id]),
    );
  });

  check("skips deliveries published as skipped", async (store) => {
    await publish(store, { deliveries: [{ state: "skipped" }] });
    assert.deepEqual(await claim(store, key), { deliveries: [], more: nothingMore, nextDueAt: null });
  });

  check("a rescheduled delivery returns when it is due, with its progress", async (store) => {
    const { leases } = await publish(store, { deliveries: [{ claim: true }] });
    const progress = progressed({ state: "failed", attemptCount: 3, dueAt: start + 50, reason: "timeout" });
    assert.equal(await settle(store, leases[0] ?? noLease, { progress }), true);
    assert.equal((await claim(store, key, { now: start + 49 })).nextDueAt, start + 50);
    const { deliveries } = await claim(store, key, { now: start + 50 });
    assert.deepEqual(deliveries[0]?.progress, progress);
  });

  check(
    "ended deliveries are neither claimed again nor counted as more, even after a restart",
    async (store, open) => {
      await publish(store, {
        deliveries: Array.from({ length: 60 }, (_, index) => ({ dueAt: start - 60 + index })),
      });
      await publish(store, { deliveries: [{ lane: lane("another") }] });
      const claimed = (await claim(store, key, { limit: 57 })).deliveries;
      await commit(store, { settlements: claimed.slice(0, 50).map(({ lease }) => settlement(lease)) });
      for (const { lease } of claimed.slice(50)) await settle(store, lease);
      const { deliveries, more } = await claim(store, key, { limit: 2 });
      assert.equal(deliveries.length, 2);
      assert.equal(more.normal, true);
      await commit(store, { settlements: deliveries.map(({ lease }) => settlement(lease)) });
      const last = await claim(store, key, { limit: 1 });
      assert.equal(last.deliveries.length, 1);
      assert.deepEqual(last.more, nothingMore);
      await commit(store, { settlements: last.deliveries.map(({ lease }) => settlement(lease)) });
      assert.deepEqual((await store.deliveries.lanesWithWork(null, 9)).lanes, [lane("another")]);
      const reopened = await open.reopen();
      assert.deepEqual(await claim(reopened, key, { limit: 0 }), {
        deliveries: [],
        more: nothingMore,
        nextDueAt: null,
      });
      assert.deepEqual(await claim(reopened, key), { deliveries: [], more: nothingMore, nextDueAt: null });
      assert.deepEqual((await reopened.deliveries.lanesWithWork(null, 9)).lanes, [lane("another")]);
    },
  );

  check("finds the rest behind many leased ones", async (store) => {
    await publish(store, {
      deliveries: Array.from({ length: 50 }, (_, index) => ({ dueAt: start - 50 + index })),
    });
    const seen = new Set<string>();
    for (let round = 0; round < 10; round += 1) {
      for (const id of claimedIds(await claim(store, key, { limit: 5 }))) seen.add(id);
    }
    assert.equal(seen.size, 50);
    assert.deepEqual(await claim(store, key), { deliveries: [], more: nothingMore, nextDueAt: null });
  });
};

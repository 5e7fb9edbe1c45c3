import assert from "node:assert/strict";
import {
  claim,
  commit,
  day,
  lane,
  newAttempt,
  newDelivery,
  only,
  publish,
  publishCommand,
  publishSettled,
  requeue,
  runToEnd,
  settle,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

export const retention: StoreTheme = (check) => {
  check("also deletes rows written after all earlier ones were deleted", async (store) => {
    const forgotten: string[] = [];
    for (const createdAt of [start, start + 2 * day]) {
      const { event, deliveries } = await publishSettled(store, { event: { createdAt } }, {});
      const step = { createdBefore: createdAt + day, now: createdAt + day, limit: 10 };
      await runToEnd(() => store.upkeep.forgetPayloads(step.createdBefore, step.limit));
      assert.equal((await store.history.getEvent(null, event.id))?.body, null);
      await runToEnd(() => store.upkeep.forgetHistory(step));
      const id = only(deliveries).id;
      if ((await store.history.getDelivery(null, id)) === null) forgotten.push(id);
    }
    assert.equal(forgotten.length, 2);
  });

  check("TS16-119 deletes old bodies, keeps recent ones and those of waiting deliveries", async (store) => {
    const done = await publishSettled(store, { event: { createdAt: start } }, {});
    const waiting = await publish(store, { event: { createdAt: start } });
    const half = await publish(store, {
      event: { createdAt: start },
      deliveries: [{ state: "skipped" }, {}],
    });
    const young = await publishSettled(store, { event: { createdAt: start + day } }, {});
    const forget = () => runToEnd(() => store.upkeep.forgetPayloads(start + day, 1));
    assert.equal(await forget(), 1);
    const body = async (id: string) => (await store.history.getEvent(null, id))?.body;
    assert.equal(await body(done.event.id), null);
    for (const kept of [waiting, half, young]) assert.deepEqual(await body(kept.event.id), kept.event.body);
    const { deliveries } = await claim(store, lane("webhook-1"), { now: start + day });
    for (const { lease } of deliveries) await settle(store, lease);
    assert.equal(await forget(), 2);
    assert.equal(await body(waiting.event.id), null);
    assert.deepEqual(await body(young.event.id), young.event.body);
    assert.equal(await forget(), 0);
  });

  check("keeps the body for a later retry that still waits", async (store) => {
    const { event } = await publishSettled(store, {}, {});
    await requeue(store, {
      eventId: event.id,
      deliveries: [newDelivery({ createdAt: start + day })],
    });
    await runToEnd(() => store.upkeep.forgetPayloads(start + 9 * day, 10));
    assert.deepEqual(
      only((await claim(store, lane("webhook-1"), { now: start + day })).deliveries).body,
      event.body,
    );
  });

  check("deletes finished deliveries with their attempts, then their events", async (store) => {
    const old = await publishSettled(store, {}, { attempt: newAttempt() });
    const bare = await publish(store, { deliveries: [] });
    const waiting = await publish(store, { deliveries: [{}, { state: "skipped" }] });
    const young = await publishSettled(store, { event: { createdAt: start + day } }, {});
    const forget = () =>
      runToEnd(() => store.upkeep.forgetHistory({ createdBefore: start + day, now: start + day, limit: 1 }));
    assert.equal(await forget(), 4);
    const { history } = store;
    assert.equal(await history.getDelivery(null, only(old.deliveries).id), null);
    assert.deepEqual(await history.listAttempts(only(old.deliveries).id), []);
    assert.equal(await history.getEvent(null, old.event.id), null);
    assert.equal(await history.getEvent(null, bare.event.id), null);
    assert.notEqual(await history.getEvent(null, waiting.event.id), null);
    assert.notEqual(await history.getEvent(null, young.event.id), null);
    await settle(store, only((await claim(store, lane("webhook-1"))).deliveries).lease);
    assert.equal(await forget(), 2);
    assert.equal(await forget(), 0);
    const left = await listDeliveries(history, {});
    assert.equal(left.rows.length, 1);
  });

  check("deletes requeued deliveries before their event", async (store) => {
    const { event } = await publishSettled(store, {}, {});
    const result = await requeue(store, {
      eventId: event.id,
      deliveries: [newDelivery({ createdAt: start + 2 * day, claim: true, leaseUntil: start + 3 * day })],
    });
    assert.ok(result.kind === "accepted");
    await settle(store, only(result.leases));
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + day, now: start + day, limit: 10 }),
    );
    assert.notEqual(await store.history.getEvent(null, event.id), null);
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + 3 * day, now: start + 3 * day, limit: 10 }),
    );
    assert.equal(await store.history.getEvent(null, event.id), null);
  });

  check("keeps an event as long as its deduplication key can be repeated", async (store) => {
    const event = { idempotencyKey: "k", fingerprint: "f" };
    const first = await publishSettled(store, { event, dedupUntil: start + 9 * day }, {});
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + 5 * day, now: start + 5 * day, limit: 10 }),
    );
    const again = await publish(store, {
      event: { ...event, createdAt: start + 5 * day },
      dedupUntil: start + 14 * day,
    });
    assert.equal(again.result.kind === "duplicate" && again.result.original.id, first.event.id);
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + 9 * day, now: start + 9 * day, limit: 10 }),
    );
    assert.equal(await store.history.getEvent(null, first.event.id), null);
    const anew = await publish(store, { event, dedupUntil: start + 9 * day });
    assert.equal(anew.result.kind, "accepted", "the key went with its event");
  });

  check("positions and sequence numbers continue after everything was deleted", async (store, open) => {
    const first = await publishSettled(store, {}, {});
    const before = await store.history.getEvent(null, first.event.id);
    await runToEnd(() =>
      store.upkeep.forgetHistory({ createdBefore: start + day, now: start + day, limit: 10 }),
    );
    const reopened = await open.reopen();
    const second = await publish(reopened);
    const after = await reopened.history.getEvent(null, second.event.id);
    assert.equal(after?.sequenceNumber, 2);
    assert.ok((after?.position ?? 0) > (before?.position ?? 0));
  });

  check("deletes a long history in small steps", async (store) => {
    const publishes = Array.from({ length: 6_000 }, () =>
      publishCommand({ deliveries: [{ state: "skipped" }] }),
    );
    await commit(store, { publishes });
    const results = [];
    for (let more = true; more; ) {
      const result = await store.upkeep.forgetHistory({
        createdBefore: start + 1,
        now: start + 1,
        limit: 500,
      });
      assert.ok(result.changed <= 500);
      results.push(result.changed);
      more = result.more;
    }
    assert.equal(
      results.reduce((sum, changed) => sum + changed, 0),
      12_000,
    );
  });

  check("deletes only expired keys, of every kind", async (store) => {
    const key = { name: "n", hash: "h", hint: "h", role: "read", tenantId: "a", createdAt: start } as const;
    await store.registry.saveApiKey({ ...key, id: "old", expiresAt: start + 1 });
    await store.registry.saveApiKey({ ...key, id: "young", expiresAt: start + 2 });
    await store.registry.saveApiKey({ ...key, id: "forever", expiresAt: null });
    const entry = {
      scope: "s",
      claimToken: "a",
      fingerprint: "f",
      now: start,
      claimUntil: start,
      expiresAt: start + 1,
    };
    await store.idempotency.begin({ ...entry, key: "old" });
    await store.idempotency.finish({ scope: "s", key: "old", claimToken: "a", status: 200, body: "" });
    await store.idempotency.begin({ ...entry, key: "young", expiresAt: start + 2 });
    await publish(store, { event: { idempotencyKey: "old", fingerprint: "f" }, dedupUntil: start + 1 });
    await publish(store, { event: { idempotencyKey: "young", fingerprint: "f" }, dedupUntil: start + 2 });
    assert.equal(await runToEnd(() => store.upkeep.forgetKeys(start + 1, 1)), 2);
    assert.deepEqual(
      (await store.registry.apiKeys()).map(({ id }) => id),
      ["forever", "young"],
    );
    const repeat = {
      event: { idempotencyKey: "young", fingerprint: "f", createdAt: start + 1 },
      dedupUntil: start + 9,
    };
    assert.equal((await publish(store, repeat)).result.kind, "duplicate");
  });
};

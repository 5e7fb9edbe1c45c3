import assert from "node:assert/strict";
import type { ExpiredDelivery, ExpireStep } from "../../../src/ports/store/upkeep.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  commit,
  day,
  hour,
  lane,
  minute,
  newWebhook,
  noLease,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  runToEnd,
  settled,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

async function expireAll(store: Store, step: Partial<ExpireStep>): Promise<number> {
  const whole = { now: start, limit: 10, ageMsByWebhook: new Map(), ageMsDefault: hour, ...step };
  return runToEnd(() => store.upkeep.expire(whole));
}

export const expiry: StoreTheme = (check) => {
  check(
    "dead-letters deliveries older than their webhook's maximum age, to the millisecond",
    async (store) => {
      const { deliveries } = await publish(store, {
        deliveries: [{ lane: lane("short") }, { lane: lane("default") }, { lane: lane("long") }],
      });
      const ageMsByWebhook = new Map([
        ["short", minute],
        ["long", day],
      ]);
      assert.equal(await expireAll(store, { now: start + minute, ageMsByWebhook }), 0);
      assert.equal(await expireAll(store, { now: start + minute + 1, ageMsByWebhook }), 1);
      assert.equal(await expireAll(store, { now: start + hour, ageMsByWebhook }), 0);
      assert.equal(await expireAll(store, { now: start + hour + 1, ageMsByWebhook }), 1);
      assert.equal(await expireAll(store, { now: start + day + 1, ageMsByWebhook }), 1);
      const short = await store.history.getDelivery(null, deliveries[0]?.id ?? "");
      assert.equal(short?.progress.state, "exhausted");
      assert.equal(short?.progress.reason, "expired");
      assert.equal(short?.completedAt, start + minute + 1);
      assert.deepEqual((await store.deliveries.depth()).deadLetters, new Map([["default", 3]]));
      assert.deepEqual(claimedIds(await claim(store, lane("short"), { now: start + 2 * day })), []);
    },
  );

  check("leaves leased deliveries alone until their lease expires", async (store) => {
    const { leases } = await publish(store, {
      deliveries: [{ claim: true, leaseUntil: start + 2 * hour }, {}],
    });
    const claimed = only(
      (await claim(store, lane("webhook-1"), { leaseUntil: start + 3 * hour })).deliveries,
    );
    assert.equal(await expireAll(store, { now: start + hour + 1 }), 0);
    assert.equal(await expireAll(store, { now: start + 2 * hour }), 1);
    assert.equal((await settled(store, leases[0] ?? noLease)).kind, "ended");
    assert.equal(await expireAll(store, { now: start + 3 * hour }), 1);
    assert.equal((await settled(store, claimed.lease)).kind, "ended");
  });

  check("returns to rescheduled deliveries, in every step size", async (store) => {
    for (let count = 0; count < 30; count += 1)
      await publish(store, { event: { createdAt: start + count * minute } });
    const expired = [];
    for (let count = 0; count < 31; count += 1) {
      expired.push(await expireAll(store, { now: start + hour + count * minute, limit: (count % 3) + 1 }));
    }
    assert.deepEqual(expired, [0, ...Array.from({ length: 30 }, () => 1)]);
  });

  check("finds an old row behind thousands of newer ones, and skips finished rows", async (store) => {
    const old = await publish(store, { deliveries: [{ dueAt: start + 9 * day }] });
    const publishes = Array.from({ length: 5_000 }, () => publishCommand({ deliveries: [{ claim: true }] }));
    const result = await commit(store, { publishes });
    const leases = result.publishes.flatMap((each) => (each.kind === "accepted" ? each.leases : []));
    await commit(store, {
      settlements: leases.map((lease) => ({
        lease,
        progress: progressed(),
        attempt: null,
        settledAt: start,
      })),
    });
    assert.equal(await expireAll(store, { now: start + day, ageMsDefault: 2 * day }), 0);
    const stuck = await publish(store, { event: { createdAt: start + minute } });
    assert.equal(await expireAll(store, { now: start + 3 * day, ageMsDefault: 2 * day }), 2);
    for (const { deliveries } of [old, stuck]) {
      const stored = await store.history.getDelivery(null, only(deliveries).id);
      assert.equal(stored?.progress.state, "exhausted");
    }
  });

  check(
    "reports one expired delivery of each webhook, in the same transaction and once per key",
    async (store) => {
      const { notifications } = store;
      if (notifications === undefined) return;
      const told: ExpiredDelivery[] = [];
      const tell = (expired: readonly ExpiredDelivery[]) => {
        told.push(...expired);
        return expired.map(({ webhookId, tenantId, id }) => ({
          ...({ key: `exhausted:${webhookId}`, type: "posthorn.webhook.exhausted", at: start } as const),
          tenantId,
          webhookId,
          data: { delivery_id: id },
        }));
      };
      const { event, deliveries } = await publish(store, {
        deliveries: [{ lane: lane("one") }, { lane: lane("one") }, { lane: lane("two") }],
      });
      await publish(store, { event: { createdAt: start + minute }, deliveries: [{ lane: lane("one") }] });
      assert.equal(await expireAll(store, { now: start + hour + 1, tell }), 3);
      const { id: eventId, eventType, tenantId } = event;
      assert.deepEqual(
        told.toSorted((left, right) => left.webhookId.localeCompare(right.webhookId)),
        [
          { id: deliveries[0]?.id, eventId, eventType, tenantId, webhookId: "one", attemptCount: 0 },
          { id: deliveries[2]?.id, eventId, eventType, tenantId, webhookId: "two", attemptCount: 0 },
        ],
      );
      assert.equal(await expireAll(store, { now: start + day, tell }), 1);
      const keys = (await notifications.pendingEvents(9)).map(({ key }) => key);
      assert.deepEqual(keys.toSorted(), ["exhausted:one", "exhausted:two"]);
    },
  );

  check("also expires rows written after all earlier ones had ended", async (store) => {
    await publishSettled(store, {}, {});
    assert.equal(await expireAll(store, { now: start + day }), 0);
    await publish(store, { event: { createdAt: start + 2 * day } });
    assert.equal(await expireAll(store, { now: start + 3 * day }), 1);
  });

  check(
    "cancels the waiting deliveries of a deleted webhook, in steps, and reports when it is done",
    async (store) => {
      const webhook = newWebhook();
      await store.webhooks.save(webhook);
      const keys = [lane(webhook.id), lane(webhook.id, "per_event_type", "x"), lane("another")];
      for (const key of keys)
        await publish(store, { deliveries: [{ lane: key }, { lane: key }, { lane: key }] });
      await publishSettled(store, { deliveries: [{ lane: lane(webhook.id) }] }, {});
      await store.webhooks.delete(webhook.id, start);
      const step = { webhookId: webhook.id, now: start + 5, limit: 4 };
      assert.deepEqual(await store.upkeep.cancelWebhook(step), { changed: 4, more: true });
      assert.deepEqual(await store.webhooks.deletedWithWork(), [webhook.id]);
      assert.equal(await runToEnd(() => store.upkeep.cancelWebhook(step)), 2);
      assert.deepEqual(await store.webhooks.deletedWithWork(), []);
      assert.equal((await store.deliveries.depth()).waiting.normal, 3);
    },
  );

  check(
    "cancels leased deliveries of a deleted webhook, whether claimed or leased at publish",
    async (store) => {
      const webhook = newWebhook();
      await store.webhooks.save(webhook);
      const key = lane(webhook.id);
      const { deliveries, leases } = await publish(store, {
        deliveries: [{ lane: key, claim: true }, { lane: key }, { lane: lane("another"), claim: true }],
      });
      const claimed = only((await claim(store, key)).deliveries);
      await store.webhooks.delete(webhook.id, start);
      const step = { webhookId: webhook.id, now: start + 5, limit: 10 };
      assert.deepEqual(await store.upkeep.cancelWebhook(step), { changed: 2, more: false });
      assert.deepEqual(await store.webhooks.deletedWithWork(), []);
      assert.equal((await store.deliveries.depth()).waiting.normal, 1);
      for (const lease of [leases[0] ?? noLease, claimed.lease]) {
        const answer = await settled(store, lease);
        assert.equal(answer.kind, "ended");
      }
      for (const { id } of deliveries.slice(0, 2)) {
        const stored = await store.history.getDelivery(null, id);
        assert.deepEqual([stored?.progress.state, stored?.completedAt], ["cancelled", start + 5]);
      }
      await store.deliveries.release([claimed.lease]);
      assert.deepEqual(claimedIds(await claim(store, key, { now: start + day })), []);
    },
  );

  check("a webhook keeps its deletion mark while publishers may still write for it", async (store) => {
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    await publish(store, { deliveries: [{ lane: lane(webhook.id) }] });
    await store.webhooks.delete(webhook.id, start);
    const step = { webhookId: webhook.id, now: start, limit: 10 };
    assert.deepEqual(await store.upkeep.cancelWebhook({ ...step, keepsMark: true }), {
      changed: 1,
      more: false,
    });
    assert.deepEqual(await store.webhooks.deletedWithWork(), [webhook.id]);
    await publish(store, { deliveries: [{ lane: lane(webhook.id) }] });
    assert.deepEqual(await store.upkeep.cancelWebhook(step), { changed: 1, more: false });
    assert.deepEqual(await store.webhooks.deletedWithWork(), []);
  });
};

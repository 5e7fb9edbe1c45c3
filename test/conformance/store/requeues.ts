import assert from "node:assert/strict";
import {
  claim,
  claimedIds,
  day,
  firstPage,
  idsOf,
  lane,
  newDelivery,
  newId,
  only,
  progressed,
  publish,
  publishSettled,
  requeue,
  runToEnd,
  settle,
  settled,
  start,
} from "./scene.ts";
import type { StoreTheme } from "./suite.ts";

const key = lane("webhook-1");
const dead = { progress: progressed({ state: "exhausted", reason: "max_attempts_exceeded" }) };

export const requeues: StoreTheme = (check) => {
  check("a replay adds deliveries of the same event and body", async (store) => {
    const { event, deliveries } = await publishSettled(store, {}, {});
    const again = [
      newDelivery({ origin: "replay" }),
      newDelivery({ origin: "replay", lane: lane("webhook-2") }),
    ];
    const result = await requeue(store, { eventId: event.id, deliveries: again, supersedes: null });
    assert.equal(result.kind, "accepted");
    const claimed = only((await claim(store, key)).deliveries);
    assert.equal(claimed.id, again[0]?.id);
    assert.equal(claimed.eventId, event.id);
    assert.deepEqual(claimed.body, event.body);
    assert.equal((await store.history.getEvent({ tenantId: null, id: event.id }))?.deliveries, 3);
    const listed = await store.history.listDeliveries({
      tenantId: null,
      webhookId: null,
      eventId: event.id,
      states: null,
      from: null,
      to: null,
      page: firstPage,
    });
    assert.deepEqual(idsOf(listed.rows), [again[1]?.id, again[0]?.id, ...idsOf(deliveries)]);
    assert.equal(listed.rows[0]?.origin, "replay");
  });

  check("can be leased at once", async (store) => {
    const { event } = await publishSettled(store, {}, {});
    const result = await requeue(store, {
      eventId: event.id,
      deliveries: [newDelivery({ origin: "retry", claim: true })],
      supersedes: null,
    });
    assert.ok(result.kind === "accepted");
    assert.deepEqual(claimedIds(await claim(store, key)), []);
    assert.equal(await settle(store, only(result.leases)), true);
  });

  check("says when the event is unknown or its body is gone", async (store) => {
    const command = { eventId: newId(), deliveries: [newDelivery()], supersedes: null };
    assert.deepEqual(await requeue(store, command), { kind: "event_not_found" });
    const { event } = await publishSettled(store, {}, {});
    await runToEnd(() => store.upkeep.forgetPayloads({ createdBefore: start + day, limit: 10 }));
    assert.deepEqual(await requeue(store, { ...command, eventId: event.id }), { kind: "payload_gone" });
  });

  check("a retry takes the dead letter out of the queue and names its successor", async (store) => {
    const { event, deliveries } = await publishSettled(store, {}, dead);
    const retry = newDelivery({ origin: "retry" });
    await requeue(store, { eventId: event.id, deliveries: [retry], supersedes: only(deliveries).id });
    const old = await store.history.getDelivery({ tenantId: null, id: only(deliveries).id });
    assert.equal(old?.progress.state, "exhausted");
    assert.equal(old?.supersededBy, retry.id);
    assert.equal((await store.deliveries.depth()).deadLetters.get("default") ?? 0, 0);
  });

  check("a retry cancels the waiting delivery it replaces", async (store) => {
    const { event, deliveries } = await publish(store, { deliveries: [{ dueAt: start + day }] });
    const retry = newDelivery({ origin: "retry", createdAt: start + 5 });
    await requeue(store, { eventId: event.id, deliveries: [retry], supersedes: only(deliveries).id });
    const old = await store.history.getDelivery({ tenantId: null, id: only(deliveries).id });
    assert.equal(old?.progress.state, "cancelled");
    assert.equal(old?.progress.reason, "superseded");
    assert.equal(old?.supersededBy, retry.id);
    assert.equal(old?.completedAt, start + 5);
    const result = await claim(store, key, { now: start + 5 });
    assert.deepEqual(claimedIds(result), [retry.id]);
    assert.equal(result.nextDueAt, null);
    assert.equal((await store.deliveries.depth()).waiting.normal, 1);
  });

  check("never runs beside a request in flight", async (store) => {
    const { event, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
    const command = { eventId: event.id, deliveries: [newDelivery()], supersedes: only(deliveries).id };
    assert.deepEqual(await requeue(store, command), { kind: "in_flight" });
    assert.equal((await store.deliveries.depth()).waiting.normal, 1);
  });

  check(
    "replaces a delivery whose lease ran out, whose holder does not settle it as before",
    async (store) => {
      const { event, deliveries, leases } = await publish(store, {
        deliveries: [{ claim: true, leaseUntil: start + 1 }],
      });
      const retry = newDelivery({ origin: "retry", createdAt: start + 1 });
      const command = { eventId: event.id, deliveries: [retry], supersedes: only(deliveries).id };
      assert.equal((await requeue(store, command)).kind, "accepted");
      assert.equal((await settled(store, only(leases))).kind, "ended");
      assert.deepEqual(claimedIds(await claim(store, key, { now: start + 1 })), [retry.id]);
    },
  );

  check("a delivery is replaced once: two retries of one dead letter leave one schedule", async (store) => {
    const { event, deliveries } = await publishSettled(store, {}, dead);
    const supersedes = only(deliveries).id;
    const [first, second] = [newDelivery({ origin: "retry" }), newDelivery({ origin: "retry" })];
    assert.equal(
      (await requeue(store, { eventId: event.id, deliveries: [first], supersedes })).kind,
      "accepted",
    );
    assert.deepEqual(await requeue(store, { eventId: event.id, deliveries: [second], supersedes }), {
      kind: "in_flight",
    });
    assert.equal(await store.history.getDelivery({ tenantId: null, id: second.id }), null);
  });
};

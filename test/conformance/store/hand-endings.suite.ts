import assert from "node:assert/strict";
import type { EndCommand, EndResult } from "../../../src/ports/store/deliveries.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  day,
  lane,
  minute,
  newDelivery,
  newId,
  only,
  progressed,
  publish,
  publishSettled,
  retry,
  runToEnd,
  settled,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeadLetters } from "../../listed-deliveries.ts";

const later = start + day;

function end(store: Store, command: Partial<EndCommand>): Promise<readonly EndResult[]> {
  return store.deliveries.end({
    event: "cancel_requested",
    tenantId: null,
    ids: [],
    now: later,
    ...command,
  });
}

async function deadLetter(
  store: Store,
  tenantId = "a",
): Promise<{ readonly id: string; readonly eventId: string }> {
  const { event, deliveries } = await publishSettled(
    store,
    { event: { tenantId } },
    { progress: progressed({ state: "exhausted", reason: "max_attempts_exceeded" }) },
  );
  return { id: only(deliveries).id, eventId: event.id };
}

const stateOf = async (store: Store, id: string) => {
  const delivery = await store.history.getDelivery(null, id);
  return [delivery?.progress.state, delivery?.progress.reason];
};

export const handEndings: StoreTheme = (check) => {
  check("cancels a waiting delivery once, counts it, and never hands it out", async (store) => {
    const { deliveries } = await publish(store, { deliveries: [newDelivery(), newDelivery()] });
    const [first, second] = deliveries.map(({ id }) => id);
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(await end(store, { ids: [first, newId(), "no id", first] }), [
      "ended",
      "not_found",
      "not_found",
      "not_possible",
    ]);
    assert.deepEqual(await end(store, { ids: [first] }), ["not_possible"]);
    assert.deepEqual(await stateOf(store, first), ["cancelled", "cancel_requested"]);
    assert.equal((await store.deliveries.depth()).waiting.normal, 1);
    const { deliveries: claimed } = await claim(store, only(deliveries.slice(0, 1)).lane, { now: later });
    assert.deepEqual(
      claimed.map(({ id }) => id),
      [second],
    );
    assert.equal((await store.history.getDelivery(null, first))?.completedAt, later);
  });

  check("leaves leased deliveries alone, and frees the next of an ordered lane", async (store) => {
    const ordered = lane("w", "strict");
    const { deliveries } = await publish(store, {
      deliveries: [newDelivery({ lane: ordered }), newDelivery({ lane: ordered })],
    });
    const [head, next] = deliveries.map(({ id }) => id);
    assert.ok(head !== undefined && next !== undefined);
    const { deliveries: held } = await claim(store, ordered, {
      now: start,
      limit: 1,
      leaseUntil: start + minute,
    });
    assert.deepEqual(await end(store, { ids: [head], now: start + 1 }), ["in_flight"]);
    const waits = progressed({ state: "failed", dueAt: start + 7 * day });
    await settled(store, only(held).lease, { progress: waits });
    assert.deepEqual(await end(store, { ids: [head], now: start + 2 }), ["ended"]);
    assert.deepEqual(claimedIds(await claim(store, ordered, { now: start + 3 })), [next]);
  });

  check("discards a dead letter once, from the list and the count, but not a retried one", async (store) => {
    const [dead, retried] = [await deadLetter(store), await deadLetter(store)];
    await retry(store, retried.id, { lane: lane("w"), at: later });
    const command = { event: "discarded", ids: [dead.id, retried.id] } as const;
    assert.deepEqual(await end(store, command), ["ended", "not_possible"]);
    assert.deepEqual(await end(store, command), ["not_possible", "not_possible"]);
    assert.deepEqual(await stateOf(store, dead.id), ["cancelled", "discarded"]);
    assert.equal((await store.deliveries.depth()).deadLetters.get("a") ?? 0, 0);
    assert.deepEqual((await listDeadLetters(store.history)).rows, []);
  });

  check("does not find deliveries of other tenants", async (store) => {
    const dead = await deadLetter(store, "a");
    const { deliveries } = await publish(store, { event: { tenantId: "a" }, deliveries: [newDelivery()] });
    const waiting = only(deliveries).id;
    for (const tenantId of ["b", "never seen"]) {
      assert.deepEqual(await end(store, { tenantId, ids: [waiting] }), ["not_found"]);
      assert.deepEqual(await end(store, { tenantId, event: "discarded", ids: [dead.id] }), ["not_found"]);
    }
    assert.deepEqual(await end(store, { tenantId: "a", ids: [waiting] }), ["ended"]);
  });

  check("a late response that is not an acceptance leaves a dead letter discarded", async (store) => {
    const { deliveries } = await publish(store, { deliveries: [newDelivery()] });
    const { id, lane: of } = only(deliveries);
    const { deliveries: held } = await claim(store, of, { now: start, leaseUntil: start + minute });
    const { lease } = only(held);
    await runToEnd(() =>
      store.upkeep.expire({ now: later, limit: 10, ageMsByWebhook: new Map(), ageMsDefault: minute }),
    );
    const failed = progressed({ state: "failed", dueAt: later });
    assert.equal((await settled(store, lease, { progress: failed })).kind, "ended");
    assert.deepEqual(await end(store, { event: "discarded", ids: [id] }), ["ended"]);
    const progress = progressed({ state: "exhausted", reason: "expired" });
    await settled(store, lease, { progress, late: true });
    assert.deepEqual(await stateOf(store, id), ["cancelled", "discarded"]);
    assert.equal((await store.deliveries.depth()).deadLetters.get("default") ?? 0, 0);
  });

  check("says which events have lost their body to retention", async (store) => {
    const [old, young] = [
      await publishSettled(store, {}, {}),
      await publish(store, { event: { createdAt: later } }),
    ];
    await runToEnd(() => store.upkeep.forgetPayloads(later, 10));
    const ids = [old.event.id, young.event.id, newId(), "no id"];
    assert.deepEqual([...(await store.history.payloadsGone(ids))], [old.event.id]);
  });
};

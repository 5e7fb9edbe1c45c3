import assert from "node:assert/strict";
import {
  claim,
  claimedIds,
  day,
  idsOf,
  lane,
  newDelivery,
  newId,
  only,
  publishSettled,
  requeue,
  runToEnd,
  settle,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

const key = lane("webhook-1");

export const requeues: StoreTheme = (check) => {
  check("a replay adds deliveries of the same event and body", async (store) => {
    const { event, deliveries } = await publishSettled(store, {}, {});
    const again = [
      newDelivery({ origin: "replay" }),
      newDelivery({ origin: "replay", lane: lane("webhook-2") }),
    ];
    const result = await requeue(store, { eventId: event.id, deliveries: again });
    assert.equal(result.kind, "accepted");
    const claimed = only((await claim(store, key)).deliveries);
    assert.equal(claimed.id, again[0]?.id);
    assert.equal(claimed.eventId, event.id);
    assert.deepEqual(claimed.body, event.body);
    assert.equal((await store.history.getEvent(null, event.id))?.deliveries, 3);
    const listed = await listDeliveries(store.history, { eventId: event.id });
    assert.deepEqual(idsOf(listed.rows), [again[1]?.id, again[0]?.id, ...idsOf(deliveries)]);
    assert.equal(listed.rows[0]?.origin, "replay");
  });

  check("can be leased at once", async (store) => {
    const { event } = await publishSettled(store, {}, {});
    const result = await requeue(store, {
      eventId: event.id,
      deliveries: [newDelivery({ origin: "retry", claim: true })],
    });
    assert.ok(result.kind === "accepted");
    assert.deepEqual(claimedIds(await claim(store, key)), []);
    assert.equal(await settle(store, only(result.leases)), true);
  });

  check("reports an unknown event or a deleted body", async (store) => {
    const command = { eventId: newId(), deliveries: [newDelivery()] };
    assert.deepEqual(await requeue(store, command), { kind: "event_not_found" });
    const { event } = await publishSettled(store, {}, {});
    await runToEnd(() => store.upkeep.forgetPayloads(start + day, 10));
    assert.deepEqual(await requeue(store, { ...command, eventId: event.id }), { kind: "payload_gone" });
  });

  check("a replay and its original refer to each other", async (store) => {
    const { event, deliveries } = await publishSettled(store, {}, {});
    const { id } = only(deliveries);
    const [first, second] = [1, 2].map(() => newDelivery({ origin: "replay", replayOf: id }));
    assert.ok(first !== undefined && second !== undefined);
    await requeue(store, { eventId: event.id, deliveries: [first] });
    await requeue(store, { eventId: event.id, deliveries: [second] });
    const links = async (of: string): Promise<readonly (string | null | undefined)[]> => {
      const stored = await store.history.getDelivery(null, of);
      return [stored?.replayOf, stored?.replayedBy];
    };
    assert.deepEqual(await links(id), [null, second.id]);
    assert.deepEqual(await links(first.id), [id, null]);
    assert.deepEqual(await links(second.id), [id, null]);
    const { event: other } = await publishSettled(store, {}, {});
    await requeue(store, { eventId: other.id, deliveries: [newDelivery({ replayOf: id })] });
    assert.deepEqual(await links(id), [null, second.id], "a delivery of another event is no copy of it");
  });
};

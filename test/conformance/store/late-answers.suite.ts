import assert from "node:assert/strict";
import type { AttemptRecord } from "../../../src/domain/delivery.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { Lease } from "../../../src/ports/store/deliveries.ts";
import type { StoredDelivery } from "../../../src/ports/store/history.ts";
import {
  claim,
  claimedIds,
  commit,
  hour,
  lane,
  minute,
  newAttempt,
  newWebhook,
  only,
  progressed,
  publish,
  retry,
  runToEnd,
  settle,
  settled,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeadLetters } from "../../listed-deliveries.ts";

/** A delivery leased until `start + minute`. */
interface Held {
  readonly id: string;
  readonly eventId: string;
  readonly webhookId: string;
  readonly lease: Lease;
}

async function held(store: Store, way: "leased at publish" | "by a claim"): Promise<Held> {
  const webhook = newWebhook();
  await store.webhooks.save(webhook);
  const isFresh = way === "leased at publish";
  const { event, deliveries, leases } = await publish(store, {
    deliveries: [{ lane: lane(webhook.id), claim: isFresh }],
  });
  const lease = isFresh ? only(leases) : only((await claim(store, lane(webhook.id))).deliveries).lease;
  return { id: only(deliveries).id, eventId: event.id, webhookId: webhook.id, lease };
}

const endedAt = start + 2 * hour;

const ends: Readonly<Record<string, (store: Store, delivery: Held) => Promise<unknown>>> = {
  expired: (store) =>
    runToEnd(() =>
      store.upkeep.expire({ now: endedAt, limit: 10, ageMsByWebhook: new Map(), ageMsDefault: hour }),
    ),
  cancelled: async (store, { webhookId }) => {
    await store.webhooks.delete(webhookId, endedAt);
    await store.upkeep.cancelWebhook({ webhookId, now: endedAt, limit: 10 });
  },
};

async function read(store: Store, id: string): Promise<StoredDelivery> {
  const stored = await store.history.getDelivery(null, id);
  assert.ok(stored !== null);
  return stored;
}

async function deadLetters(store: Store): Promise<readonly [listed: number, counted: number]> {
  const { rows } = await listDeadLetters(store.history);
  return [rows.length, (await store.deliveries.depth()).deadLetters.get("default") ?? 0];
}

/**
 * Reports the attempt as the engine does after a settlement returned `ended`: the attempt count rises, and the state
 * changes only if the receiver accepted.
 */
async function report(
  store: Store,
  { lease }: Held,
  outcome: AttemptRecord["outcome"],
): Promise<{ readonly kind: string; readonly attempt: AttemptRecord }> {
  const attempt = newAttempt({
    ...(outcome === "accepted" ? {} : { outcome, category: "server_error", statusCode: 500 }),
    executedAt: start + 1,
  });
  const first = await settled(store, lease, { attempt });
  assert.ok(first.kind === "ended", first.kind);
  const { progress } = first;
  const counted = { ...progress, attemptCount: progress.attemptCount + 1, firstAttemptAt: start + 1 };
  const after = outcome === "accepted" ? { ...counted, state: "success" as const, reason: null } : counted;
  const late = await settled(store, lease, {
    attempt,
    progress: after,
    settledAt: endedAt + minute,
    late: true,
  });
  return { kind: late.kind, attempt };
}

export const lateAnswers: StoreTheme = (check) => {
  for (const [how, end] of Object.entries(ends)) {
    for (const way of ["leased at publish", "by a claim"] as const) {
      check(
        `leased ${way}, ${how}, then accepted: a success with its attempt, and no dead letter`,
        async (store) => {
          const delivery = await held(store, way);
          await end(store, delivery);
          const { waiting } = await store.deliveries.depth();
          assert.deepEqual(await deadLetters(store), how === "expired" ? [1, 1] : [0, 0]);
          const { kind, attempt } = await report(store, delivery, "accepted");
          assert.equal(kind, "written");
          const stored = await read(store, delivery.id);
          assert.deepEqual(stored.progress, progressed({ firstAttemptAt: start + 1 }));
          assert.equal(stored.completedAt, endedAt + minute);
          assert.deepEqual(await store.history.listAttempts(delivery.id), [attempt]);
          assert.deepEqual(await deadLetters(store), [0, 0]);
          assert.deepEqual((await store.deliveries.depth()).waiting, waiting);
        },
      );
    }

    check(`${how}, then not accepted: kept in the history, without further changes`, async (store) => {
      const delivery = await held(store, "by a claim");
      await end(store, delivery);
      const before = await read(store, delivery.id);
      const dead = await deadLetters(store);
      const { kind, attempt } = await report(store, delivery, "transient");
      assert.equal(kind, "written");
      const stored = await read(store, delivery.id);
      assert.deepEqual(stored, {
        ...before,
        category: "server_error",
        progress: { ...before.progress, attemptCount: 1, firstAttemptAt: start + 1 },
        lastAttempt: attempt,
      });
      assert.deepEqual(await store.history.listAttempts(delivery.id), [attempt]);
      assert.deepEqual(await deadLetters(store), dead);
    });
  }

  check("is reported once", async (store) => {
    const delivery = await held(store, "by a claim");
    await ends["cancelled"]?.(store, delivery);
    await report(store, delivery, "accepted");
    assert.equal((await settled(store, delivery.lease)).kind, "lost");
    assert.equal((await settled(store, delivery.lease, { late: true })).kind, "lost");
  });

  check("a retry voids the pending report of the holder, and continues", async (store) => {
    const delivery = await held(store, "by a claim");
    await ends["expired"]?.(store, delivery);
    const key = lane(delivery.webhookId);
    assert.equal((await retry(store, delivery.id, { lane: key, at: endedAt })).kind, "accepted");
    assert.deepEqual(await deadLetters(store), [0, 0]);
    assert.equal((await settled(store, delivery.lease, { attempt: newAttempt() })).kind, "lost");
    assert.deepEqual(await deadLetters(store), [0, 0]);
    assert.equal((await read(store, delivery.id)).progress.state, "pending");
    const again = await claim(store, key, { now: endedAt });
    assert.deepEqual(claimedIds(again), [delivery.id]);
    assert.equal(await settle(store, only(again.deliveries).lease), true);
  });

  check("a caller that lost its lease reports nothing; the new holder does", async (store) => {
    const delivery = await held(store, "by a claim");
    const [now, leaseUntil] = [start + 2 * minute, start + 3 * minute];
    const taken = only((await claim(store, lane(delivery.webhookId), { now, leaseUntil })).deliveries);
    assert.equal(taken.id, delivery.id);
    await ends["cancelled"]?.(store, delivery);
    assert.equal((await settled(store, delivery.lease)).kind, "lost");
    assert.equal((await settled(store, delivery.lease, { late: true })).kind, "lost");
    assert.equal((await report(store, { ...delivery, lease: taken.lease }, "accepted")).kind, "written");
  });

  check("a delivery released before it ended has no holder", async (store) => {
    const delivery = await held(store, "by a claim");
    await store.deliveries.release([delivery.lease]);
    await ends["cancelled"]?.(store, delivery);
    assert.equal((await settled(store, delivery.lease)).kind, "lost");
    assert.equal((await read(store, delivery.id)).progress.state, "cancelled");
  });

  check("only a late settlement continues from an ended state", async (store) => {
    const delivery = await held(store, "by a claim");
    await ends["cancelled"]?.(store, delivery);
    for (let times = 0; times < 2; times += 1) {
      assert.equal((await settled(store, delivery.lease, { attempt: newAttempt() })).kind, "ended");
    }
    assert.deepEqual(await store.history.listAttempts(delivery.id), []);
    const waiting = await held(store, "by a claim");
    assert.equal((await settled(store, waiting.lease, { attempt: newAttempt() })).kind, "written");
  });

  check("a rejected batch leaves the report pending", async (store) => {
    const delivery = await held(store, "by a claim");
    await ends["cancelled"]?.(store, delivery);
    const other = await held(store, "leased at publish");
    const failed = { attempt: newAttempt(), progress: progressed({ state: "failed" }) };
    await settle(store, other.lease, failed);
    const again = only((await claim(store, lane(other.webhookId))).deliveries);
    const late = settlement(delivery.lease, { attempt: newAttempt(), late: true });
    const taken = settlement(again.lease, { attempt: newAttempt() });
    await assert.rejects(commit(store, { settlements: [late, taken] }), /already|constraint/i);
    assert.equal((await read(store, delivery.id)).progress.state, "cancelled");
    assert.equal((await report(store, delivery, "accepted")).kind, "written");
  });
};

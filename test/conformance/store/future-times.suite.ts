/** Timestamps that were written while a clock was ahead. */
import assert from "node:assert/strict";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  day,
  lane,
  minute,
  only,
  newAttempt,
  noLease,
  progressed,
  publish,
  settle,
  start,
  retry as byHand,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const ahead = start + day;

async function bringNear(store: Store, now: number, limit = 2): Promise<number> {
  let changed = 0;
  for (let after: string | null = null; ; ) {
    const step = await store.upkeep.bringNear({ now, after, limit });
    changed += step.changed;
    after = step.next;
    if (after === null) return changed;
  }
}

export const futureTimes: StoreTheme = (check) => {
  check(
    "new deliveries from a clock that was ahead are due now, in ordered and unordered lanes",
    async (store) => {
      const lanes = [lane("plain"), lane("ordered", "strict"), lane("plain"), lane("ordered", "strict")];
      const { deliveries } = await publish(store, {
        event: { createdAt: ahead },
        deliveries: lanes.map((key) => ({ lane: key, createdAt: ahead, dueAt: ahead })),
      });
      assert.equal(await store.upkeep.hasFutureDeliveries(start), true);
      assert.deepEqual(claimedIds(await claim(store, lane("plain"), { now: start })), []);
      assert.equal(await bringNear(store, start), 4);
      for (const key of [lane("plain"), lane("ordered", "strict")]) {
        const claimed = await claim(store, key, { now: start });
        assert.deepEqual(
          claimedIds(claimed),
          deliveries.filter((each) => each.lane.webhookId === key.webhookId).map(({ id }) => id),
        );
        for (const { progress } of claimed.deliveries)
          assert.deepEqual([progress.dueAt, progress.createdAt], [start, start]);
      }
      assert.equal(await bringNear(store, start), 0);
    },
  );

  check("a delay counts from the correction, once", async (store) => {
    await publish(store, { deliveries: [{ createdAt: ahead, dueAt: ahead + minute }] });
    assert.equal(await bringNear(store, start), 1);
    assert.equal(await bringNear(store, start + minute / 2), 0);
    assert.deepEqual(claimedIds(await claim(store, lane("webhook-1"), { now: start + minute - 1 })), []);
    assert.equal((await claim(store, lane("webhook-1"), { now: start + minute })).deliveries.length, 1);
  });

  check("a retry keeps its remaining wait; one from a correct clock is not changed", async (store) => {
    const { leases } = await publish(store, {
      deliveries: [
        { lane: lane("ahead"), claim: true, leaseUntil: ahead + day },
        { lane: lane("sound"), claim: true, leaseUntil: ahead + day },
      ],
    });
    const retry = (at: number) =>
      progressed({
        state: "failed",
        attemptCount: 1,
        firstAttemptAt: at,
        dueAt: at + minute,
        reason: "timeout",
      });
    for (const [index, at] of [ahead, start].entries()) {
      const attempt = newAttempt({ outcome: "transient", executedAt: at, nextRetryAt: at + minute });
      await settle(store, leases[index] ?? noLease, { progress: retry(at), attempt, settledAt: at });
    }
    assert.equal(await bringNear(store, start), 1);
    for (const key of [lane("ahead"), lane("sound")]) {
      assert.deepEqual(claimedIds(await claim(store, key, { now: start + minute - 1 })), []);
      const { deliveries } = await claim(store, key, { now: start + minute });
      assert.equal(only(deliveries).progress.dueAt, start + minute);
    }
    assert.equal(await bringNear(store, start), 0);
  });

  check(
    "a manual retry from a clock that was ahead is due now, and its age counts from now",
    async (store) => {
      for (const state of ["skipped", "pending"] as const) {
        const key = lane(state);
        const { deliveries } = await publish(store, { deliveries: [{ lane: key, state }] });
        const { id } = only(deliveries);
        const cancel = { event: "cancel_requested", tenantId: null, ids: [id], now: start } as const;
        if (state === "pending") await store.deliveries.end(cancel);
        await byHand(store, id, { lane: key, at: ahead });
        assert.equal(await bringNear(store, start), 1);
        assert.equal(await bringNear(store, start), 0);
        const { progress } = only((await claim(store, key, { now: start })).deliveries);
        assert.deepEqual([progress.dueAt, progress.retried?.at], [start, start]);
      }
    },
  );

  check("leased deliveries keep their times", async (store) => {
    await publish(store, { deliveries: [{ createdAt: ahead, dueAt: ahead }] });
    assert.equal(
      (await claim(store, lane("webhook-1"), { now: ahead, leaseUntil: ahead + minute })).deliveries.length,
      1,
    );
    assert.equal(await bringNear(store, start), 0);
  });
};

import assert from "node:assert/strict";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  minute,
  only,
  progressed,
  publish,
  settle,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const key = lane("webhook-1");

/** Claiming and leasing at publish are two ways to obtain a lease. Both must behave the same. */
const ways = [
  { name: "taken at publish", claim: true },
  { name: "taken by a claim", claim: false },
];

export const leases: StoreTheme = (check) => {
  for (const way of ways) {
    check(`${way.name}: no other caller gets it during the lease`, async (store) => {
      await publish(store, { deliveries: [{ claim: way.claim, leaseUntil: start + minute }] });
      if (!way.claim) await claim(store, key, { leaseUntil: start + minute });
      const result = await claim(store, key, { now: start + minute - 1 });
      assert.deepEqual(result.deliveries, []);
      assert.equal(result.more.normal, false);
    });

    check(
      `${way.name}: after the lease expires, another caller takes it and the first can no longer settle`,
      async (store) => {
        const published = await publish(store, {
          deliveries: [{ claim: way.claim, leaseUntil: start + minute }],
        });
        const first = way.claim
          ? only(published.leases)
          : only((await claim(store, key, { leaseUntil: start + minute })).deliveries).lease;
        const second = only((await claim(store, key, { now: start + minute })).deliveries);
        assert.ok(second.lease.leaseToken > first.leaseToken);
        assert.equal(await settle(store, first), false);
        assert.equal(await settle(store, second.lease), true);
        assert.equal(await settle(store, second.lease), false);
      },
    );

    check(`${way.name}: the holder may settle late if no other caller took it`, async (store) => {
      const published = await publish(store, { deliveries: [{ claim: way.claim, leaseUntil: start }] });
      const lease = way.claim
        ? only(published.leases)
        : only((await claim(store, key, { leaseUntil: start })).deliveries).lease;
      assert.equal(await settle(store, lease, { settledAt: start + minute }), true);
    });

    check(`${way.name}: the holder may settle late even if another caller has looked`, async (store) => {
      const published = await publish(store, { deliveries: [{ claim: way.claim, leaseUntil: start }] });
      const lease = way.claim
        ? only(published.leases)
        : only((await claim(store, key, { leaseUntil: start })).deliveries).lease;
      assert.equal((await claim(store, key, { limit: 0 })).more.normal, true);
      assert.equal(await settle(store, lease), true);
      assert.deepEqual(claimedIds(await claim(store, key)), []);
    });

    check(`${way.name}: once released, it is free at once and the old lease token is void`, async (store) => {
      const published = await publish(store, { deliveries: [{ claim: way.claim }] });
      const lease = way.claim ? only(published.leases) : only((await claim(store, key)).deliveries).lease;
      await store.deliveries.release([lease]);
      await store.deliveries.release([lease]);
      assert.equal(await settle(store, lease), false);
      const again = await claim(store, key);
      assert.deepEqual(claimedIds(again), idsOf(published.deliveries));
      await store.deliveries.release([lease]);
      assert.deepEqual(claimedIds(await claim(store, key)), []);
    });

    check(
      `${way.name}: after a restart the delivery is found again and an old lease is void`,
      async (store, open) => {
        const published = await publish(store, { deliveries: [{ claim: way.claim }] });
        const lease = way.claim ? only(published.leases) : only((await claim(store, key)).deliveries).lease;
        const reopened = await open.reopen();
        assert.deepEqual((await reopened.deliveries.lanesWithWork(null, 9)).lanes, [key]);
        const again = await claim(reopened, key, { now: start + 2 * minute });
        assert.deepEqual(claimedIds(again), idsOf(published.deliveries));
        assert.equal(await settle(reopened, lease), false);
        assert.equal(await settle(reopened, only(again.deliveries).lease), true);
      },
    );
  }

  check("an invented lease token settles nothing", async (store) => {
    const { leases: given } = await publish(store);
    assert.equal(await settle(store, only(given)), false);
    assert.equal(await settle(store, { ...only(given), leaseToken: 123_456 }), false);
    assert.equal(await settle(store, { ...only(given), ref: 999_999, leaseToken: 1 }), false);
  });

  check("of two settlements with one lease in one batch the first counts", async (store) => {
    const { leases: given, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
    const exhausted = progressed({ state: "exhausted", reason: "expired" });
    const results = await commit(store, {
      settlements: [settlement(only(given)), settlement(only(given), { progress: exhausted })],
    });
    assert.deepEqual(
      results.settled.map(({ kind }) => kind),
      ["written", "lost"],
    );
    const stored = await store.history.getDelivery(null, only(deliveries).id);
    assert.equal(stored?.progress.state, "success");
  });

  check("leases of different lengths each expire at their time", async (store) => {
    const { deliveries } = await publish(store, {
      deliveries: [3, 1, 2].map((minutes) => ({ claim: true, leaseUntil: start + minutes * minute })),
    });
    const [third, first, second] = idsOf(deliveries);
    assert.deepEqual(
      claimedIds(await claim(store, key, { now: start + minute, leaseUntil: start + 9 * minute })),
      [first],
    );
    assert.deepEqual(
      claimedIds(await claim(store, key, { now: start + 2 * minute, leaseUntil: start + 9 * minute })),
      [second],
    );
    assert.deepEqual(
      claimedIds(await claim(store, key, { now: start + 3 * minute, leaseUntil: start + 9 * minute })),
      [third],
    );
  });
};

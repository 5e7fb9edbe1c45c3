import assert from "node:assert/strict";
import type { StoreChange } from "../../../src/ports/store/changes.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  commit,
  day,
  hour,
  idsOf,
  lane,
  minute,
  newAttempt,
  noLease,
  nothingMore,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  retry,
  runToEnd,
  settle,
  start,
} from "./scene.fixture.ts";
import { another } from "./several-processes.fixture.ts";
import { eventSearchOf } from "./search-model.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const free = lane("webhook-1");
const strict = lane("webhook-1", "strict");

/** The same data is opened twice to represent two processes. */
export const sharing: StoreTheme = (check) => {
  check("WDS-219 no delivery is claimed twice, and none is missed", async (store, open) => {
    const other = await another(open);
    const { deliveries } = await publish(store, { deliveries: Array.from({ length: 400 }, () => ({})) });
    const claimed: string[] = [];
    for (let rounds = 0; rounds < 40; rounds += 1) {
      const results = await Promise.all(
        [store, other, store, other].map((each) => claim(each, free, { limit: 7 })),
      );
      claimed.push(...results.flatMap(claimedIds));
    }
    assert.equal(claimed.length, 400);
    assert.deepEqual(new Set(claimed), new Set(idsOf(deliveries)));
  });

  check("each process sees what the other published, and settles its own leases", async (store, open) => {
    const other = await another(open);
    const { deliveries } = await publish(store, { deliveries: [{}, {}] });
    const [mine] = (await claim(store, free, { limit: 1 })).deliveries;
    const [theirs] = (await claim(other, free, { limit: 9 })).deliveries;
    assert.deepEqual(new Set([mine?.id, theirs?.id]), new Set(idsOf(deliveries)));
    assert.equal(await settle(store, mine?.lease ?? noLease, { attempt: newAttempt() }), true);
    assert.equal(await settle(other, theirs?.lease ?? noLease), true);
    assert.deepEqual((await other.deliveries.depth()).waiting, { high: 0, normal: 0, low: 0 });
  });

  for (const way of ["taken at publish", "taken by a claim"]) {
    check(
      `WDS-216 ${way}: deliveries of a dead process are claimed again, and it can no longer settle`,
      async (store, open) => {
        const other = await another(open);
        const atPublish = way === "taken at publish";
        const published = await publish(store, { deliveries: [{ claim: atPublish }] });
        const first = atPublish
          ? only(published.leases)
          : only((await claim(store, free, { leaseUntil: start + minute })).deliveries).lease;
        const waiting = await claim(other, free, { now: start + 1 });
        assert.deepEqual(waiting, { deliveries: [], more: nothingMore, nextDueAt: start + minute });
        assert.deepEqual((await other.deliveries.lanesWithWork(null, 9)).lanes, [free]);
        const again = only((await claim(other, free, { now: start + minute })).deliveries);
        assert.equal(await settle(store, first), false);
        assert.equal(await settle(other, again.lease), true);
      },
    );
  }

  check("a lease settles only its own delivery, and no other with its number", async (store) => {
    const { leases, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
    const lease = only(leases);
    assert.equal(lease.deliveryId, only(deliveries).id);
    assert.equal(await settle(store, { ...lease, deliveryId: noLease.deliveryId }), false);
    assert.equal(await settle(store, lease), true);
  });

  check(
    "the earlier of the next due time and the end of another's lease is returned",
    async (store, open) => {
      const other = await another(open);
      await publish(store, { deliveries: [{ claim: true }, { dueAt: start + 5 }] });
      assert.equal((await claim(other, free)).nextDueAt, start + 5);
      assert.equal((await claim(other, free, { now: start + 5 })).deliveries.length, 1);
    },
  );

  check("a process's own leases are no reason to look again", async (store) => {
    await publish(store, { deliveries: [{ claim: true }, {}] });
    assert.equal((await claim(store, free)).deliveries.length, 1);
    assert.equal((await claim(store, free)).nextDueAt, null);
  });

  check("WDS-199 an ordered lane is leased by one process at a time", async (store, open) => {
    const other = await another(open);
    const { deliveries } = await publish(store, {
      deliveries: [{ lane: strict }, { lane: strict }, { lane: strict }],
    });
    const head = only((await claim(store, strict, { limit: 1 })).deliveries);
    assert.deepEqual(await claim(other, strict, { now: start + 1 }), {
      deliveries: [],
      more: nothingMore,
      nextDueAt: start + minute,
    });
    await settle(store, head.lease);
    const next = await claim(other, strict, { limit: 1 });
    assert.deepEqual(claimedIds(next), [deliveries[1]?.id]);
    assert.deepEqual(claimedIds(await claim(store, strict)), []);
    await other.deliveries.release(next.deliveries.map(({ lease }) => lease));
    assert.deepEqual(claimedIds(await claim(store, strict)), idsOf(deliveries).slice(1));
  });

  check(
    "WDS-199 a failed head of an ordered lane stays the head for the other process",
    async (store, open) => {
      const other = await another(open);
      const { deliveries } = await publish(store, { deliveries: [{ lane: strict }, { lane: strict }] });
      const head = only((await claim(store, strict, { limit: 1 })).deliveries);
      await settle(store, head.lease, { progress: progressed({ state: "failed", dueAt: start + 5 }) });
      const result = await claim(other, strict);
      assert.deepEqual(claimedIds(result), idsOf(deliveries));
      assert.equal(result.deliveries[0]?.progress.dueAt, start + 5);
    },
  );

  check("of two concurrent claims of an ordered lane exactly one gets it", async (store, open) => {
    const other = await another(open);
    await publish(store, { deliveries: Array.from({ length: 60 }, () => ({ lane: strict })) });
    for (let rounds = 0; rounds < 30; rounds += 1) {
      const results = await Promise.all([store, other].map((each) => claim(each, strict, { limit: 2 })));
      const [mine, theirs] = results.map(({ deliveries }) => deliveries);
      assert.ok(mine?.length === 0 || theirs?.length === 0, "both hold something of an ordered lane");
      await store.deliveries.release((mine ?? []).map(({ lease }) => lease));
      await other.deliveries.release((theirs ?? []).map(({ lease }) => lease));
    }
  });

  for (const key of [free, strict]) {
    check(
      `a claim that arrives after its webhook moved to another worker blocks nothing, ${key.ordering}`,
      async (store, open) => {
        const late = await another(open);
        const { deliveries } = await publish(store, { deliveries: [1, 2].map(() => ({ lane: key })) });
        const worker = (await store.ownership?.join({ aliveMs: hour, pool: "default" })) ?? 0;
        const from = { kind: "webhooks", ids: [key.webhookId] } as const;
        only((await store.ownership?.acquire({ worker, from, limit: 1, slack: 1 }))?.webhooks ?? []);
        const lost = only((await claim(late, key, { limit: 1 })).deliveries);

        const first = await claim(store, key);
        assert.ok(first.nextDueAt !== null && first.nextDueAt <= start + 1_000, `${first.nextDueAt}`);
        const second = await claim(store, key, { now: first.nextDueAt });
        assert.deepEqual(
          [...claimedIds(first), ...claimedIds(second)].toSorted(),
          idsOf(deliveries).toSorted(),
        );
        if (key.ordering === "strict") assert.deepEqual(claimedIds(second), idsOf(deliveries), "in order");
        assert.equal(await settle(late, lost.lease), false, "somebody else decides by now");
        for (const { lease } of [...first.deliveries, ...second.deliveries])
          assert.equal(await settle(store, lease, { attempt: newAttempt() }), true);
      },
    );
  }

  check("an ordered lane whose holder died continues with its oldest delivery", async (store, open) => {
    const other = await another(open);
    const { deliveries } = await publish(store, { deliveries: [{ lane: strict }, { lane: strict }] });
    await claim(store, strict, { limit: 1 });
    assert.deepEqual(claimedIds(await claim(other, strict, { now: start + minute - 1 })), []);
    assert.deepEqual(claimedIds(await claim(other, strict, { now: start + minute })), idsOf(deliveries));
  });

  check(
    "a delivery published into an ordered lane is not leased while another waits there",
    async (store, open) => {
      const other = await another(open);
      const leased = async (to: Store) =>
        only((await publish(to, { deliveries: [{ lane: strict, claim: true }] })).leases).leaseToken > 0;
      assert.equal(await leased(store), true);
      assert.equal(await leased(other), false, "the first process holds the head");
      assert.equal(await leased(store), false, "the other's delivery comes first");
    },
  );

  check("of two concurrent publishes into an empty ordered lane exactly one leases", async (store, open) => {
    const other = await another(open);
    for (let rounds = 0; rounds < 15; rounds += 1) {
      const key = lane(`webhook-${rounds}`, "strict");
      const published = await Promise.all(
        [store, other].map((each) => publish(each, { deliveries: [{ lane: key, claim: true }] })),
      );
      const leaseTokens = published.map(({ leases }) => only(leases).leaseToken);
      assert.equal(leaseTokens.filter((leaseToken) => leaseToken > 0).length, 1);
    }
  });

  check("sequence numbers have no gaps, and positions follow them", async (store, open) => {
    const other = await another(open);
    const keyed = { idempotencyKey: "k", fingerprint: "f" };
    const batches = Array.from({ length: 20 }, (_, index) =>
      commit(index % 2 === 0 ? store : other, {
        publishes: [
          publishCommand(),
          publishCommand({ event: keyed, dedupUntil: start + day }),
          publishCommand({ event: { tenantId: "acme" } }),
        ],
      }),
    );
    const results = (await Promise.all(batches)).flatMap(({ publishes }) => publishes);
    assert.equal(results.filter(({ kind }) => kind === "duplicate").length, 19);
    const { rows } = await store.history.searchEvents(eventSearchOf({ tenantId: "default" }));
    assert.deepEqual(
      rows.map(({ sequenceNumber }) => sequenceNumber),
      Array.from({ length: 21 }, (_, index) => 21 - index),
    );
  });

  check("one dead letter is retried once", async (store, open) => {
    const other = await another(open);
    const dead = progressed({ state: "exhausted", reason: "max_attempts_exceeded" });
    const { deliveries } = await publishSettled(store, {}, { progress: dead });
    const { id } = only(deliveries);
    const results = await Promise.all([store, other].map((each) => retry(each, id)));
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ["accepted", "accepted"],
    );
    assert.equal((await store.history.getDelivery(null, id))?.retries.length, 1);
    assert.equal((await store.deliveries.depth()).deadLetters.get("default") ?? 0, 0);
    assert.equal((await other.deliveries.depth()).waiting.normal, 1);
  });

  check("counters stay correct across concurrent commits", async (store, open) => {
    const other = await another(open);
    const commits = Array.from({ length: 24 }, (_, index) =>
      publishSettled(
        index % 2 === 0 ? store : other,
        { deliveries: [{}, {}, {}] },
        { progress: progressed({ state: index % 3 === 0 ? "exhausted" : "failed" }) },
      ),
    );
    await Promise.all(commits);
    for (const each of [store, other]) {
      const { waiting, deadLetters } = await each.deliveries.depth();
      assert.equal(waiting.normal, 16 * 3);
      assert.equal(deadLetters.get("default"), 8 * 3);
    }
  });

  check("upkeep of two concurrent processes changes each row once", async (store, open) => {
    const other = await another(open);
    await publish(store, { deliveries: Array.from({ length: 50 }, () => ({})) });
    const step = { now: start + 2 * hour, limit: 7, ageMsByWebhook: new Map(), ageMsDefault: hour };
    const changed = await Promise.all([store, other].map((each) => runToEnd(() => each.upkeep.expire(step))));
    assert.equal((changed[0] ?? 0) + (changed[1] ?? 0), 50);
    assert.equal((await store.deliveries.depth()).deadLetters.get("default"), 50);
    assert.equal((await store.deliveries.depth()).waiting.normal, 0);
  });

  check("IDK-18 of two calls with one key exactly one runs", async (store, open) => {
    const other = await another(open);
    const entry = {
      scope: "s",
      fingerprint: "f",
      now: start,
      claimUntil: start + minute,
      expiresAt: start + day,
    };
    for (let rounds = 0; rounds < 20; rounds += 1) {
      const states = await Promise.all(
        [store, other].map((each, index) =>
          each.idempotency.begin({ ...entry, key: `key-${rounds}`, claimToken: `process ${index}` }),
        ),
      );
      assert.deepEqual(states.map(({ kind }) => kind).toSorted(), ["claimed", "running"]);
    }
  });

  check("notifies other processes, and not itself, of its new work", async (store, open) => {
    const other = await another(open);
    const heard: StoreChange[] = [];
    const echoes: StoreChange[] = [];
    const first = Promise.withResolvers<StoreChange>();
    const work = Promise.withResolvers<StoreChange>();
    other.changes?.subscribe((change) => {
      heard.push(change);
      if (change.kind === "unknown") first.resolve(change);
      else work.resolve(change);
    });
    const own = Promise.withResolvers<StoreChange>();
    store.changes?.subscribe((change) => {
      echoes.push(change);
      own.resolve(change);
    });
    await Promise.all([first.promise, own.promise]);
    await commit(store, {
      publishes: [
        publishCommand({ deliveries: [{ lane: lane("leased"), claim: true }] }),
        publishCommand({ deliveries: [{ lane: lane("left") }] }),
      ],
    });
    await work.promise;
    assert.deepEqual(heard, [{ kind: "unknown" }, { kind: "lanes", lanes: [lane("left")] }]);
    assert.deepEqual(echoes, [{ kind: "unknown" }]);
  });
};

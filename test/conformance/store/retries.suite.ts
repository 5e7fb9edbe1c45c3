/**
 * A manual retry keeps the delivery. It waits again with the same ID, the same attempts and the same position in the
 * history.
 */
import assert from "node:assert/strict";
import type { DeliveryProgress } from "../../../src/domain/delivery.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { ClaimedDelivery, NewDelivery } from "../../../src/ports/store/deliveries.ts";
import type { OperationDeliveries, StoredDelivery } from "../../../src/ports/store/history.ts";
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
  newDelivery,
  newId,
  only,
  progressed,
  publish,
  publishSettled,
  requeue,
  retry,
  retryCommand,
  runToEnd,
  settle,
  settled,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeadLetters } from "../../listed-deliveries.ts";

const key = lane("webhook-1");
const ordered = lane("webhook-1", "strict");
const dead = { state: "exhausted", reason: "max_attempts_exceeded" } as const;
const later = start + day;

async function read(store: Store, id: string): Promise<StoredDelivery> {
  const stored = await store.history.getDelivery(null, id);
  assert.ok(stored !== null);
  return stored;
}

/** A delivery that has ended in this way after one failed attempt. */
async function ended(
  store: Store,
  progress: Partial<DeliveryProgress> = dead,
  fields: Partial<NewDelivery> = {},
): Promise<string> {
  const failed = newAttempt({ outcome: "transient", category: "server_error", statusCode: 500 });
  const published = await publishSettled(
    store,
    { deliveries: [fields] },
    { progress: progressed(progress), attempt: failed },
  );
  return only(published.deliveries).id;
}

async function deadLetters(store: Store): Promise<readonly [listed: number, counted: number]> {
  const { rows } = await listDeadLetters(store.history);
  return [rows.length, (await store.deliveries.depth()).deadLetters.get("default") ?? 0];
}

async function waiting(store: Store): Promise<number> {
  const { high, normal, low } = (await store.deliveries.depth()).waiting;
  return high + normal + low;
}

/** Settles the claimed delivery as accepted. */
async function accept(store: Store, { lease, progress }: ClaimedDelivery): Promise<boolean> {
  const number = progress.attemptCount + 1;
  return settle(store, lease, {
    progress: { ...progress, state: "success", attemptCount: number, reason: null },
    attempt: newAttempt({ number, executedAt: later }),
    settledAt: later,
  });
}

export const retries: StoreTheme = (check) => {
  check("WDS-111 a retried dead letter waits again: same id, next attempt, no dead letter", async (store) => {
    const id = await ended(store);
    assert.deepEqual(await deadLetters(store), [1, 1]);
    const by = { kind: "api_key", name: "ops" } as const;
    const command = { ...retryCommand(id), retry: { at: later, by, operationId: null } };
    const { retries: results } = await commit(store, { retries: [command] });
    assert.deepEqual(results, [{ kind: "accepted", priority: "normal" }]);
    assert.deepEqual(await deadLetters(store), [0, 0]);
    assert.equal(await waiting(store), 1);
    const stored = await read(store, id);
    const retried = { at: later, attemptCount: 1 };
    assert.deepEqual(stored.progress, progressed({ state: "pending", dueAt: later, retried }));
    assert.equal(stored.completedAt, null);
    assert.deepEqual(stored.retries, [{ ...retried, by, operationId: null }]);
    const taken = only((await claim(store, key, { now: later })).deliveries);
    assert.equal(taken.id, id);
    assert.deepEqual(taken.progress, stored.progress);
    assert.equal(await accept(store, taken), true);
    const numbers = (await store.history.listAttempts(id)).map(({ number }) => number);
    assert.deepEqual(numbers, [1, 2]);
    assert.equal((await read(store, id)).progress.state, "success");
    assert.deepEqual(await deadLetters(store), [0, 0]);
    assert.equal(await waiting(store), 0);
  });

  for (const state of ["cancelled", "skipped"] as const) {
    check(`a delivery in state ${state} waits again`, async (store) => {
      const { deliveries } = await publish(store, {
        deliveries: [state === "skipped" ? { state, reason: "webhook_disabled" } : {}],
      });
      const { id } = only(deliveries);
      const cancel = { event: "cancel_requested", tenantId: null, ids: [id], now: start } as const;
      if (state === "cancelled") assert.deepEqual(await store.deliveries.end(cancel), ["ended"]);
      assert.equal((await retry(store, id, { at: later })).kind, "accepted");
      assert.equal(await waiting(store), 1);
      assert.deepEqual(claimedIds(await claim(store, key, { now: later })), [id]);
    });
  }

  check("a waiting delivery is due at once and keeps its id; a due one stays unchanged", async (store) => {
    const id = await ended(store, { state: "failed", dueAt: start + 7 * day });
    assert.equal((await retry(store, id, { at: later, priority: "high" })).kind, "accepted");
    assert.deepEqual((await store.deliveries.depth()).waiting, { high: 1, normal: 0, low: 0 });
    const stored = await read(store, id);
    assert.deepEqual([stored.progress.dueAt, stored.priority], [later, "high"]);
    assert.equal((await retry(store, id, { at: later + 1 })).kind, "accepted");
    assert.deepEqual(await read(store, id), stored);
    const result = await claim(store, key, { now: later });
    assert.deepEqual(claimedIds(result), [id]);
    assert.equal(result.nextDueAt, null, "it stands in its lane once");
    assert.equal(await waiting(store), 1);
  });

  check("says what prevents it, and changes nothing then", async (store) => {
    assert.deepEqual(await retry(store, newId()), { kind: "not_found" });
    const success = await ended(store, { state: "success" });
    assert.deepEqual(await retry(store, success), { kind: "not_possible" });
    const { deliveries } = await publish(store, { deliveries: [{ claim: true, leaseUntil: later }] });
    assert.deepEqual(await retry(store, only(deliveries).id, { at: later - 1 }), { kind: "in_flight" });
    const gone = await ended(store);
    await runToEnd(() => store.upkeep.forgetPayloads(start + day, 10));
    assert.deepEqual(await retry(store, gone, { at: later }), { kind: "payload_gone" });
    assert.deepEqual(await deadLetters(store), [1, 1]);
    assert.equal(await waiting(store), 1);
  });

  check("two retries of one delivery in one commit leave one schedule", async (store) => {
    const id = await ended(store);
    const command = retryCommand(id, { at: later });
    const { retries: results } = await commit(store, { retries: [command, command] });
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ["accepted", "accepted"],
    );
    assert.equal((await read(store, id)).retries.length, 1);
    assert.deepEqual(await deadLetters(store), [0, 0]);
    assert.equal(await waiting(store), 1);
    const result = await claim(store, key, { now: later });
    assert.deepEqual(claimedIds(result), [id]);
    assert.equal(result.more.normal, false);
  });

  check(
    "no former holder can settle it, neither one with an expired lease nor the one under which it ended",
    async (store) => {
      const { deliveries, leases } = await publish(store, {
        deliveries: [{ claim: true, leaseUntil: start + 1 }],
      });
      const { id } = only(deliveries);
      await runToEnd(() =>
        store.upkeep.expire({ now: later, limit: 10, ageMsByWebhook: new Map(), ageMsDefault: hour }),
      );
      assert.equal((await retry(store, id, { at: later })).kind, "accepted");
      assert.equal((await settled(store, only(leases))).kind, "lost");
      assert.equal((await settled(store, only(leases), { late: true })).kind, "lost");
      const taken = only((await claim(store, key, { now: later })).deliveries);
      assert.equal((await settled(store, only(leases))).kind, "lost");
      assert.equal(await settle(store, taken.lease, { progress: progressed(dead) }), true);
      assert.equal((await retry(store, id, { at: later })).kind, "accepted");
      const again = only((await claim(store, key, { now: later })).deliveries);
      assert.equal((await settled(store, taken.lease)).kind, "lost");
      assert.equal(await settle(store, again.lease), true);
      const waits = await publish(store, {
        deliveries: [{ claim: true, dueAt: later + hour, leaseUntil: start + 1 }],
      });
      assert.equal((await retry(store, only(waits.deliveries).id, { at: later })).kind, "accepted");
      assert.equal((await settled(store, only(waits.leases))).kind, "lost");
    },
  );

  check(
    "in an ordered lane it goes behind the waiting deliveries, and keeps that position when it fails or is released",
    async (store) => {
      const first = await ended(store, dead, { lane: ordered });
      const others = await publish(store, { deliveries: [{ lane: ordered }, { lane: ordered }] });
      await retry(store, first, { at: later, lane: ordered });
      const after = await publish(store, { deliveries: [{ lane: ordered }] });
      const expected = [...idsOf(others.deliveries), first, ...idsOf(after.deliveries)];
      const heads = await claim(store, ordered, { now: later });
      assert.deepEqual(claimedIds(heads), expected);
      await store.deliveries.release(heads.deliveries.map(({ lease }) => lease));
      const again = await claim(store, ordered, { now: later });
      assert.deepEqual(claimedIds(again), expected);
      const failed = progressed({ state: "failed", dueAt: later + 1 });
      await commit(store, {
        settlements: again.deliveries.map(({ lease }) => settlement(lease, { progress: failed })),
      });
      assert.deepEqual(claimedIds(await claim(store, ordered, { now: later + 1 })), expected);
    },
  );

  check("in an ordered lane a waiting delivery keeps its position", async (store) => {
    const head = await ended(store, { state: "failed", dueAt: start + 7 * day }, { lane: ordered });
    const { deliveries } = await publish(store, { deliveries: [{ lane: ordered }] });
    await retry(store, head, { at: later, lane: ordered });
    const taken = await claim(store, ordered, { now: later });
    assert.deepEqual(claimedIds(taken), [head, ...idsOf(deliveries)]);
  });

  check("retried again it goes last again, in the order of the retries", async (store) => {
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.push(await ended(store, dead, { lane: ordered }));
    const [a = "", b = "", c = ""] = ids;
    for (const id of [c, a, b]) await retry(store, id, { at: later, lane: ordered });
    const taken = await claim(store, ordered, { now: later });
    assert.deepEqual(claimedIds(taken), [c, a, b]);
    await settle(store, taken.deliveries[0]?.lease ?? never(), { progress: progressed(dead) });
    await store.deliveries.release(taken.deliveries.slice(1).map(({ lease }) => lease));
    await retry(store, c, { at: later + 1, lane: ordered });
    assert.deepEqual(claimedIds(await claim(store, ordered, { now: later + 1 })), [a, b, c]);
  });

  check("keeps all of it when the store is opened again", async (store, open) => {
    const first = await ended(store, dead, { lane: ordered });
    const fresh = await publish(store, { deliveries: [{ lane: ordered }] });
    await retry(store, first, { at: later, lane: ordered });
    const plain = await ended(store);
    await retry(store, plain, { at: later });
    const stored = await read(store, first);
    const reopened = await open.reopen();
    assert.deepEqual(await read(reopened, first), stored);
    const after = await publish(reopened, { deliveries: [{ lane: ordered }] });
    const inOrder = await claim(reopened, ordered, { now: later + minute });
    assert.deepEqual(claimedIds(inOrder), [...idsOf(fresh.deliveries), first, ...idsOf(after.deliveries)]);
    assert.deepEqual(claimedIds(await claim(reopened, key, { now: later })), [plain]);
    assert.equal(await waiting(reopened), 4);
  });

  check("a crash after its end leaves nothing behind that would send it twice", async (store, open) => {
    const id = await ended(store, { state: "failed", dueAt: start });
    const taken = only((await claim(store, key, { now: start })).deliveries);
    await settle(store, taken.lease, { progress: progressed(dead) });
    const reopened = await open.reopen();
    await retry(reopened, id, { at: later });
    const result = await claim(reopened, key, { now: later });
    assert.deepEqual(claimedIds(result), [id]);
    assert.equal(result.more.normal, false);
    await settle(reopened, only(result.deliveries).lease);
    assert.deepEqual(claimedIds(await claim(reopened, key, { now: later })), []);
    assert.equal(await waiting(reopened), 0);
  });

  check("uses the current lane and format of its webhook", async (store) => {
    const id = await ended(store, dead, { format: "data" });
    await retry(store, id, { at: later, lane: ordered, format: "standard" });
    assert.deepEqual(claimedIds(await claim(store, key, { now: later })), []);
    const taken = only((await claim(store, ordered, { now: later })).deliveries);
    assert.deepEqual([taken.id, taken.format], [id, "standard"]);
    assert.deepEqual((await read(store, id)).lane, ordered);
  });

  check("its age counts from the retry, and upkeep finds it however old it is", async (store) => {
    const id = await ended(store);
    const expire = (now: number) =>
      runToEnd(() => store.upkeep.expire({ now, limit: 2, ageMsByWebhook: new Map(), ageMsDefault: hour }));
    // Moves the sweep past the position of the delivery.
    for (let count = 0; count < 3; count += 1) await publishSettled(store, {}, {});
    for (let rounds = 0; rounds < 3; rounds += 1) assert.equal(await expire(later - 1), 0);
    await retry(store, id, { at: later });
    assert.equal(await expire(later + hour), 0);
    assert.equal(await expire(later + hour + 1), 1);
    const { progress } = await read(store, id);
    assert.deepEqual([progress.state, progress.reason], ["exhausted", "expired"]);
    assert.deepEqual(await deadLetters(store), [1, 1]);
    assert.equal(await waiting(store), 0);
  });

  check("keeps its payload and its history while it waits", async (store) => {
    const id = await ended(store);
    await retry(store, id, { at: later });
    const before = { createdBefore: start + 9 * day, limit: 10 };
    await runToEnd(() => store.upkeep.forgetPayloads(before.createdBefore, before.limit));
    await runToEnd(() => store.upkeep.forgetHistory({ ...before, now: start + 9 * day }));
    const taken = only((await claim(store, key, { now: later })).deliveries);
    assert.equal(taken.id, id);
    assert.notEqual(taken.body, null);
  });

  check("the deliveries of an operation are counted by state, a page at a time", async (store) => {
    const operationId = newId();
    const ids = [];
    for (let count = 0; count < 5; count += 1) ids.push(await ended(store));
    for (const id of ids.slice(0, 4)) await retry(store, id, { at: later, operationId });
    const { deliveries } = await claim(store, key, { now: later, limit: 3 });
    const [first, second, third] = deliveries;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await accept(store, first);
    await settle(store, second.lease, { progress: { ...second.progress, ...dead } });
    const { event, deliveries: copied } = await publishSettled(store, {}, {});
    const copy = newDelivery({ replayOf: only(copied).id, operationId });
    await requeue(store, { eventId: event.id, deliveries: [copy] });
    // A retry of a single delivery does not change its operation. A delivery that is already due is assigned to the
    // latest operation that retries it.
    await retry(store, second.id, { at: later });
    const [due = ""] = ids.slice(4);
    await retry(store, due, { at: later });
    await retry(store, due, { at: later + 1, operationId });
    const { progress, retries: noted } = await read(store, due);
    assert.deepEqual([progress.dueAt, noted.length, noted.at(-1)?.operationId], [later, 2, operationId]);
    const sum: Record<string, number> = {};
    const pages: number[] = [];
    for (let after: number | null = null; ; ) {
      const page: OperationDeliveries = await store.history.sentByOperation({ operationId, after, limit: 2 });
      pages.push(Object.values(page.states).reduce((total, count) => total + count, 0));
      for (const [state, count] of Object.entries(page.states)) sum[state] = (sum[state] ?? 0) + count;
      if (page.next === null) break;
      after = page.next;
    }
    assert.deepEqual(pages, [2, 2, 2]);
    assert.deepEqual(sum, { success: 1, pending: 5 });
    const unknown = await store.history.sentByOperation({ operationId: "none", after: null, limit: 2 });
    assert.deepEqual(unknown, { states: {}, next: null });
  });

  check("the newest 20 retries are kept", async (store) => {
    const id = await ended(store);
    for (let count = 0; count < 22; count += 1) {
      await retry(store, id, { at: later + count });
      const taken = only((await claim(store, key, { now: later + count })).deliveries);
      await settle(store, taken.lease, { progress: { ...taken.progress, ...dead } });
    }
    const kept = (await read(store, id)).retries;
    assert.deepEqual([kept.length, kept[0]?.at, kept.at(-1)?.at], [20, later + 2, later + 21]);
  });
};

function never(): never {
  throw new Error("it was claimed");
}

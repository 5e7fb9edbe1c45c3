import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { OutboxEntry, OutboxStore } from "../../../src/client/outbox/outbox-store.ts";

/** An adapter under test. */
export interface OutboxSubject<Transaction, Put extends void | Promise<void>> {
  readonly name: string;
  open(): Promise<OpenOutboxStore<Transaction, Put>>;
}

export interface OpenOutboxStore<
  Transaction = never,
  Put extends void | Promise<void> = void | Promise<void>,
> {
  readonly store: OutboxStore<Transaction, Put>;
  /** The same entries through another connection, as another process would see them. */
  readonly elsewhere: OutboxStore<Transaction, Put>;
  /** Runs `work` in a transaction of the application, and then commits it or rolls it back. */
  transaction(work: (transaction: Transaction) => Put, end: "commit" | "rollback"): Promise<void>;
  cleanup(): Promise<void>;
}

const event = `{"event_type":"a.b","data":{"text":"'; \u00e4 \u{1F600} \\u0000"}}`;
const claim = { token: "t1", now: 1_000, leaseUntil: 5_000, limit: 10 };

type Promised = (promise: string, run: (open: OpenOutboxStore) => Promise<void>) => void;

async function put(store: OutboxStore<never>, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await store.put(id, event);
}

function claimFrom<Transaction, Put extends void | Promise<void>>(
  store: OutboxStore<Transaction, Put>,
  change: Partial<typeof claim> = {},
): Promise<readonly OutboxEntry[]> {
  const { token, now, leaseUntil, limit } = { ...claim, ...change };
  return store.claim(token, now, leaseUntil, limit);
}

const idsOf = (entries: readonly { readonly id: string }[]) => entries.map(({ id }) => id);

/** The guarantees of the port, one test each. */
export function outboxConformance<Transaction, Put extends void | Promise<void>>(
  subject: OutboxSubject<Transaction, Put>,
): void {
  suite(`outbox conformance: ${subject.name}`, () => {
    const check: Promised = (promise, run) => {
      test(promise, async (t) => {
        const open = await subject.open();
        t.after(() => open.cleanup());
        await run(open as unknown as OpenOutboxStore);
      });
    };
    transactions(check);
    claiming(check);
    settling(check);
    parking(check);
  });
}

function transactions(check: Promised): void {
  check("an event appears when its transaction commits, and not before", async (open) => {
    const { store, elsewhere } = open;
    await open.transaction((transaction) => store.put("a", event, transaction), "commit");
    await open.transaction((transaction) => store.put("b", event, transaction), "rollback");
    assert.deepEqual(await claimFrom(elsewhere), [{ id: "a", event, attempts: 1, firstClaimedAt: 1_000 }]);
  });

  check("one key is one event", async ({ store }) => {
    await put(store, "a");
    await assert.rejects(async () => store.put("a", "{}"));
    assert.deepEqual(await store.counts(), { waiting: 1, parked: 0 });
  });
}

function claiming(check: Promised): void {
  check("the oldest come first, up to the requested number", async ({ store }) => {
    await put(store, "c", "a", "b", "d");
    assert.deepEqual(idsOf(await claimFrom(store, { limit: 3 })), ["c", "a", "b"]);
  });

  check(
    "while one caller has a claim no other gets anything, which keeps the order",
    async ({ store, elsewhere }) => {
      await put(store, "a", "b");
      assert.deepEqual(idsOf(await claimFrom(store, { limit: 1 })), ["a"]);
      assert.deepEqual(await claimFrom(elsewhere, { token: "t2" }), []);
      await store.done("t1", ["a"]);
      assert.deepEqual(idsOf(await claimFrom(elsewhere, { token: "t2" })), ["b"]);
    },
  );

  check("of concurrent claims exactly one gets the entries", async ({ store, elsewhere }) => {
    await put(store, "a", "b");
    const claims = ["t1", "t2", "t3", "t4"].map((token, index) =>
      claimFrom(index % 2 === 0 ? store : elsewhere, { token }),
    );
    const counts = (await Promise.all(claims)).map(({ length }) => length);
    assert.deepEqual(
      counts.toSorted((a, b) => a - b),
      [0, 0, 0, 2],
    );
  });

  check(
    "an unfinished claim expires at its time, and the time of the first attempt is returned",
    async ({ store }) => {
      await put(store, "a");
      await claimFrom(store);
      assert.deepEqual(await claimFrom(store, { token: "t2", now: 4_999 }), []);
      const again = await claimFrom(store, { token: "t2", now: 5_000, leaseUntil: 9_000 });
      assert.deepEqual(again, [{ id: "a", event, attempts: 2, firstClaimedAt: 1_000 }]);
    },
  );
}

function settling(check: Promised): void {
  check("finished entries are deleted", async ({ store }) => {
    await put(store, "a", "b");
    await claimFrom(store);
    await store.done("t1", ["a", "b"]);
    assert.deepEqual(await store.counts(), { waiting: 0, parked: 0 });
  });

  check("a released entry waits for its time, and so does everything after it", async ({ store }) => {
    await put(store, "a", "b");
    await claimFrom(store, { limit: 1 });
    await store.release("t1", ["a"], 2_000);
    assert.deepEqual(await claimFrom(store, { token: "t2", now: 1_999 }), []);
    const due = await claimFrom(store, { token: "t2", now: 2_000 });
    assert.deepEqual(idsOf(due), ["a", "b"]);
  });

  check("a caller that lost its claim changes nothing", async ({ store, elsewhere }) => {
    await put(store, "a");
    await claimFrom(store);
    await claimFrom(elsewhere, { token: "t2", now: 5_000, leaseUntil: 9_000 });
    await store.done("t1", ["a"]);
    await store.release("t1", ["a"], 0);
    await store.park("t1", "a", 1, "late");
    assert.deepEqual(await claimFrom(store, { token: "t3", now: 8_999 }), []);
    assert.deepEqual(await store.counts(), { waiting: 1, parked: 0 });
  });
}

function parking(check: Promised): void {
  check("a parked event blocks nothing, and returns corrected", async ({ store }) => {
    await put(store, "a", "b");
    await claimFrom(store);
    await store.park("t1", "a", 1_500, "invalid_request: no");
    await store.done("t1", ["b"]);
    assert.deepEqual(await store.listParked(5), [
      { id: "a", event, error: "invalid_request: no", parkedAt: 1_500 },
    ]);
    assert.deepEqual(await claimFrom(store, { token: "t2" }), []);
    assert.equal(await store.requeue("a", "{}"), true);
    assert.equal(await store.requeue("a", null), false);
    assert.deepEqual(await claimFrom(store, { token: "t2" }), [
      { id: "a", event: "{}", attempts: 2, firstClaimedAt: 1_000 },
    ]);
  });

  check("a parked event can be discarded, a waiting one cannot", async ({ store }) => {
    await put(store, "a");
    assert.equal(await store.discard("a"), false);
    await claimFrom(store);
    await store.park("t1", "a", 1, "x");
    assert.equal(await store.discard("a"), true);
    assert.deepEqual(await store.counts(), { waiting: 0, parked: 0 });
  });
}

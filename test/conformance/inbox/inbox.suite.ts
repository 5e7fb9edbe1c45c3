import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { InboxEntry, InboxStore } from "../../../src/receiver/inbox/inbox-store.ts";

/** An adapter under test. */
export interface InboxSubject {
  readonly name: string;
  open(): Promise<OpenInboxStore>;
}

export interface OpenInboxStore {
  readonly store: InboxStore;
  /** The same messages through another connection; null if nothing is shared. */
  readonly elsewhere: InboxStore | null;
  cleanup(): Promise<void>;
}

const body = new Uint8Array([0, 255, 10, 13, 39, 92]);
const entry = { id: "a", envelope: `{"text":"'; \u00e4 \u{1F600}"}`, body, dueAt: 1_000 };
const claim = { now: 1_000, leaseUntil: 5_000, token: "t1" };

function claimFrom(store: InboxStore, change: Partial<typeof claim> = {}): Promise<InboxEntry | null> {
  const { now, leaseUntil, token } = { ...claim, ...change };
  return store.claim(now, leaseUntil, token);
}
const mine = { id: "a", token: "t1" };

type Promised = (promise: string, run: (open: OpenInboxStore) => Promise<void>) => void;

/** The guarantees of the port, one test each. */
export function inboxConformance(subject: InboxSubject): void {
  suite(`inbox conformance: ${subject.name}`, () => {
    const check: Promised = (promise, run) => {
      test(promise, async (t) => {
        const open = await subject.open();
        t.after(() => open.cleanup());
        await run(open);
      });
    };
    waiting(check);
    settling(check);
    parking(check);
  });
}

function waiting(check: Promised): void {
  check("a message is returned unchanged once it is due", async ({ store }) => {
    await store.put(entry);
    assert.equal(await claimFrom(store, { now: 999 }), null);
    const claimed = await claimFrom(store);
    assert.ok(claimed !== null);
    assert.deepEqual(new Uint8Array(claimed.body), body);
    assert.deepEqual([claimed.id, claimed.envelope, claimed.attempt], ["a", entry.envelope, 1]);
  });

  check("putting a known message changes nothing", async ({ store }) => {
    await store.put(entry);
    await claimFrom(store);
    await store.put({ ...entry, envelope: "{}" });
    assert.equal(await claimFrom(store), null);
    const again = await claimFrom(store, { now: 5_000 });
    assert.equal(again?.envelope, entry.envelope);
  });

  check("the message that has been due longest is first", async ({ store }) => {
    for (const [id, dueAt] of [
      ["late", 3],
      ["early", 1],
      ["middle", 2],
    ] as const)
      await store.put({ ...entry, id, dueAt });
    const order = [await claimFrom(store), await claimFrom(store), await claimFrom(store)];
    assert.deepEqual(
      order.map((claimed) => claimed?.id),
      ["early", "middle", "late"],
    );
  });

  check("of concurrent claims exactly one gets a message", async ({ store, elsewhere }) => {
    for (const id of ["a", "b", "c"]) await store.put({ ...entry, id });
    const stores = [store, elsewhere ?? store];
    const claimed = await Promise.all(
      Array.from({ length: 8 }, (_, index) => claimFrom(stores[index % 2]!, { token: `t${index}` })),
    );
    const ids = claimed.flatMap((found) => (found === null ? [] : [found.id]));
    assert.equal(new Set(ids).size, ids.length, "nobody shares one");
  });

  check(
    "a message claimed by a crashed process returns when its lease expires",
    async ({ store, elsewhere }) => {
      await store.put(entry);
      await claimFrom(store);
      const survivor = elsewhere ?? store;
      assert.equal(await claimFrom(survivor, { now: 4_999 }), null);
      const again = await survivor.claim(5_000, 9_000, "t2");
      assert.equal(again?.attempt, 2);
      assert.equal(await store.done(mine), false, "the old claim is worth nothing");
      assert.equal(await store.postpone({ ...mine, dueAt: 0, error: "" }), false);
      assert.equal(await store.park({ ...mine, parkedAt: 0, error: "" }), false);
      assert.equal(await survivor.done({ id: "a", token: "t2" }), true);
    },
  );
}

function settling(check: Promised): void {
  check("a processed message is gone", async ({ store }) => {
    await store.put(entry);
    await claimFrom(store);
    assert.equal(await store.done(mine), true);
    assert.equal(await claimFrom(store, { now: 9_000 }), null);
    assert.equal(await store.done(mine), false);
  });

  check("a postponed message is due later, and its attempts are counted", async ({ store }) => {
    await store.put(entry);
    await claimFrom(store);
    assert.equal(await store.postpone({ ...mine, dueAt: 2_000, error: "down" }), true);
    assert.equal(await claimFrom(store, { now: 1_999 }), null);
    assert.equal((await claimFrom(store, { now: 2_000 }))?.attempt, 2);
  });
}

function parking(check: Promised): void {
  const park = async (store: InboxStore, id: string, parkedAt: number) => {
    await store.put({ ...entry, id });
    await claimFrom(store);
    assert.equal(await store.park({ id, token: "t1", parkedAt, error: "never" }), true);
  };

  check("a parked message is listed, oldest first, and not claimed", async ({ store }) => {
    await park(store, "b", 20);
    await park(store, "a", 10);
    assert.equal(await claimFrom(store, { now: 99_000 }), null);
    const parked = await store.listParked(10);
    assert.deepEqual(
      parked.map(({ id, parkedAt, error, attempt }) => [id, parkedAt, error, attempt]),
      [
        ["a", 10, "never", 1],
        ["b", 20, "never", 1],
      ],
    );
    assert.equal((await store.listParked(1)).length, 1);
  });

  check("a requeued message starts again", async ({ store }) => {
    await park(store, "a", 10);
    assert.equal(await store.requeue("a", 3_000), true);
    assert.equal(await store.requeue("a", 3_000), false);
    assert.deepEqual(await store.listParked(10), []);
    assert.equal((await claimFrom(store, { now: 3_000 }))?.attempt, 1);
  });

  check("only a parked message is discarded", async ({ store }) => {
    await store.put({ ...entry, id: "waiting" });
    assert.equal(await store.discard("waiting"), false);
    await claimFrom(store);
    await park(store, "a", 10);
    assert.equal(await store.discard("a"), true);
    assert.deepEqual(await store.listParked(10), []);
  });
}

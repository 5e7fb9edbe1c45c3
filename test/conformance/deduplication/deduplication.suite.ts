import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { DeduplicationStore } from "../../../src/receiver/deduplication.ts";

/** An adapter under test. */
export interface DeduplicationSubject {
  readonly name: string;
  /** A new, empty store. */
  open(): Promise<OpenDeduplicationStore>;
}

export interface OpenDeduplicationStore {
  readonly store: DeduplicationStore;
  /** The same keys through another connection, as another process would see them; null if nothing is shared. */
  readonly elsewhere: DeduplicationStore | null;
  cleanup(): Promise<void>;
}

/** Close to the real time, because Redis measures durations with its own clock. */
const start = Date.now();
const minute = 60_000;
const day = 24 * 60 * minute;

const claim = { key: "0a1b", fingerprint: "f", token: "t1", now: start, expiresAt: start + minute };
const other = { ...claim, token: "t2" };
const completion = { ...claim, result: "answer", expiresAt: start + day };

type Promised = (promise: string, body: (open: OpenDeduplicationStore) => Promise<void>) => void;

/** The guarantees of the port, one test each. */
export function deduplicationConformance(subject: DeduplicationSubject): void {
  suite(`deduplication conformance: ${subject.name}`, () => {
    const check: Promised = (promise, body) => {
      test(promise, async (t) => {
        const open = await subject.open();
        t.after(() => open.cleanup());
        await body(open);
      });
    };
    claims(check);
    results(check);
    fences(check);
    hostileText(check);
  });
}

function claims(check: Promised): void {
  check("IDK-18 IDK-20 of concurrent claims exactly one may run", async ({ store, elsewhere }) => {
    const stores = [store, elsewhere ?? store];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (stores[index % 2] ?? store).claim({ ...claim, token: `t${index}` }),
      ),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === "claimed").length, 1);
    assert.equal(outcomes.filter(({ kind }) => kind === "running").length, 19);
  });

  check("a running claim says until when it is valid", async ({ store }) => {
    await store.claim(claim);
    assert.deepEqual(await store.claim(other), { kind: "running", expiresAt: claim.expiresAt });
  });

  check("keys are independent", async ({ store }) => {
    await store.claim(claim);
    assert.deepEqual(await store.claim({ ...other, key: "0a1c" }), { kind: "claimed" });
  });

  check("a claim left by a crash expires at its time, and not before", async ({ store, elsewhere }) => {
    await store.claim(claim);
    const survivor = elsewhere ?? store;
    assert.equal((await survivor.claim({ ...other, now: claim.expiresAt - 1 })).kind, "running");
    const late = { ...other, now: claim.expiresAt, expiresAt: claim.expiresAt + minute };
    assert.equal((await survivor.claim(late)).kind, "claimed");
    assert.equal((await store.claim({ ...late, token: "t3" })).kind, "running");
  });

  check("a released key can be claimed again", async ({ store }) => {
    await store.claim(claim);
    await store.release(claim.key, claim.token);
    assert.equal((await store.claim({ ...other, fingerprint: "another" })).kind, "claimed");
  });
}

function results(check: Promised): void {
  check("IDK-19 a completed key returns its result to every caller", async ({ store, elsewhere }) => {
    await store.claim(claim);
    assert.equal(await store.finish(completion), true);
    const known = { kind: "completed", result: "answer" };
    assert.deepEqual(await store.claim(other), known);
    assert.deepEqual(await (elsewhere ?? store).claim({ ...other, now: start + day - 1 }), known);
  });

  check(
    "IDK-8 IDK-22 another fingerprint with the same key is a mismatch, running or completed",
    async ({ store }) => {
      await store.claim(claim);
      const changed = { ...other, fingerprint: "g" };
      assert.deepEqual(await store.claim(changed), { kind: "mismatch" });
      await store.finish(completion);
      assert.deepEqual(await store.claim(changed), { kind: "mismatch" });
    },
  );

  check("EDS-7.2-4 IDK-14 an expired key can be used again", async ({ store }) => {
    await store.claim(claim);
    await store.finish(completion);
    const late = { ...other, fingerprint: "g", now: start + day, expiresAt: start + day + minute };
    assert.deepEqual(await store.claim(late), { kind: "claimed" });
    assert.equal((await store.claim({ ...late, token: "t3" })).kind, "running");
  });

  check("work that outlived its claim is stored if the key was not claimed again", async ({ store }) => {
    await store.claim(claim);
    await store.purge(claim.expiresAt);
    assert.equal(await store.finish({ ...completion, now: claim.expiresAt + 1 }), true);
    assert.equal((await store.claim({ ...other, now: claim.expiresAt + 2 })).kind, "completed");
  });

  check("purging removes only what has expired", async ({ store }) => {
    await store.claim(claim);
    await store.claim({ ...claim, key: "ff" });
    await store.finish(completion);
    await store.purge(claim.expiresAt);
    assert.equal((await store.claim({ ...other, now: claim.expiresAt })).kind, "completed");
    const late = { ...other, key: "ff", now: claim.expiresAt, expiresAt: claim.expiresAt + minute };
    assert.equal((await store.claim(late)).kind, "claimed");
  });
}

function fences(check: Promised): void {
  const takeover = { ...other, now: claim.expiresAt, expiresAt: claim.expiresAt + minute };

  check("a caller that lost the key can neither finish nor release it", async ({ store }) => {
    await store.claim(claim);
    await store.claim(takeover);
    assert.equal(await store.finish(completion), false);
    await store.release(claim.key, claim.token);
    assert.equal((await store.claim({ ...takeover, token: "t3" })).kind, "running");
    assert.equal(await store.finish({ ...completion, token: "t2", result: "second" }), true);
    assert.deepEqual(await store.claim({ ...takeover, token: "t3" }), {
      kind: "completed",
      result: "second",
    });
  });

  check("a result is final: it is neither finished again nor released", async ({ store }) => {
    await store.claim(claim);
    await store.finish(completion);
    assert.equal(await store.finish({ ...completion, result: "changed" }), false);
    await store.release(claim.key, claim.token);
    assert.deepEqual(await store.claim(other), { kind: "completed", result: "answer" });
  });
}

function hostileText(check: Promised): void {
  check("IDK-29 results and fingerprints may contain anything", async ({ store }) => {
    const result = `'; DROP TABLE x; -- "\\ \u00e4\u{1F600}\r\n$1 %s ] ]]`;
    const fingerprint = "'$1\" OR 1=1";
    await store.claim({ ...claim, fingerprint });
    await store.finish({ ...completion, fingerprint, result });
    assert.deepEqual(await store.claim({ ...other, fingerprint }), { kind: "completed", result });
  });
}

import assert from "node:assert/strict";
import type { IdempotencyClaim } from "../../../src/ports/store/idempotency.ts";
import { day, minute, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const entry: IdempotencyClaim = {
  scope: "key-1 POST /v1/webhooks",
  key: "k",
  claimToken: "a",
  fingerprint: "f",
  now: start,
  claimUntil: start + minute,
  expiresAt: start + day,
};
const { scope, key, claimToken } = entry;
const claim = { scope, key, claimToken };
/** Another call with the same key. */
const other = { ...entry, claimToken: "b" };
const othersClaim = { ...claim, claimToken: "b" };

export const idempotency: StoreTheme = (check) => {
  check("of concurrent calls exactly one runs", async (store) => {
    const states = await Promise.all(
      ["a", "b", "c"].map((each) => store.idempotency.begin({ ...entry, claimToken: each })),
    );
    assert.deepEqual(states.map(({ kind }) => kind).sort(), ["claimed", "running", "running"]);
  });

  check("repeats the response", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.finish({ ...claim, status: 201, body: '{"id":1}' });
    const again = await store.idempotency.begin({ ...other, now: start + day - 1 });
    assert.deepEqual(again, { kind: "finished", status: 201, body: '{"id":1}' });
  });

  check("rejects the key for another call, running or finished", async (store) => {
    await store.idempotency.begin(entry);
    assert.deepEqual(await store.idempotency.begin({ ...entry, fingerprint: "other" }), { kind: "mismatch" });
    await store.idempotency.finish({ ...claim, status: 200, body: "" });
    assert.deepEqual(await store.idempotency.begin({ ...entry, fingerprint: "other" }), { kind: "mismatch" });
  });

  check("separates scopes", async (store) => {
    await store.idempotency.begin(entry);
    assert.deepEqual(await store.idempotency.begin({ ...entry, scope: "key-2" }), { kind: "claimed" });
  });

  check("deletes an abandoned claim, but not a response", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.abandon(claim);
    assert.deepEqual(await store.idempotency.begin(entry), { kind: "claimed" });
    await store.idempotency.finish({ ...claim, status: 200, body: "b" });
    await store.idempotency.abandon(claim);
    assert.equal((await store.idempotency.begin(entry)).kind, "finished");
  });

  check("a claim left by a crash can be taken again", async (store) => {
    await store.idempotency.begin(entry);
    const later = { ...other, now: start + minute, claimUntil: start + 2 * minute };
    assert.deepEqual(await store.idempotency.begin(later), { kind: "claimed" });
    assert.deepEqual(await store.idempotency.begin({ ...later, claimToken: "c", now: start + minute + 1 }), {
      kind: "running",
    });
  });

  check("a renewed claim stays with its holder", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.begin({ ...entry, key: "k2" });
    await store.idempotency.renew([claim, { ...claim, key: "gone" }], start + 2 * minute);
    const later = { ...other, now: start + minute, claimUntil: start + 3 * minute };
    assert.deepEqual(await store.idempotency.begin(later), { kind: "running" });
    assert.deepEqual(await store.idempotency.begin({ ...later, key: "k2" }), { kind: "claimed" });
    // Another caller holds the claim now.
    await store.idempotency.renew([{ ...claim, key: "k2" }], start + day);
    const last = { ...other, claimToken: "c", key: "k2", now: start + 3 * minute };
    assert.deepEqual(await store.idempotency.begin(last), { kind: "claimed" });
  });

  check("a caller that lost a claim can neither complete nor release it", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.begin({ ...other, now: start + minute, claimUntil: start + 2 * minute });
    await store.idempotency.abandon(claim);
    await store.idempotency.finish({ ...claim, status: 500, body: "late" });
    const third = { ...entry, claimToken: "c", now: start + minute };
    assert.deepEqual(await store.idempotency.begin(third), { kind: "running" });
    await store.idempotency.finish({ ...othersClaim, status: 200, body: "b" });
    assert.deepEqual(await store.idempotency.begin(third), { kind: "finished", status: 200, body: "b" });
  });

  check("repeated calls of a holder count once", async (store) => {
    await store.idempotency.begin(entry);
    assert.deepEqual(await store.idempotency.begin(entry), { kind: "claimed" });
    await store.idempotency.finish({ ...claim, status: 200, body: "b" });
    await store.idempotency.finish({ ...claim, status: 200, body: "b" });
    assert.deepEqual(await store.idempotency.begin(other), { kind: "finished", status: 200, body: "b" });
    await store.idempotency.begin({ ...entry, key: "k2" });
    await store.idempotency.abandon({ ...claim, key: "k2" });
    await store.idempotency.abandon({ ...claim, key: "k2" });
    assert.deepEqual(await store.idempotency.begin({ ...other, key: "k2" }), { kind: "claimed" });
  });

  check("an expired response counts as absent, for any call", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.finish({ ...claim, status: 200, body: "b" });
    const later = {
      ...entry,
      now: start + day,
      fingerprint: "other",
      claimUntil: start + 2 * day,
      expiresAt: start + 2 * day,
    };
    assert.deepEqual(await store.idempotency.begin(later), { kind: "claimed" });
  });
};

import assert from "node:assert/strict";
import type { IdempotencyClaim } from "../../../src/ports/store/idempotency.ts";
import { day, minute, start } from "./scene.ts";
import type { StoreTheme } from "./suite.ts";

const entry: IdempotencyClaim = {
  scope: "key-1 POST /v1/webhooks",
  key: "k",
  fingerprint: "f",
  now: start,
  claimUntil: start + minute,
  expiresAt: start + day,
};
const { scope, key } = entry;

export const idempotency: StoreTheme = (check) => {
  check("of calls at the same time one runs", async (store) => {
    const states = await Promise.all([1, 2, 3].map(() => store.idempotency.begin(entry)));
    assert.deepEqual(states.map(({ kind }) => kind).sort(), ["claimed", "running", "running"]);
  });

  check("repeats the answer", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.finish({ scope, key, status: 201, body: '{"id":1}' });
    const again = await store.idempotency.begin({ ...entry, now: start + day - 1 });
    assert.deepEqual(again, { kind: "finished", status: 201, body: '{"id":1}' });
  });

  check("refuses the key for another call, running or finished", async (store) => {
    await store.idempotency.begin(entry);
    assert.deepEqual(await store.idempotency.begin({ ...entry, fingerprint: "other" }), { kind: "mismatch" });
    await store.idempotency.finish({ scope, key, status: 200, body: "" });
    assert.deepEqual(await store.idempotency.begin({ ...entry, fingerprint: "other" }), { kind: "mismatch" });
  });

  check("keeps scopes apart", async (store) => {
    await store.idempotency.begin(entry);
    assert.deepEqual(await store.idempotency.begin({ ...entry, scope: "key-2" }), { kind: "claimed" });
  });

  check("forgets an abandoned claim, but not an answer", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.abandon({ scope, key });
    assert.deepEqual(await store.idempotency.begin(entry), { kind: "claimed" });
    await store.idempotency.finish({ scope, key, status: 200, body: "b" });
    await store.idempotency.abandon({ scope, key });
    assert.equal((await store.idempotency.begin(entry)).kind, "finished");
  });

  check("a claim that a crash left behind may be taken again", async (store) => {
    await store.idempotency.begin(entry);
    const later = { ...entry, now: start + minute, claimUntil: start + 2 * minute };
    assert.deepEqual(await store.idempotency.begin(later), { kind: "claimed" });
    assert.deepEqual(await store.idempotency.begin({ ...later, now: start + minute + 1 }), {
      kind: "running",
    });
  });

  check("an expired answer counts as absent, for any call", async (store) => {
    await store.idempotency.begin(entry);
    await store.idempotency.finish({ scope, key, status: 200, body: "b" });
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

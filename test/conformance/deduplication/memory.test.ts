import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryDeduplicationStore } from "../../../src/receiver/stores/memory.ts";
import { deduplicationConformance } from "./deduplication.suite.ts";

deduplicationConformance({
  name: "memory",
  open: async () => ({
    store: createMemoryDeduplicationStore(),
    elsewhere: null,
    cleanup: async () => undefined,
  }),
});

test("the memory store is bounded: results are evicted, running claims never are", async () => {
  const store = createMemoryDeduplicationStore({ entriesMax: 2 });
  const entry = { fingerprint: "f", token: "t", now: 0, expiresAt: 1_000 };
  await store.claim({ ...entry, key: "a" });
  await store.finish({ ...entry, key: "a", result: "" });
  await store.claim({ ...entry, key: "b" });
  assert.equal((await store.claim({ ...entry, key: "c" })).kind, "claimed");
  await assert.rejects(store.claim({ ...entry, key: "d" }), RangeError);
  assert.equal((await store.claim({ ...entry, key: "b" })).kind, "running");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createPostgresInboxStore,
  createPostgresInboxTable,
} from "../../../src/receiver/inbox/postgres-store.ts";
import { openOwnSchema } from "../../receiver/own-schema.fixture.ts";
import { inboxConformance } from "./inbox.suite.ts";

inboxConformance({
  name: "postgres",
  open: async () => {
    const { pool, drop } = await openOwnSchema();
    await createPostgresInboxTable(pool);
    return {
      store: createPostgresInboxStore(pool),
      elsewhere: createPostgresInboxStore(pool),
      cleanup: drop,
    };
  },
});

test("a claim neither waits for another one nor takes its message", async (t) => {
  const { pool, drop } = await openOwnSchema();
  t.after(drop);
  await createPostgresInboxTable(pool);
  const store = createPostgresInboxStore(pool);
  for (const id of ["a", "b"]) await store.put({ id, envelope: "{}", body: new Uint8Array(), dueAt: 0 });
  const claim = [1, 5, "t"] as const;

  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const open = await createPostgresInboxStore(client).claim(...claim);
    const claimed = await store.claim(...claim);
    assert.equal(await store.claim(...claim), null);
    assert.deepEqual(new Set([open?.id, claimed?.id]), new Set(["a", "b"]));
  } finally {
    client.release(true);
  }
});

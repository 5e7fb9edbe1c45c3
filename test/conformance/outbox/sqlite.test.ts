import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createSqliteOutboxStore, openSqliteOutboxStore } from "../../../src/client/outbox/sqlite-store.ts";
import { outboxConformance } from "./outbox.suite.ts";

outboxConformance({
  name: "sqlite",
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), "posthorn-outbox-"));
    const file = join(directory, "application.db");
    const application = new DatabaseSync(file);
    const stores = [openSqliteOutboxStore(file), openSqliteOutboxStore(file)] as const;
    return {
      store: stores[0],
      elsewhere: stores[1],
      transaction: async (work, end) => {
        application.exec("BEGIN IMMEDIATE");
        work(application);
        application.exec(end);
      },
      cleanup: async () => {
        for (const one of [application, ...stores]) one.close();
        await rm(directory, { recursive: true });
      },
    };
  },
});

test("an open transaction of the application postpones the outbox instead of blocking it", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-outbox-"));
  const file = join(directory, "application.db");
  const application = new DatabaseSync(file);
  const store = openSqliteOutboxStore(file);
  t.after(async () => {
    store.close();
    application.close();
    await rm(directory, { recursive: true });
  });
  application.exec("BEGIN IMMEDIATE");
  const claim = ["t", 1, 2, 1] as const;
  await assert.rejects(store.claim(...claim), /locked/);
  application.exec("COMMIT");
  assert.deepEqual(await store.claim(...claim), []);
});

test("an invalid table name is rejected", () => {
  const database = new DatabaseSync(":memory:");
  assert.throws(() => createSqliteOutboxStore(database, { table: "a; DROP TABLE b" }), TypeError);
  database.close();
});

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createTestDatabase } from "../../../../test/conformance/store/postgres-database.fixture.ts";
import { newWebhook, start } from "../../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../../test/scenarios/eventually.fixture.ts";
import type { StoreChange } from "../../../ports/store/changes.ts";
import { openPostgresStore } from "../open.ts";

/**
 * Two stores on one database, one of which cannot listen. `heard` contains the notifications that this store received.
 */
async function openScene(t: TestContext) {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const open = async (directUrl?: null) => {
    const masterKeyIds = { current: "key", previous: [] };
    const direct = directUrl === undefined ? {} : { directUrl };
    const store = await openPostgresStore({ url: database.url, ...direct, now: start, masterKeyIds });
    stack.defer(() => store.close());
    return store;
  };
  const [other, deaf] = [await open(), await open(null)];
  const heard: StoreChange[] = [];
  deaf.changes?.subscribe((change) => heard.push(change));
  const until = (count: number) =>
    eventually(`${count} changes`, { ask: async () => heard.length, holds: (length) => length >= count });
  await until(1);
  assert.deepEqual(heard.splice(0), [{ kind: "unknown" }], "what was changed before it looked first");
  const change = (id: string) => other.webhooks.save(newWebhook({ id }));
  return { database, deaf, heard, until, change };
}

const changed = (id: string): StoreChange => ({
  kind: "config",
  change: { kind: "webhooks", webhookIds: [id] },
});

test("WDS-179 a process that cannot listen reads what others changed, in order, and not what it changed itself", async (t) => {
  const { deaf, heard, until, change } = await openScene(t);
  assert.equal(deaf.changes?.carriesWork, false);
  await deaf.webhooks.save(newWebhook({ id: "own" }));
  await change("first");
  await change("second");
  await until(2);
  await change("third");
  await until(3);
  assert.deepEqual(heard, ["first", "second", "third"].map(changed));
});

test("everything is read again where an announcement is missing: it is not visible yet, or deleted", async (t) => {
  const { database, heard, until, change } = await openScene(t);
  await database.query("SELECT nextval(pg_get_serial_sequence('posthorn.config_changes', 'seq'))");
  await change("younger");
  await until(2);
  assert.deepEqual(heard, [{ kind: "unknown" }, changed("younger")]);
});

test("the last thousand announcements are kept", async (t) => {
  const { database, change } = await openScene(t);
  await database.query(
    "INSERT INTO posthorn.config_changes (payload) SELECT '' FROM generate_series(1, 1100)",
  );
  await change("last");
  const [row] = await database.query("SELECT count(*)::int AS count FROM posthorn.config_changes");
  assert.equal(row?.["count"], 1_000);
});

/** Role and database settings that change the format of values, the durability of commits, or comparisons. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  lane,
  newWebhook,
  only,
  publish,
  settled,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { startTransactionPooler } from "../../../test/conformance/store/transaction-pooler.fixture.ts";
import { columnTypes } from "./driver/driver.ts";
import { openPostgresStore } from "./open.ts";

const odd = [
  "array_nulls = off",
  "bytea_output = escape",
  "client_min_messages = error",
  "DateStyle = 'SQL, DMY'",
  "default_transaction_isolation = serializable",
  "extra_float_digits = -15",
  "IntervalStyle = sql_standard",
  "standard_conforming_strings = off",
  "synchronous_commit = off",
  "TimeZone = 'Asia/Kolkata'",
  "transform_null_equals = on",
  "xmloption = document",
];

async function openOdd(t: TestContext, pooled: boolean) {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const name = new URL(database.url).pathname.slice(1);
  for (const setting of odd) await database.query(`ALTER DATABASE ${name} SET ${setting}`);
  let { url } = database;
  if (pooled) {
    const pooler = await startTransactionPooler(database.url);
    stack.defer(() => pooler.close());
    ({ url } = pooler);
  }
  const masterKeyIds = { current: "key", previous: [] };
  const more = pooled ? { directUrl: database.url } : {};
  const store = await openPostgresStore({ url, now: start, masterKeyIds, ...more });
  stack.defer(() => store.close());
  return { database, store };
}

for (const pooled of [false, true]) {
  test(`events pass a database with odd settings unchanged${pooled ? ", behind a pooler" : ""}`, async (t) => {
    const { store } = await openOdd(t, pooled);
    const key = lane(newWebhook().id);
    // Every possible byte, including quotes and backslashes, as in a message body.
    const body = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
    const { event } = await publish(store, {
      event: { body, contentType: "application/octet-stream" },
      deliveries: [{ lane: key }, { lane: lane(newWebhook().id, "strict") }],
    });
    assert.deepEqual((await store.history.getEvent(null, event.id))?.body, body);
    const claimed = only((await claim(store, key)).deliveries);
    assert.deepEqual(claimed.body, body);
    assert.equal((await settled(store, claimed.lease)).kind, "written");
  });

  test(`commits are durable although the database says otherwise${pooled ? ", behind a pooler" : ""}`, async (t) => {
    const { database, store } = await openOdd(t, pooled);
    // A trigger records the settings in force when an event is written.
    await database.query(`CREATE TABLE public.seen (commit text, nulls text, isolation text, messages text)`);
    await database.query(`CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.seen VALUES (current_setting('synchronous_commit'), current_setting('array_nulls'),
        current_setting('transaction_isolation'), current_setting('client_min_messages')); RETURN NEW; END $$`);
    await database.query(
      "CREATE TRIGGER note BEFORE INSERT ON posthorn.events FOR EACH ROW EXECUTE FUNCTION public.note()",
    );
    await publish(store);
    assert.deepEqual(await database.query("SELECT * FROM public.seen"), [
      { commit: "on", nulls: "on", isolation: "read committed", messages: "warning" },
    ]);
  });
}

test("bytes in an unexpected format are an error, not an empty body", () => {
  const read = columnTypes.getTypeParser(17);
  assert.deepEqual(read("\\x0aff"), Uint8Array.of(10, 255));
  for (const text of ["abc", "\\000", "", "\\x0", "\\xzz"]) assert.throws(() => read(text), /bytes/, text);
});

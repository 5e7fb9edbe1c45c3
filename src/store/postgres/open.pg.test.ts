import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { inspect } from "node:util";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import { publish, start } from "../../../test/conformance/store/scene.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { migrations } from "./migrations.ts";
import { openPostgresStore, type PostgresStoreOptions, planPostgresMigrations } from "./open.ts";

async function newDatabase(t: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  return database;
}

function openHere(url: string, options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
  return openPostgresStore({ url, now: start, masterKeyIds: { current: "key-1", previous: [] }, ...options });
}

/**
 * Asserts that opening fails quickly with this problem, and that the message names the setting but not the password.
 */
async function refuses(opening: Promise<Store>, problem: string): Promise<void> {
  const begun = performance.now();
  await assert.rejects(opening, (error: Error & { readonly problem?: string }) => {
    assert.equal(error.name, "DatabaseSetupError", inspect(error));
    assert.equal(error.problem, problem);
    assert.match(error.message, /POSTHORN_DATABASE_URL/);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2/);
    return true;
  });
  assert.ok(performance.now() - begun < 100_000);
}

test("a server that does not listen, does not answer or does not exist is unreachable", async (t) => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  t.after(() => silent.close());
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port: closedPort } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, "close");
  await refuses(openHere(`postgres://u:hunter2@127.0.0.1:${closedPort}/x`), "unreachable");
  await refuses(openHere("postgres://u:hunter2@no-such-host.invalid/x"), "unreachable");
  const quick = { connectTimeoutMs: 300 };
  await refuses(openHere(`postgres://u:hunter2@127.0.0.1:${port}/x`, quick), "unreachable");
  await refuses(openHere("postgres://u:hunter2@127.0.0.1:not-a-port/x"), "invalid_url");
  await refuses(openHere("mysql://u:hunter2@127.0.0.1/x"), "invalid_url");
});

test("a missing database, a refused login and a read-only database are each reported", async (t) => {
  const database = await newDatabase(t);
  const missing = new URL(database.url);
  missing.pathname = "/no_such_database";
  missing.password = "hunter2";
  await refuses(openHere(missing.href), "missing");
  const unknownUser = new URL(database.url);
  unknownUser.username = "no_such_user";
  unknownUser.password = "hunter2";
  await refuses(openHere(unknownUser.href), "login_refused");
  const { pathname } = new URL(database.url);
  await database.query(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`);
  await refuses(openHere(database.url), "read_only");
});

/** A message of the PostgreSQL protocol: a type letter, a length that includes itself, and the content. */
function wireMessage(type: string, content: string): Buffer {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(Buffer.byteLength(content) + 4, 1);
  return Buffer.concat([head, Buffer.from(content)]);
}

for (const { name, answer, problem } of [
  {
    name: "that requires a feature that the client lacks",
    answer: wireMessage("R", "\0\0\0\nANOTHER-MECHANISM\0\0"),
    problem: "login_refused",
  },
  { name: "that is none", answer: wireMessage("d", "hello"), problem: "unreachable" },
]) {
  test(`the connection to a server ${name} is closed at once, so that the program can end`, async (t) => {
    const left = Promise.withResolvers<null>();
    const server = createServer((socket) => {
      socket.once("data", () => socket.write(answer));
      socket.on("error", () => undefined);
      socket.on("close", () => left.resolve(null));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    await refuses(openHere(`postgres://u:hunter2@127.0.0.1:${port}/x`), problem);
    await left.promise;
  });
}

test("processes that open an empty database at once migrate it once", async (t) => {
  const database = await newDatabase(t);
  const stores = await Promise.all(Array.from({ length: 5 }, () => openHere(database.url)));
  const rows = await database.query("SELECT number FROM posthorn.migrations ORDER BY number");
  assert.deepEqual(
    rows.map(({ number }) => number),
    migrations.map(({ number }) => number),
  );
  const owners = await database.query("SELECT last_value::int AS last FROM posthorn.owners");
  assert.deepEqual(owners, [{ last: 5 }]);
  for (const store of stores) await store.close();
});

test("the plan shows what opening would migrate, and writes nothing", async (t) => {
  const database = await newDatabase(t);
  const plan = async () => {
    const { from, pending } = await planPostgresMigrations({ url: database.url });
    return { from, pending: pending.map(({ name }) => name) };
  };
  assert.deepEqual(await plan(), { from: 0, pending: migrations.map(({ name }) => name) });
  assert.deepEqual(await database.query("SELECT to_regnamespace('posthorn')::text AS schema"), [
    { schema: null },
  ]);
  await (await openHere(database.url)).close();
  assert.deepEqual(await plan(), { from: migrations.at(-1)?.number, pending: [] });
});

for (const { name, sql } of [
  { name: "SchemaTooNewError", sql: "INSERT INTO posthorn.migrations VALUES (99, 'future', 'x', 0)" },
  {
    name: "DevelopmentSchemaError",
    sql: `UPDATE posthorn.migrations SET name = 'initial', checksum = '590b6421767e62af';
      INSERT INTO posthorn.migrations SELECT number, 'step', 'x', 0 FROM generate_series(2, 24) number`,
  },
]) {
  test(`refuses a database with ${name}`, async (t) => {
    const database = await newDatabase(t);
    await (await openHere(database.url)).close();
    await database.query(sql);
    const rows = await database.query("SELECT * FROM posthorn.migrations");
    await assert.rejects(openHere(database.url), { name });
    await assert.rejects(planPostgresMigrations({ url: database.url }), { name });
    assert.deepEqual(await database.query("SELECT * FROM posthorn.migrations"), rows);
  });
}

test("a deployment with another master key is refused, one that rotated it is accepted", async (t) => {
  const database = await newDatabase(t);
  const open = (current: string, previous: readonly string[] = []) =>
    openHere(database.url, { masterKeyIds: { current, previous } });
  await (await open("key-1")).close();
  await assert.rejects(open("key-2"), { name: "DifferentMasterKeyError" });
  await (await open("key-2", ["key-1"])).close();
  await (await open("key-2")).close();
  await assert.rejects(open("key-1"), { name: "DifferentMasterKeyError" });
});

test("works in a schema that an administrator created for a user without further rights", async (t) => {
  const database = await createTestDatabase();
  const role = `posthorn_role_${process.pid}`;
  t.after(async () => {
    await database.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
    await database.drop();
  });
  await database.query(`CREATE ROLE ${role} LOGIN; CREATE SCHEMA posthorn AUTHORIZATION ${role}`);
  const url = new URL(database.url);
  url.username = role;
  const store = await openHere(url.href);
  await publish(store);
  await store.close();
  await database.query("DROP SCHEMA posthorn CASCADE");
  await refuses(openHere(url.href), "no_permission");
});

test("a store never exceeds its number of connections, even under load", async (t) => {
  const database = await newDatabase(t);
  const store = await openHere(database.url, { connectionsMax: 4 });
  t.after(() => store.close());
  t.after(store.changes?.subscribe(() => undefined));
  const connections = `SELECT count(*)::int AS held FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'posthorn%' AND pid <> pg_backend_pid()`;
  const counting = Array.from({ length: 60 }, async (_, index) => {
    if (index % 3 === 0) await publish(store);
    else await (index % 3 === 1 ? store.ping() : store.history.listAttempts("none"));
  });
  const seen: unknown[] = [];
  for (let look = 0; look < 10; look += 1) seen.push((await database.query(connections))[0]?.["held"]);
  await Promise.all(counting);
  seen.push((await database.query(connections))[0]?.["held"]);
  assert.equal(Math.max(...seen.map(Number)), 4, `held ${seen.join(", ")}`);
});

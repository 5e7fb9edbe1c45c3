import assert from "node:assert/strict";
import { once } from "node:events";
import { fork } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import {
  claim,
  commit,
  lane,
  publish,
  publishCommand,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { backupSqliteStore } from "./driver/backup.ts";
import { DataFolderInUseError } from "./driver/errors.ts";
import { migrate, migrations, planMigrations } from "./migrations.ts";
import { databaseFile, openSqliteStore, planStoreMigrations } from "./open.ts";

async function newFolder(t: TestContext): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-sqlite-"));
  t.after(() => rm(dataDir, { recursive: true }));
  return dataDir;
}

function openHere(dataDir: string): Promise<Store> {
  return openSqliteStore({ dataDir, now: start, pid: process.pid, busyTimeoutMs: 0 });
}

test("a claim of an answer of the gateway ends with its process, an answer stays", async (t) => {
  const dataDir = await newFolder(t);
  const first = await openHere(dataDir);
  const claimOf = (key: string, token: string) => ({
    key,
    token,
    fingerprint: "f",
    now: start,
    expiresAt: start + 60_000,
  });
  await first.gateway.answers.claim(claimOf("under way", "1"));
  await first.gateway.answers.claim(claimOf("answered", "2"));
  await first.gateway.answers.finish({ ...claimOf("answered", "2"), result: "done" });
  assert.equal((await first.gateway.answers.claim(claimOf("under way", "3"))).kind, "running");
  await first.close();
  const second = await openHere(dataDir);
  t.after(() => second.close());
  const { answers } = second.gateway;
  assert.deepEqual(await answers.claim(claimOf("answered", "4")), { kind: "completed", result: "done" });
  assert.equal((await answers.claim(claimOf("under way", "4"))).kind, "claimed");
  assert.equal((await answers.claim(claimOf("under way", "5"))).kind, "running");
});

test("a second owner is refused with the folder and the pid of the first, also after kill -9 of it", async (t) => {
  const dataDir = await newFolder(t);
  const owner = fork(join(import.meta.dirname, "owner-process.fixture.ts"), [dataDir]);
  t.after(() => owner.kill("SIGKILL"));
  const [message] = await once(owner, "message");
  assert.equal(message, "owns");
  await assert.rejects(openHere(dataDir), (error) => {
    assert.ok(error instanceof DataFolderInUseError);
    assert.equal(error.dataDir, dataDir);
    assert.equal(error.ownerPid, owner.pid);
    return true;
  });
  // The process died while it held leases, just after it had accepted a publish.
  owner.kill("SIGKILL");
  await once(owner, "exit");
  const store = await openHere(dataDir);
  const { deliveries } = await claim(store, lane("webhook-1"));
  assert.equal(deliveries.length, 1);
  await store.close();
});

test("one process cannot open a folder twice, and can open it again after close", async (t) => {
  const dataDir = await newFolder(t);
  const first = await openHere(dataDir);
  await assert.rejects(openHere(dataDir), DataFolderInUseError);
  await first.ping();
  await first.close();
  await (await openHere(dataDir)).close();
});

test("creates the folder, and reports one that cannot be created", async (t) => {
  const dataDir = await newFolder(t);
  await (await openHere(join(dataDir, "a", "b"))).close();
  await writeFile(join(dataDir, "file"), "");
  await assert.rejects(openHere(join(dataDir, "file")), { code: "EEXIST" });
});

/** The rows that the last development version left. That version had one migration per step. */
const developmentRows = `UPDATE migrations SET name = 'initial', checksum = '4747a15a72ebc418';
  INSERT INTO migrations SELECT value, 'step', 'x', 0 FROM json_each('[2,3,4]')`;

test("refuses newer and development schemas and files of other programs, and leaves them as they are", async (t) => {
  const cases = [
    { name: "SchemaTooNewError", sql: "INSERT INTO migrations VALUES (99, 'future', 'x', 0)" },
    { name: "DevelopmentSchemaError", sql: developmentRows },
    { name: "ForeignDatabaseError", sql: "PRAGMA application_id = 7" },
  ];
  for (const { name, sql } of cases) {
    const dataDir = await newFolder(t);
    await (await openHere(dataDir)).close();
    execute(dataDir, sql);
    await assert.rejects(openHere(dataDir), { name });
    assert.throws(() => planStoreMigrations(dataDir), { name });
    // Opening again fails with the same error, which shows that the lock was released.
    await assert.rejects(openHere(dataDir), { name });
  }
});

test("refuses a foreign database without touching it, and a file that is not a database", async (t) => {
  const dataDir = await newFolder(t);
  execute(dataDir, "CREATE TABLE theirs (a)");
  await assert.rejects(openHere(dataDir), { name: "ForeignDatabaseError" });
  assert.equal(journalMode(dataDir), "delete");
  await writeFile(
    databaseFile(dataDir),
    "not a database at all, but long enough to have a header".repeat(99),
  );
  await assert.rejects(openHere(dataDir), { name: "ForeignDatabaseError" });
});

test("plans migrations without creating anything", async (t) => {
  const dataDir = await newFolder(t);
  const numbers = migrations.map(({ number }) => number);
  const from = numbers.at(-1);
  assert.deepEqual(planNumbers(dataDir), { from: 0, pending: numbers });
  const store = await openHere(dataDir);
  assert.deepEqual(planNumbers(dataDir), { from, pending: [] });
  await store.close();
  assert.deepEqual(planNumbers(dataDir), { from, pending: [] });
});

test("a failed migration leaves nothing behind, and continues once it is fixed", (t) => {
  const db = new DatabaseSync(":memory:");
  t.after(() => db.close());
  const next = { number: migrations.length + 1, name: "next" };
  const broken = { ...next, sql: "CREATE TABLE half (id);\nSELECT no_such_function();\n" };
  assert.throws(() => migrate(db, start, [...migrations, broken]), /no_such_function/);
  assert.equal(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get(), undefined);
  const whole = { ...next, sql: "CREATE TABLE half (id);\n" };
  const known = [...migrations, whole];
  assert.deepEqual(migrate(db, start, known), { from: migrations.length, pending: [whole] });
  assert.deepEqual(planMigrations(db, known), { from: next.number, pending: [] });
});

test("uses the settings that durability rests on", async (t) => {
  const dataDir = await newFolder(t);
  const store = await openHere(dataDir);
  await store.close();
  assert.equal(journalMode(dataDir), "wal");
});

test("copies the store while its owner works, whole or not at all", async (t) => {
  const dataDir = await newFolder(t);
  const copyDir = join(dataDir, "copy");
  await mkdir(copyDir);
  const store = await openHere(dataDir);
  const { event } = await publish(store);
  const file = databaseFile(copyDir);
  const copying = backupSqliteStore(dataDir, file);
  await commit(store, { publishes: Array.from({ length: 50 }, () => publishCommand()) });
  await copying;
  await assert.rejects(backupSqliteStore(dataDir, file), /already exists/);
  await store.close();
  const copy = await openHere(copyDir);
  assert.equal((await copy.history.getEvent(null, event.id))?.id, event.id);
  await copy.close();
});

function execute(dataDir: string, sql: string): void {
  const db = new DatabaseSync(databaseFile(dataDir));
  db.exec(sql);
  db.close();
}

function journalMode(dataDir: string): unknown {
  const db = new DatabaseSync(databaseFile(dataDir), { readOnly: true });
  const row = db.prepare("PRAGMA journal_mode").get();
  db.close();
  return row?.["journal_mode"];
}

function planNumbers(dataDir: string): { from: number; pending: readonly number[] } {
  const { from, pending } = planStoreMigrations(dataDir);
  return { from, pending: pending.map(({ number }) => number) };
}

test("a call that died with its process frees its key as soon as the folder is opened again", async (t) => {
  const dataDir = await newFolder(t);
  const entry = {
    scope: "s",
    key: "k",
    claimToken: "a",
    fingerprint: "f",
    now: start,
    claimUntil: start + 60_000,
    expiresAt: start + 3_600_000,
  };
  const first = await openHere(dataDir);
  assert.deepEqual(await first.idempotency.begin(entry), { kind: "claimed" });
  await first.close();
  const second = await openHere(dataDir);
  t.after(() => second.close());
  assert.deepEqual(await second.idempotency.begin({ ...entry, claimToken: "b", fingerprint: "other" }), {
    kind: "mismatch",
  });
  assert.deepEqual(await second.idempotency.begin({ ...entry, claimToken: "b" }), { kind: "claimed" });
  assert.deepEqual(await second.idempotency.begin({ ...entry, claimToken: "c" }), { kind: "running" });
});

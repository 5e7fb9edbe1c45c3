/** An emptied or removed database file is not mistaken for a new installation, and its WAL is kept. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { publish, start } from "../../../test/conformance/store/scene.fixture.ts";
import { backupSqliteStore } from "./driver/backup.ts";
import { markMoved } from "./move/moving-rows.ts";
import { openSqliteMoveSource, openSqliteMoveTarget } from "./move/open-moving.ts";
import { databaseFile, openSqliteStore, planStoreMigrations } from "./open.ts";

/** A folder in the state that a killed process leaves: the last event is only in the WAL. */
async function killedFolder(t: TestContext): Promise<string> {
  const [served, folder] = [1, 2].map(() => mkdtempSync(join(tmpdir(), "posthorn-emptied-"))) as [
    string,
    string,
  ];
  t.after(() => {
    for (const each of [served, folder]) rmSync(each, { recursive: true, force: true });
  });
  const store = await openSqliteStore({ dataDir: served, now: start, pid: process.pid });
  await publish(store);
  for (const ending of ["", "-wal"])
    copyFileSync(databaseFile(served) + ending, databaseFile(folder) + ending);
  await store.close();
  assert.ok(statSync(`${databaseFile(folder)}-wal`).size > 0);
  return folder;
}

/** Everything that opens the file for reading or writing. */
const openings: Readonly<Record<string, (dataDir: string) => unknown>> = {
  "a start": (dataDir) => openSqliteStore({ dataDir, now: start, pid: process.pid }),
  "a migration preview": (dataDir) => planStoreMigrations(dataDir),
  "a backup": (dataDir) => backupSqliteStore(dataDir, join(dataDir, "copy.db")),
  "a preview of a move": (dataDir) => openSqliteMoveSource(dataDir, true),
  "a move away": (dataDir) => openSqliteMoveSource(dataDir, false),
  "a move into it": (dataDir) =>
    openSqliteMoveTarget({ dataDir, now: start, pid: process.pid, source: "elsewhere" }),
  "the mark of a move": (dataDir) => markMoved(databaseFile(dataDir), null),
};

for (const [name, open] of Object.entries(openings)) {
  for (const [what, damage] of [
    ["emptied", (file: string) => truncateSync(file, 0)],
    ["removed", (file: string) => rmSync(file)],
  ] as const) {
    test(`${name} refuses a database file that was ${what}, and leaves its WAL as it is`, async (t) => {
      const folder = await killedFolder(t);
      const file = databaseFile(folder);
      damage(file);
      const wal = readFileSync(`${file}-wal`);
      await assert.rejects(async () => open(folder), {
        name: "EmptiedDatabaseError",
        message: new RegExp(`${wal.length} bytes of its last changes.*restore the file or a backup`),
      });
      assert.deepEqual(readFileSync(`${file}-wal`), wal);
      assert.equal(existsSync(file) && statSync(file).size > 0, false);
    });
  }
}

test("an empty file without a WAL is refused with what to do, and none at all is a new installation", async (t) => {
  const folder = await killedFolder(t);
  const file = databaseFile(folder);
  rmSync(`${file}-wal`);
  truncateSync(file, 0);
  const options = { dataDir: folder, now: start, pid: process.pid };
  await assert.rejects(openSqliteStore(options), { message: /is empty \(0 bytes\).*delete the file/ });
  rmSync(file);
  const store = await openSqliteStore(options);
  await store.close();
});

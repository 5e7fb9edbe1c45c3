import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createInbox } from "../../src/receiver/inbox/inbox.ts";
import { createSqliteInboxStore } from "../../src/receiver/inbox/sqlite-store.ts";
import { createSqliteDeduplicationStore } from "../../src/receiver/stores/sqlite.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { nowMs } from "./messages.fixture.ts";

const program = fileURLToPath(new URL("crashing-receiver.fixture.ts", import.meta.url));

/** Runs a receiver until its handler hangs, kills it, and opens its data. */
async function killInHandler(t: TestContext, mode: "handler" | "inbox"): Promise<DatabaseSync> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-crash-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, "application.db");
  const child = spawn(process.execPath, [program, file, mode], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes("handler") && (mode === "handler" || said.includes("202"))) break;
  }
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  const database = new DatabaseSync(file);
  t.after(() => database.close());
  return database;
}

test("the claim of a killed process is valid until it expires, and then the repeat runs", async (t) => {
  const database = await killInHandler(t, "handler");
  const store = createSqliteDeduplicationStore(database);
  const { send, seen } = endpointWith({ deduplication: { store, claimMs: 300_000 } });
  assert.equal((await send()).status, 409);
  seen.now = nowMs + 299_999;
  assert.equal((await send()).status, 409);
  seen.now = nowMs + 300_000;
  assert.deepEqual([(await send()).status, seen.runs], [204, 1]);
});

test("a message answered with 202 survives a kill in the middle of its processing", async (t) => {
  const database = await killInHandler(t, "inbox");
  const handled: [string | null, number][] = [];
  let now = nowMs + 299_999;
  const inbox = createInbox({
    store: createSqliteInboxStore(database),
    handler: ({ key, attempt }) => void handled.push([key, attempt]),
    now: () => now,
  });
  assert.equal(await inbox.runDue(), 0);
  now = nowMs + 300_000;
  assert.equal(await inbox.runDue(), 1);
  assert.deepEqual(handled, [["key-1", 2]]);
});

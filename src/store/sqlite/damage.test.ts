import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  claim,
  commit,
  lane,
  newAttempt,
  newWebhook,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { eventSearchOf } from "../../../test/conformance/store/search-model.fixture.ts";
import { type Store, StoreUnavailableError } from "../../ports/store.ts";
import { databaseFile, openSqliteStore } from "./open.ts";

const pageBytes = 8192;

async function newFolder(t: TestContext): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-damage-"));
  t.after(() => rm(dataDir, { recursive: true }));
  return dataDir;
}

function openHere(dataDir: string): Promise<Store> {
  return openSqliteStore({ dataDir, now: start, pid: process.pid, busyTimeoutMs: 0 });
}

/** Rows in every table, and bodies long enough for separate pages. */
async function furnish(store: Store): Promise<void> {
  const body = new TextEncoder().encode(JSON.stringify({ filling: "x".repeat(20_000) }));
  for (let index = 0; index < 3; index += 1) {
    const webhook = newWebhook({ id: `webhook-${index + 1}` });
    await store.webhooks.save(webhook, {
      secrets: [
        {
          kind: "symmetric",
          ciphertext: new Uint8Array(60),
          digest: `d${index}`,
          createdAt: start,
          expiresAt: null,
        },
      ],
    });
    await publish(store, { event: { body, idempotencyKey: `key-${index}`, fingerprint: "f" } });
    await publishSettled(
      store,
      {},
      { attempt: newAttempt(), progress: progressed({ state: "failed", dueAt: start }) },
    );
  }
}

/** Runs in another process, because closing a file here would release SQLite's locks on it. */
function overwrite(file: string, page: number): void {
  const script =
    'dd if=/dev/zero bs="$3" count=1 2>/dev/null | tr "\\0" "\\377" | dd of="$1" bs="$3" seek="$2" conv=notrunc 2>/dev/null';
  execFileSync("sh", ["-c", script, "sh", file, String(page), String(pageBytes)]);
}

/**
 * Store calls that a running Posthorn makes. After the damage, each one must either complete or be rejected as
 * unavailable.
 */
const questions: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  publish: (store) => publish(store, { event: { idempotencyKey: "key-1", fingerprint: "f" } }),
  publishNew: (store) => publish(store, { deliveries: [{ lane: lane("webhook-9") }] }),
  claimAndSettle: async (store) => {
    const { deliveries } = await claim(store, lane("webhook-1"), { now: start + 60_000 });
    await commit(store, { settlements: deliveries.map(({ lease }) => settlement(lease)) });
  },
  webhooks: (store) => store.webhooks.page(null, 100),
  tenants: (store) => store.registry.tenants(),
  apiKeys: (store) => store.registry.apiKeys(),
  events: (store) => store.history.searchEvents(eventSearchOf()),
  depth: (store) => store.deliveries.depth(),
  lanes: (store) => store.deliveries.lanesWithWork(null, 100),
  expire: (store) =>
    store.upkeep.expire({ now: start, limit: 10, ageMsByWebhook: new Map(), ageMsDefault: 1 }),
  retention: (store) => store.upkeep.forgetHistory({ createdBefore: start + 1, now: start + 1, limit: 10 }),
  keys: (store) => store.upkeep.forgetKeys(start, 10),
};

test("whichever page is destroyed, a start or a call says that the database is damaged, and nothing else goes wrong", async (t) => {
  const original = await newFolder(t);
  const store = await openHere(original);
  await furnish(store);
  await store.close();
  const pages = readFileSync(databaseFile(original)).length / pageBytes;
  assert.ok(pages > 20, `${pages} pages`);
  let met = 0;
  for (let page = 0; page < pages; page += 1) {
    const dataDir = await newFolder(t);
    copyFileSync(databaseFile(original), databaseFile(dataDir));
    overwrite(databaseFile(dataDir), page);
    const damaged = await meets(dataDir, page);
    if (damaged) met += 1;
  }
  t.diagnostic(`${met} of ${pages} pages are needed by a start or by these calls`);
  assert.ok(met > pages / 3);
});

/** Whether any call detected the damage. */
async function meets(dataDir: string, page: number): Promise<boolean> {
  let store: Store;
  try {
    store = await openHere(dataDir);
  } catch (error) {
    assertDamaged(error, `open with page ${page}`);
    return true;
  }
  let refused = false;
  try {
    for (const [name, question] of Object.entries(questions)) {
      try {
        await question(store);
      } catch (error) {
        assertDamaged(error, `${name} with page ${page}`);
        refused = true;
      }
    }
    if (refused) await assertGivesUp(store);
  } finally {
    await store.close();
  }
  return refused;
}

function assertDamaged(error: unknown, what: string): void {
  const { name, stack } = error as Error;
  assert.ok(name === "StoreUnavailableError" || name === "ForeignDatabaseError", `${what}: ${stack}`);
  if (error instanceof StoreUnavailableError) assert.equal(error.trouble, "damaged", `${what}: ${stack}`);
}

/** After detecting the damage, the store reports it when queried and refuses all writes that might be lost. */
async function assertGivesUp(store: Store): Promise<void> {
  const isDamaged = { name: "StoreUnavailableError", trouble: "damaged" };
  await assert.rejects(store.ping(), isDamaged);
  await assert.rejects(commit(store, { publishes: [publishCommand()] }), isDamaged);
}

test("damage during operation is reported by the next call that reads it", async (t) => {
  const dataDir = await newFolder(t);
  await furnishAndClose(dataDir);
  const store = await openHere(dataDir);
  t.after(() => store.close());
  const file = databaseFile(dataDir);
  const pages = readFileSync(file).length / pageBytes;
  for (let page = 1; page < pages; page += 1) overwrite(file, page);
  let refused = 0;
  for (const question of Object.values(questions)) {
    await question(store).catch((error: unknown) => {
      assertDamaged(error, "a call");
      refused += 1;
    });
  }
  assert.ok(refused > 0);
  await assertGivesUp(store);
});

async function furnishAndClose(dataDir: string): Promise<void> {
  const store = await openHere(dataDir);
  await furnish(store);
  await store.close();
}

test("a truncated, meaningless or foreign database is refused as such", async (t) => {
  for (const spoil of [
    (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
    (bytes: Buffer) => Buffer.concat([Buffer.alloc(pageBytes, 7), bytes.subarray(pageBytes)]),
    (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(4_000, 9), bytes.subarray(4_100)]),
  ]) {
    const dataDir = await newFolder(t);
    await furnishAndClose(dataDir);
    const file = databaseFile(dataDir);
    writeFileSync(file, spoil(readFileSync(file)));
    await assert.rejects(openHere(dataDir), (error) => {
      assertDamaged(error, "open");
      return true;
    });
  }
});

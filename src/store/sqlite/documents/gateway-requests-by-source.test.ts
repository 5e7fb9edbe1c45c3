import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { start } from "../../../../test/conformance/store/scene.fixture.ts";
import { uuidV7Floor } from "../../../domain/uuid.ts";
import { everyRequest, type ReceivedRequest } from "../../../ports/store/gateway.ts";
import type { Store } from "../../../ports/store.ts";
import { SearchBudget } from "../../../ports/clock.ts";
import { movedParts } from "../../moved-parts.ts";
import { openSqliteMoveTarget } from "../move/open-moving.ts";
import { databaseFile, openSqliteStore } from "../open.ts";

const lineOf = (number: number, sourceId: string): ReceivedRequest => ({
  id: uuidV7Floor(start + number),
  tenantId: "acme",
  sourceId,
  receivedAt: start + number,
  method: "POST",
  path: "/in/…",
  headers: [],
  bodyBytes: 1,
  status: 202,
  outcome: "accepted",
  cause: null,
  detail: null,
  durationMs: 1,
  scheme: "v1",
  eventType: "a.b",
  originalType: null,
  eventId: null,
  forwards: [],
  sealedHeaders: null,
  bookmark: null,
  body: null,
  more: 0,
});

async function folder(t: TestContext): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-by-source-"));
  t.after(() => rm(dataDir, { recursive: true }));
  return dataDir;
}

const opened = (dataDir: string): Promise<Store> =>
  openSqliteStore({ dataDir, now: start, pid: process.pid });

/** The times of the log entries found for a source, relative to the start. */
async function foundOf(store: Store, sourceId: string): Promise<readonly number[]> {
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 100_000, durationMsMax: 1_000 });
  const filter = { ...everyRequest, sourceId };
  const { rows } = await store.gateway.searchRequests({ filter, after: null, limit: 10_000, budget });
  return rows.map(({ receivedAt }) => receivedAt - start);
}

function countOf(dataDir: string, table: "by_source" | "unfiled"): unknown {
  const db = new DatabaseSync(databaseFile(dataDir), { readOnly: true });
  try {
    return db.prepare(`SELECT count(*) AS count FROM gateway_requests_${table}`).get()?.["count"];
  } finally {
    db.close();
  }
}

test("lines wait for the index by source until there are many, and not forever", async (t) => {
  const dataDir = await folder(t);
  const store = await opened(dataDir);
  t.after(() => store.close());
  const add = (from: number, to: number) =>
    store.gateway.addRequests(
      Array.from({ length: to - from }, (_, index) => lineOf(from + index, `s${index % 7}`)),
    );
  await add(0, 1_000);
  assert.deepEqual([countOf(dataDir, "by_source"), countOf(dataDir, "unfiled")], [0, 1_000]);
  await add(1_000, 1_100);
  assert.deepEqual([countOf(dataDir, "by_source"), countOf(dataDir, "unfiled")], [1_024, 76]);
  const found = await Promise.all(Array.from({ length: 7 }, (_, index) => foundOf(store, `s${index}`)));
  assert.equal(found.flat().length, 1_100);
  assert.deepEqual([countOf(dataDir, "by_source"), countOf(dataDir, "unfiled")], [1_100, 0]);
});

test("lines that wait for the index are found after a restart", async (t) => {
  const dataDir = await folder(t);
  const before = await opened(dataDir);
  await before.gateway.addRequests([lineOf(1, "s"), lineOf(2, "t"), lineOf(3, "s")]);
  await before.close();
  const store = await opened(dataDir);
  t.after(() => store.close());
  await store.gateway.addRequests([lineOf(4, "s")]);
  const recent = await store.gateway.recentOutcomes({ sourceIds: ["s"], limit: 2 });
  assert.deepEqual(
    recent.map(({ count, lastReceivedAt }) => [count, lastReceivedAt - start]),
    [[2, 4]],
  );
  assert.deepEqual(await foundOf(store, "s"), [4, 3, 1]);
});

test("lines removed by retention leave the index by source too, filed or not", async (t) => {
  const dataDir = await folder(t);
  const store = await opened(dataDir);
  t.after(() => store.close());
  await store.gateway.addRequests([lineOf(1, "s"), lineOf(2, "t")]);
  assert.deepEqual(await foundOf(store, "s"), [1]);
  await store.gateway.addRequests([lineOf(3, "s"), lineOf(10, "s")]);
  const step = await store.gateway.forgetRequests({ before: start + 5, bodiesBefore: start, limit: 10 });
  assert.deepEqual(step, { changed: 3, more: false });
  assert.deepEqual([countOf(dataDir, "by_source"), countOf(dataDir, "unfiled")], [1, 0]);
  assert.deepEqual(await foundOf(store, "s"), [10]);
});

test("a log that came from another store is in the index by source", async (t) => {
  const dataDir = await folder(t);
  const target = await openSqliteMoveTarget({ dataDir, now: start, pid: process.pid, source: "elsewhere" });
  const part = movedParts.find(({ name }) => name === "gateway_requests");
  assert.ok(part !== undefined);
  const lines = [lineOf(1, "s"), lineOf(2, "t"), lineOf(3, "s")];
  const rows = lines.map((line) => {
    const { id, tenantId, sourceId, receivedAt, status, outcome } = line;
    return [id, tenantId, sourceId, receivedAt, status, outcome, null, null, JSON.stringify(line), null];
  });
  const upTo = [lineOf(3, "s").id];
  const all = { after: null, upTo, number: 0, rows: rows.length, digest: "", fingerprint: "" };
  await target.replace(part, all, rows);
  await target.finish();
  await target.close();
  const store = await opened(dataDir);
  t.after(() => store.close());
  assert.deepEqual(await foundOf(store, "s"), [3, 1]);
});

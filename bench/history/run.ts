// Measures queries on a long history. See docs/benchmarks.md.
//
//   node --conditions=posthorn-source bench/history/run.ts [--deliveries 1000000] [--webhooks 10000]
//        [--store sqlite|postgres] [--folder FOLDER] [--kept FOLDER]

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import type { Store } from "../../src/ports/store.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { createKeyRing, createSecretBox, masterKeyId } from "../../src/system/keys/secret-box.ts";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { PosthornProcess, serverUnderTest } from "../../test/scenarios/posthorn-process.fixture.ts";
import { percentile } from "../measure.ts";
import { parentOf, treeCpuMs } from "../process/process-tree.ts";
import { HistoryLoader, tenantIds } from "./load.ts";

const { values: options } = parseArgs({
  options: {
    deliveries: { type: "string", default: "1000000" },
    webhooks: { type: "string", default: "10000" },
    store: { type: "string", default: "both" },
    folder: { type: "string", default: tmpdir() },
    kept: { type: "string" },
  },
});

const { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP } = serverUnderTest;
const masterKey = Buffer.from(POSTHORN_MASTER_KEY, "base64");
const random = { bytes: randomBytes, uniform: Math.random };
const secretBox = createSecretBox(createKeyRing(masterKey, [], random), randomBytes(32));
/** Process ID of the parent of PostgreSQL's processes; null without PostgreSQL. */
let postmaster: number | null = null;

// ---- stores ------------------------------------------------------------------------------------------------------

async function runSqlite(): Promise<void> {
  const dataDir = join(folder, "sqlite");
  const isLoaded = existsSync(dataDir);
  await mkdir(dataDir, { recursive: true });
  const open = () => openSqliteStore({ dataDir, now: Date.now(), pid: process.pid });
  await run("sqlite", dataDir, {}, isLoaded ? null : open);
}

async function runPostgres(): Promise<void> {
  const dataDir = join(folder, "postgres");
  const addressFile = join(folder, "database.url");
  await mkdir(dataDir, { recursive: true });
  const database = existsSync(addressFile) ? null : await createTestDatabase();
  const url = database?.url ?? (await readFile(addressFile, "utf8"));
  const masterKeyIds = { current: masterKeyId(masterKey), previous: [] };
  const open = () => openPostgresStore({ url, now: Date.now(), masterKeyIds });
  postmaster = await postmasterOf(url);
  try {
    await run("postgres", dataDir, { POSTHORN_DATABASE_URL: url }, database === null ? null : open);
    if (options.kept !== undefined) await writeFile(addressFile, url);
  } finally {
    if (options.kept === undefined) await database?.drop();
  }
}

/** Null if PostgreSQL runs on another machine. */
async function postmasterOf(url: string): Promise<number | null> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ readonly pid: number }>("SELECT pg_backend_pid() AS pid");
  const parent = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return parent;
}

/**
 * Starts the server once to create its keys, then writes the history. `open` is null if the store already has a
 * history.
 */
async function run(
  name: string,
  dataDir: string,
  more: Readonly<Record<string, string>>,
  open: (() => Promise<Store>) | null,
): Promise<void> {
  const env = { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP, ...more };
  const server = await PosthornProcess.start({ dataDir, env });
  if (open !== null) {
    for (const tenantId of tenantIds) await server.call("PUT", `/v1/tenants/${tenantId}`, {});
    await server.stop();
    await load(open);
    const startedAt = performance.now();
    await server.start();
    console.log(`${name}: started in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  }
  try {
    await measure(name, server);
  } finally {
    await server.stop();
  }
}

async function load(open: () => Promise<Store>): Promise<void> {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  const shape = { deliveries: Number(options.deliveries), webhooks: Number(options.webhooks) };
  const store = await open();
  const written = await new HistoryLoader(store, { ...shape, endsAt: Date.now() }).write(secretBox);
  await store.close();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const cpuSeconds = Math.round((user + system) / 1e6);
  console.log(
    `${written} deliveries of ${shape.webhooks} webhooks loaded in ${seconds} s (${cpuSeconds} s of processor time here)`,
  );
}

// ---- queries -----------------------------------------------------------------------------------------------------

/** The dashboard's overview queries for the last day. */
const overviewQuestions: readonly string[] = [
  "/v1/deliveries?limit=10&include=last_attempt,webhook",
  "/v1/deliveries?limit=50&status=failed&include=last_attempt,webhook",
  "/v1/webhooks?active=false&limit=50",
  "/v1/dlq?limit=250",
  "/v1/events?limit=1",
  "/v1/problems?state=open&state=recovering&limit=50",
  "/readyz",
  "/v1/stats/deliveries?measures=attempts,accepted,transient,terminal,duration_ms_p50,duration_ms_p95,lag_ms_p95,success,exhausted",
  "/v1/stats/events",
  "/v1/stats/gauges",
  "/v1/webhooks?sort=failure_rate&limit=6&include=stats,backlog",
];

/** The first page of every list, with common filters. `{webhook}` is a webhook from the history. */
const listQuestions: readonly string[] = [
  "/v1/deliveries?limit=50",
  "/v1/deliveries?limit=250&include=last_attempt,webhook",
  "/v1/deliveries?order=oldest",
  "/v1/deliveries?order=next_attempt",
  "/v1/deliveries?status=failed",
  "/v1/deliveries?status=exhausted",
  "/v1/deliveries?status=cancelled",
  "/v1/deliveries?http_status=5xx",
  "/v1/deliveries?http_status=422",
  "/v1/deliveries?http_status=418",
  "/v1/deliveries?failure_category=timeout",
  "/v1/deliveries?error=rule",
  "/v1/deliveries?error=never-written",
  "/v1/deliveries?event_type=order.*",
  "/v1/deliveries?event_type=never.*",
  "/v1/deliveries?waiting_for=schedule",
  "/v1/deliveries?tenant_id=tenant-7",
  "/v1/deliveries?webhook_id={webhook}",
  "/v1/deliveries?webhook_id={webhook}&status=exhausted",
  "/v1/webhooks/{webhook}/deliveries?limit=20",
  "/v1/events?limit=50",
  "/v1/events?source=shop",
  "/v1/events?event_type=stock.low",
  "/v1/events?unmatched=true",
  "/v1/events?data_contains=never-written",
  "/v1/webhooks?limit=50&include=stats,backlog",
  "/v1/webhooks?limit=250&include=stats",
  "/v1/webhooks?q=customer-77",
  "/v1/webhooks?failing=true",
  "/v1/webhooks?sort=last_failure&include=stats,backlog",
  "/v1/webhooks?sort=failure_rate&include=stats,backlog",
  "/v1/webhooks?sort=backlog&include=stats,backlog",
  "/v1/dlq?limit=50",
  "/v1/dlq?webhook_id={webhook}",
  "/v1/problems",
  "/v1/operations",
  "/v1/event-types",
  "/v1/tenants",
  "/v1/audit-log",
  "/v1/alerts",
  "/v1/search?q=customer-77",
  "/v1/search?q={webhook}",
  "/v1/webhooks/{webhook}/timeline",
  "/v1/webhooks/{webhook}/backlog",
  "/v1/webhooks/{webhook}/health",
];

const overviewRounds = 20;
const listRounds = 5;

interface Asked {
  /** Response times in milliseconds, until the complete response had arrived. */
  readonly timesMs: readonly number[];
  /** CPU time of one query, including that of the database. */
  readonly processorMs: number;
}

async function measure(name: string, server: PosthornProcess): Promise<void> {
  const { body } = await server.call("GET", "/v1/webhooks?limit=1");
  const [webhook] = (body as { readonly data: readonly { readonly id: string }[] }).data;
  const lists = listQuestions.map((path) => path.replaceAll("{webhook}", webhook?.id ?? ""));
  console.log(`${name}: the overview, ${overviewRounds} times`);
  const overview = await askAll(server, overviewQuestions, overviewRounds);
  const p95 = percentile(
    overview.flatMap(({ timesMs }) => timesMs.slice(1)),
    0.95,
  );
  const processorMs = Math.max(...overview.map((asked) => asked.processorMs));
  console.log(`  p95 of all ${p95.toFixed(0)} ms, highest processor time ${processorMs.toFixed(0)} ms`);
  console.log(`${name}: first pages of lists, ${listRounds} times`);
  const pages = await askAll(server, lists, listRounds);
  const slowest = Math.max(...pages.flatMap(({ timesMs }) => timesMs));
  console.log(`  the slowest took ${slowest.toFixed(0)} ms`);
}

async function askAll(
  server: PosthornProcess,
  paths: readonly string[],
  count: number,
): Promise<readonly Asked[]> {
  const all: Asked[] = [];
  for (const path of paths) {
    const timesMs: number[] = [];
    const before = serversCpuMs();
    for (let index = 0; index < count; index += 1) {
      const startedAt = performance.now();
      const { status, body } = await server.call("GET", path);
      timesMs.push(performance.now() - startedAt);
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    }
    const processorMs = (serversCpuMs() - before) / count;
    const [first = 0, ...rest] = timesMs;
    const figures = [first, percentile(rest, 0.5), percentile(rest, 0.95), processorMs];
    const [once, p50, p95, cpu] = figures.map((ms) => ms.toFixed(0).padStart(5));
    console.log(`  first ${once} p50 ${p50} p95 ${p95} processor ${cpu} ms  ${path}`);
    all.push({ timesMs, processorMs });
  }
  return all;
}

/** CPU time of the database and of everything that this process started. */
function serversCpuMs(): number {
  const { user, system } = process.cpuUsage();
  const ofDatabase = postmaster === null ? 0 : treeCpuMs(postmaster);
  return treeCpuMs(process.pid) - (user + system) / 1_000 + ofDatabase;
}

const folder = options.kept ?? (await mkdtemp(join(options.folder, "posthorn-history-")));
try {
  if (options.store !== "postgres") await runSqlite();
  if (options.store !== "sqlite") await runPostgres();
} finally {
  if (options.kept === undefined) await rm(folder, { recursive: true });
}

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { createKeyRing, createSecretBox, masterKeyId } from "../../src/system/keys/secret-box.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { databaseFile, openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/ports/store.ts";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { PosthornProcess, serverUnderTest } from "../../test/scenarios/posthorn-process.ts";
import { parentOf, treeCpuMs } from "../process/process-tree.ts";
import { type HistoryBlock, HistoryLoader, tenantIds } from "./load.ts";
import { copyInPostgres } from "./postgres-copies.ts";
import { listQuestions, overviewQuestions } from "./questions.ts";
import { measureRate } from "./rate.ts";
import { copyInSqlite } from "./sqlite-copies.ts";

// How the questions of people answer beside a long history, and what deliveries notice of them.
// Run: node --conditions=posthorn-source bench/history/run.ts [--deliveries 1000000] [--webhooks 10000] [--store sqlite|postgres]
//      [--folder FOLDER] [--seconds 10] [--kept FOLDER]
// What it writes is removed at the end, but for a store in `--kept`, which the next run with that folder finds loaded.

const { values: options } = parseArgs({
  options: {
    deliveries: { type: "string", default: "1000000" },
    webhooks: { type: "string", default: "10000" },
    store: { type: "string", default: "both" },
    folder: { type: "string", default: tmpdir() },
    kept: { type: "string" },
    seconds: { type: "string", default: "10" },
  },
});

const { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP } = serverUnderTest;
const masterKey = Buffer.from(POSTHORN_MASTER_KEY, "base64");
const random = { bytes: randomBytes, uniform: Math.random };
const secretBox = createSecretBox({
  ring: createKeyRing({ current: masterKey, previous: [], random }),
  digestKey: randomBytes(32),
});

/** The process that started those of the database; null where there is none. */
let postmaster: number | null = null;

const overviewRounds = 20;
const listRounds = 5;

/** How a store is opened, and filled past it while it is closed. */
interface Subject {
  readonly name: string;
  readonly open: () => Promise<Store>;
  readonly copy: (block: HistoryBlock) => Promise<void>;
  /** What is kept counts from now on, whatever becomes of the questions. */
  readonly loaded: () => Promise<void>;
  readonly env: Readonly<Record<string, string>>;
  readonly dataDir: string;
}

async function writeHistory({ open, copy }: Subject): Promise<void> {
  const [begun, cpu] = [performance.now(), process.cpuUsage()];
  const shape = { deliveries: Number(options.deliveries), webhooks: Number(options.webhooks) };
  const first = await open();
  const loader = new HistoryLoader(first, { ...shape, secretBox, endsAt: Date.now() });
  await loader.writeBlock();
  await first.close();
  await copy(loader.block);
  const whole = await open();
  await loader.complete(whole);
  await whole.close();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const ownSeconds = Math.round((user + system) / 1e6);
  console.log(
    `${loader.block.deliveries * (loader.block.copies + 1)} deliveries of ${shape.webhooks} webhooks loaded in ${seconds} s (${ownSeconds} s of this process)`,
  );
}

async function measure(name: string, server: PosthornProcess): Promise<void> {
  // Of the history: those of an earlier run's rate are deleted, their deliveries are not.
  const listed = (await server.call("GET", "/v1/webhooks?limit=1&q=customer-")).body as Listed;
  const webhook = listed.data[0]?.id ?? "";
  const filled = (path: string) => path.replaceAll("{webhook}", webhook);
  console.log(`${name}: the overview, ${overviewRounds} times`);
  const overview = await askAll(server, overviewQuestions, overviewRounds);
  const times = overview.flatMap(({ timesMs }) => timesMs.slice(1));
  const processorMs = Math.max(...overview.map((asked) => asked.processorMs));
  console.log(
    `  p95 of all of them ${percentile(times, 0.95).toFixed(0)} ms, the most processor time ${processorMs.toFixed(0)} ms`,
  );
  console.log(`${name}: first pages of lists, ${listRounds} times`);
  const lists = await askAll(server, listQuestions.map(filled), listRounds);
  const slowest = Math.max(...lists.flatMap(({ timesMs }) => timesMs));
  console.log(`  the slowest took ${slowest.toFixed(0)} ms`);
  await measureRate(name, {
    server,
    questions: [...overviewQuestions, ...listQuestions].map(filled),
    windowMs: Number(options.seconds) * 1_000,
    cpuMs: serversCpuMs,
  });
}

async function askAll(
  server: PosthornProcess,
  paths: readonly string[],
  count: number,
): Promise<readonly Asked[]> {
  const all: Asked[] = [];
  for (const path of paths) {
    const asked = await timesOf(server, path, count);
    tell(asked);
    all.push(asked);
  }
  return all;
}

interface Listed {
  readonly data: readonly { readonly id: string }[];
}

interface Asked {
  readonly path: string;
  /** Until the whole answer was there. */
  readonly timesMs: readonly number[];
  /** Processor time of one question, of the server and of its database. */
  readonly processorMs: number;
}

async function timesOf(server: PosthornProcess, path: string, count: number): Promise<Asked> {
  const timesMs: number[] = [];
  const before = serversCpuMs();
  for (let index = 0; index < count; index += 1) {
    const begun = performance.now();
    const { status, body } = await server.call("GET", path);
    timesMs.push(performance.now() - begun);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
  }
  return { path, timesMs, processorMs: (serversCpuMs() - before) / count };
}

/** Of everything that this process started, and of the server of the database. */
function serversCpuMs(): number {
  const { user, system } = process.cpuUsage();
  const ofDatabase = postmaster === null ? 0 : treeCpuMs(postmaster);
  return treeCpuMs(process.pid) - (user + system) / 1_000 + ofDatabase;
}

function tell({ path, timesMs, processorMs }: Asked): void {
  const [first = 0, ...rest] = timesMs;
  const figures = [first, percentile(rest, 0.5), percentile(rest, 0.95), processorMs].map((ms) =>
    ms.toFixed(0).padStart(5),
  );
  console.log(
    `  first ${figures[0]} p50 ${figures[1]} p95 ${figures[2]} processor ${figures[3]} ms  ${path}`,
  );
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** A server has made its keys and knows the tenants before their history is written. */
async function run(subject: Subject & { readonly isLoaded: boolean }): Promise<void> {
  const { name, env, dataDir } = subject;
  const server = await PosthornProcess.start({
    dataDir,
    env: { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP, ...env },
  });
  if (!subject.isLoaded) {
    for (const tenantId of tenantIds) await server.call("PUT", `/v1/tenants/${tenantId}`, {});
    await server.stop();
    await writeHistory(subject);
    await subject.loaded();
    const begun = performance.now();
    await server.start();
    console.log(`${name}: started in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
  }
  try {
    await measure(name, server);
  } finally {
    await server.stop();
  }
}

async function runSqlite(folder: string): Promise<void> {
  const dataDir = join(folder, "sqlite");
  const isLoaded = existsSync(dataDir);
  await mkdir(dataDir, { recursive: true });
  await run({
    name: "sqlite",
    dataDir,
    env: {},
    isLoaded,
    open: () => openSqliteStore({ dataDir, now: Date.now(), pid: process.pid }),
    copy: async (block) => copyInSqlite(databaseFile(dataDir), block),
    loaded: async () => undefined,
  });
}

async function runPostgres(folder: string): Promise<void> {
  const dataDir = join(folder, "postgres");
  const addressFile = join(folder, "database.url");
  const isLoaded = existsSync(addressFile);
  await mkdir(dataDir, { recursive: true });
  const database = isLoaded ? null : await createTestDatabase();
  const url = database?.url ?? (await readFile(addressFile, "utf8"));
  const masterKeyIds = { current: masterKeyId(masterKey), previous: [] };
  postmaster = await postmasterOf(url);
  try {
    await run({
      name: "postgres",
      dataDir,
      env: { POSTHORN_DATABASE_URL: url },
      isLoaded,
      open: () => openPostgresStore({ url, now: Date.now(), masterKeyIds }),
      copy: (block) => copyInPostgres(url, block),
      loaded: async () => {
        if (options.kept !== undefined) await writeFile(addressFile, url);
      },
    });
  } finally {
    if (options.kept === undefined) await database?.drop();
  }
}

/** Only where it runs on this machine. */
async function postmasterOf(url: string): Promise<number | null> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ readonly pid: number }>("SELECT pg_backend_pid() AS pid");
  const parent = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return parent;
}

const folder = options.kept ?? (await mkdtemp(join(options.folder, "posthorn-history-")));
try {
  if (options.store !== "postgres") await runSqlite(folder);
  if (options.store !== "sqlite") await runPostgres(folder);
} finally {
  if (options.kept === undefined) await rm(folder, { recursive: true });
}

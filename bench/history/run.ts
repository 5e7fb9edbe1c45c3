import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createKeyRing, createSecretBox, masterKeyId } from "../../src/adapters/keys/secret-box.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open.ts";
import type { Store } from "../../src/ports/store.ts";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { startReceiver } from "../../test/peers/receiver.ts";
import { PosthornProcess, serverUnderTest } from "../../test/scenarios/posthorn-process.ts";
import { HistoryLoader, tenantIds } from "./load.ts";
import { listQuestions, overviewQuestions } from "./questions.ts";

// How the questions of people answer beside a long history, and what deliveries notice of them.
// Run: node --conditions=posthorn-source bench/history/run.ts [--deliveries 1000000] [--webhooks 10000] [--store sqlite|postgres]
//      [--folder FOLDER] [--seconds 5]

const { values: options } = parseArgs({
  options: {
    deliveries: { type: "string", default: "1000000" },
    webhooks: { type: "string", default: "10000" },
    store: { type: "string", default: "both" },
    folder: { type: "string", default: tmpdir() },
    seconds: { type: "string", default: "5" },
  },
});

const { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP } = serverUnderTest;
const masterKey = Buffer.from(POSTHORN_MASTER_KEY, "base64");
const random = { bytes: randomBytes, uniform: Math.random };
const secretBox = createSecretBox({
  ring: createKeyRing({ current: masterKey, previous: [], random }),
  digestKey: randomBytes(32),
});

const publishers = 8;
const rounds = 20;
const windows = 4;
/** Between two questions of one person. */
const thinkMs = 200;

async function writeHistory(store: Store): Promise<void> {
  const begun = performance.now();
  const shape = { deliveries: Number(options.deliveries), webhooks: Number(options.webhooks) };
  await new HistoryLoader(store, { ...shape, secretBox, endsAt: Date.now() }).run();
  await store.close();
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(`${shape.deliveries} deliveries of ${shape.webhooks} webhooks loaded in ${seconds} s`);
}

async function measure(name: string, server: PosthornProcess): Promise<void> {
  const listed = (await server.call("GET", "/v1/deliveries?limit=1")).body as Listed;
  const webhook = listed.data[0]?.webhook_id ?? "";
  const filled = (path: string) => path.replaceAll("{webhook}", webhook);
  console.log(`${name}: the overview, ${rounds} times`);
  const all: number[] = [];
  for (const path of overviewQuestions) {
    const times = await timesOf(server, { path, count: rounds });
    all.push(...times.slice(1));
    tell(path, times);
  }
  console.log(`  p95 of all of them ${percentile(all, 0.95).toFixed(0)} ms`);
  console.log(`${name}: first pages of lists, 5 times`);
  let slowest = 0;
  for (const path of listQuestions.map(filled)) {
    const times = await timesOf(server, { path, count: 5 });
    slowest = Math.max(slowest, ...times);
    tell(path, times);
  }
  console.log(`  the slowest took ${slowest.toFixed(0)} ms`);
  await measureRate(name, { server, questions: [...overviewQuestions, ...listQuestions].map(filled) });
}

interface Listed {
  readonly data: readonly { readonly webhook_id: string }[];
}

async function timesOf(
  server: PosthornProcess,
  { path, count }: { readonly path: string; readonly count: number },
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const begun = performance.now();
    const { status, body } = await server.call("GET", path);
    times.push(performance.now() - begun);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
  }
  return times;
}

function tell(path: string, times: readonly number[]): void {
  const [first = 0, ...rest] = times;
  const figures = [first, percentile(rest, 0.5), percentile(rest, 0.95)].map((ms) =>
    ms.toFixed(0).padStart(5),
  );
  console.log(`  first ${figures[0]} p50 ${figures[1]} p95 ${figures[2]} ms  ${path}`);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** Accepted deliveries a second, with and without somebody who asks; windows take turns. */
async function measureRate(
  name: string,
  { server, questions }: { readonly server: PosthornProcess; readonly questions: readonly string[] },
): Promise<void> {
  const receiver = await startReceiver();
  let received = 0;
  receiver.script(() => {
    received += 1;
    return { status: 200 };
  });
  const circuit = { circuit_breaker_config: { enabled: false } };
  await server.call("POST", "/v1/webhooks", { url: receiver.url("/"), events: ["bench.sent"], ...circuit });
  let isOver = false;
  const publish = async (): Promise<void> => {
    while (!isOver) await server.call("POST", "/v1/events", { event_type: "bench.sent", data: {} });
  };
  const load = Array.from({ length: publishers }, publish);
  const rates: { readonly asked: number[]; readonly quiet: number[] } = { asked: [], quiet: [] };
  await sleep(2_000);
  for (let window = 0; window < 2 * windows; window += 1) {
    const isAsked = window % 2 === 1;
    const before = received;
    const begun = performance.now();
    const seconds = Number(options.seconds);
    if (isAsked) await ask(server, { questions, untilMs: begun + seconds * 1_000 });
    else await sleep(seconds * 1_000);
    const rate = ((received - before) * 1_000) / (performance.now() - begun);
    rates[isAsked ? "asked" : "quiet"].push(rate);
  }
  isOver = true;
  await Promise.all(load);
  await receiver.close();
  const [asked, quiet] = [percentile(rates.asked, 0.5), percentile(rates.quiet, 0.5)];
  console.log(
    `${name}: ${quiet.toFixed(0)} deliveries a second, ${asked.toFixed(0)} while somebody asks: ${(asked / quiet).toFixed(2)}`,
  );
}

async function ask(
  server: PosthornProcess,
  { questions, untilMs }: { readonly questions: readonly string[]; readonly untilMs: number },
): Promise<void> {
  for (let index = 0; performance.now() < untilMs; index += 1) {
    await server.call("GET", questions[(index * 7) % questions.length] ?? "/readyz");
    await sleep(thinkMs);
  }
}

type Env = Readonly<Record<string, string>>;

/** A server has made its keys and knows the tenants before their history is written. */
async function run(
  name: string,
  {
    open,
    env,
    dataDir,
  }: { readonly open: () => Promise<Store>; readonly env: Env; readonly dataDir: string },
): Promise<void> {
  const server = await PosthornProcess.start({
    dataDir,
    env: { POSTHORN_MASTER_KEY, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP, ...env },
  });
  for (const tenantId of tenantIds) await server.call("PUT", `/v1/tenants/${tenantId}`, {});
  await server.stop();
  await writeHistory(await open());
  const begun = performance.now();
  await server.start();
  console.log(`${name}: started in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
  try {
    await measure(name, server);
  } finally {
    await server.stop();
  }
}

const dataDir = await mkdtemp(join(options.folder, "posthorn-history-"));
try {
  if (options.store !== "postgres") {
    const open = () => openSqliteStore({ dataDir, now: Date.now(), pid: process.pid });
    await run("sqlite", { open, env: {}, dataDir });
  }
  if (options.store !== "sqlite") {
    const database = await createTestDatabase();
    try {
      const { url } = database;
      const masterKeyIds = { current: masterKeyId(masterKey), previous: [] };
      const open = () => openPostgresStore({ url, now: Date.now(), masterKeyIds });
      const env = { POSTHORN_DATABASE_URL: url };
      await run("postgres", { open, env, dataDir: await mkdtemp(join(dataDir, "server-")) });
    } finally {
      await database.drop();
    }
  }
} finally {
  await rm(dataDir, { recursive: true });
}

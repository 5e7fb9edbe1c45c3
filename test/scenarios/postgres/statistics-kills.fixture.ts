/** Workers on PostgreSQL are killed under load, and their statistics are compared with the rows in the database. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { masterKeyId } from "../../../src/system/keys/secret-box.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { serverUnderTest } from "../posthorn-process.fixture.ts";
import { addLoadWebhooks, cancelSome } from "../statistics-kills.fixture.ts";
import { type Ledger, untilEqual } from "../statistics-ledger.fixture.ts";
import { Cluster } from "./cluster.fixture.ts";

const loadMs = 1_500;
/** Even on a slow machine, at least this many requests are sent, so that killed workers leave data to compare. */
const requestsMin = 200;

/**
 * Immediately does what upkeep does when a writer has been silent for a minute. Returns the final counts, which must
 * equal a recount of the rows.
 */
export async function statisticsAfterKills(
  t: TestContext,
  of: { readonly kills: number; readonly workers: number },
): Promise<Ledger> {
  const cluster = await Cluster.open();
  t.after(() => cluster.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api, ...workers] = await cluster.start(
    "api,scheduler",
    ...Array.from({ length: of.workers }, () => "worker"),
  );
  assert.ok(api !== undefined);
  const call = (method: string, path: string, body?: unknown) => cluster.call(api, `${method} ${path}`, body);
  await addLoadWebhooks({ call }, receiver);
  for (let kill = 0; kill < of.kills; kill += 1) {
    let isOver = false;
    const publisher = async (index: number): Promise<void> => {
      for (let n = index; !isOver; n += 1)
        await call("POST", "/v1/events", { event_type: `load.n${n % 5}`, data: { n } });
    };
    const load = Array.from({ length: 8 }, (_, index) => publisher(index));
    load.push(
      cancelSome({
        call: async (method, path, body) => (await call(method, path, body)).body,
        isOver: () => isOver,
      }),
    );
    const before = receiver.requestCount;
    await Promise.all([
      sleep(loadMs),
      receiver.waitUntil(() => receiver.requestCount >= before + requestsMin),
    ]);
    await workers.shift()?.end("SIGKILL");
    isOver = true;
    await Promise.all(load);
    workers.push(...(await cluster.start("worker")));
  }
  const store = await openPostgresStore({
    url: cluster.database.url,
    now: Date.now(),
    masterKeyIds: {
      current: masterKeyId(Buffer.from(serverUnderTest.POSTHORN_MASTER_KEY, "base64")),
      previous: [],
    },
  });
  t.after(() => store.close());
  return untilEqual({
    get: async (path) => {
      while ((await store.statistics.recover(Date.now() - 5_000)).more);
      return (await call("GET", path)).body;
    },
    attempts: async () => {
      const rows = await cluster.database.query(
        `SELECT w.string, a.outcome, count(*)::int AS count FROM posthorn.attempts a
         JOIN posthorn.strings w ON w.ref = a.webhook GROUP BY 1, 2`,
      );
      return rows.map(
        ({ string, outcome, count }) => [String(string), Number(outcome), Number(count)] as const,
      );
    },
    ended: async () => {
      const rows = await cluster.database.query(
        `SELECT w.string, d.state, count(*)::int AS count FROM posthorn.deliveries d
         JOIN posthorn.strings w ON w.ref = d.webhook WHERE d.state IN (3, 5) GROUP BY 1, 2`,
      );
      return rows.map(({ string, state, count }) => [String(string), Number(state), Number(count)] as const);
    },
    events: () => cluster.count("SELECT count(*) FROM posthorn.events"),
  });
}

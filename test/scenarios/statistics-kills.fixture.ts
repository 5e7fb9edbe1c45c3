/** A server on SQLite is killed under load, and its statistics are compared with its rows. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Receiver } from "../peers/receiver.ts";
import { itemsOf, type Json, textOf } from "./api/client.fixture.ts";
import type { PosthornProcess } from "./posthorn-process.fixture.ts";
import type { LedgerSources } from "./statistics-ledger.fixture.ts";

const webhookCount = 4;
const statuses: Readonly<Record<string, number>> = { "/1": 503, "/2": 422 };

/** Adds three webhooks. One receiver accepts, one fails temporarily, and one refuses permanently. */
export async function addLoadWebhooks(
  { call }: Pick<PosthornProcess, "call">,
  receiver: Receiver,
): Promise<void> {
  receiver.script(({ path }) => ({ status: statuses[path] ?? 200 }));
  for (let index = 0; index < webhookCount; index += 1) {
    const made = await call("POST", "/v1/webhooks", {
      url: receiver.url(`/${index}`),
      events: [`load.n${index}`],
      circuit_breaker_config: { enabled: false },
      retry_config: { schedule_ms: [200, 400] },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
  }
}

/** Even on a slow machine, at least this many requests are sent, so that data from before the kill can be compared. */
const requestsMin = 20;

/**
 * Publishes until the server is killed. The kill comes after `loadMs`, but only after enough requests and one
 * cancellation.
 */
export async function loadAndKill(
  { posthorn, receiver }: { readonly posthorn: PosthornProcess; readonly receiver: Receiver },
  loadMs: number,
): Promise<void> {
  let isOver = false;
  const publisher = async (index: number): Promise<void> => {
    for (let n = index; !isOver; n += 1)
      await posthorn
        .call("POST", "/v1/events", { event_type: `load.n${n % (webhookCount + 1)}`, data: { n } })
        .catch(() => undefined);
  };
  const call = async (method: string, path: string, body?: unknown): Promise<Json> =>
    (await posthorn.call(method, path, body)).body as Json;
  const load = Array.from({ length: 8 }, (_, index) => publisher(index));
  const cancelled = Promise.withResolvers<null>();
  load.push(cancelSome({ call, isOver: () => isOver, cancelled: () => cancelled.resolve(null) }));
  const before = receiver.requestCount;
  const loaded = Promise.all([
    sleep(loadMs),
    receiver.waitUntil(() => receiver.requestCount >= before + requestsMin),
    cancelled.promise,
  ]);
  // The load ends earlier only because of an error, which is then reported.
  await Promise.race([loaded, Promise.all(load)]);
  isOver = true;
  await posthorn.kill();
  await Promise.all(load);
}

/** Occasionally cancels deliveries that wait for another attempt, until the load or its server ends. */
export async function cancelSome(load: {
  readonly call: (method: string, path: string, body?: unknown) => Promise<Json>;
  readonly isOver: () => boolean;
  /** Must be called after a cancellation, because a batch continues after its response was sent. */
  readonly cancelled?: () => void;
}): Promise<void> {
  while (!load.isOver()) {
    try {
      const { data } = await load.call("GET", "/v1/deliveries?status=failed&limit=3");
      const ids = itemsOf(data).map(({ id }) => textOf(id));
      if (ids.length > 0) await load.call("POST", "/v1/deliveries/cancel-batch", { ids });
      const cancelled = await load.call("GET", "/v1/deliveries?status=cancelled&limit=1");
      if (itemsOf(cancelled["data"]).length > 0) load.cancelled?.();
    } catch (error) {
      if (!load.isOver()) throw error;
    }
    await sleep(100);
  }
}

export function sqliteLedger(posthorn: PosthornProcess): LedgerSources {
  const query = <Row>(sql: string): Row[] => {
    const db = new DatabaseSync(join(posthorn.dataDir, "posthorn.db"), { readOnly: true });
    try {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement.all() as unknown as Row[];
    } finally {
      db.close();
    }
  };
  return {
    get: async (path) => (await posthorn.call("GET", path)).body as Json,
    attempts: async () =>
      query(
        `SELECT w.string, a.outcome, count(*) FROM attempts a JOIN deliveries d ON d.seq = a.key >> 16
         JOIN strings w ON w.ref = d.webhook GROUP BY 1, 2`,
      ),
    ended: async () =>
      query(
        `SELECT w.string, d.state, count(*) FROM deliveries d JOIN strings w ON w.ref = d.webhook
         WHERE d.state IN (3, 5) GROUP BY 1, 2`,
      ),
    events: async () => query<[number]>("SELECT count(*) FROM events")[0]?.[0] ?? 0,
  };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { openRedisSharedState } from "../../../src/shared-state/redis/open.ts";
import { systemClock } from "../../../src/system/clock.ts";
import { createSystemRandom } from "../../../src/system/random.ts";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "../postgres/cluster.fixture.ts";

const windowMs = 300_000;
const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

/** Opens the shared state to which the workers report. */
async function openSharedState({ prefixes, database }: Cluster): Promise<SharedState> {
  assert.ok(prefixes !== null);
  const { redisUrl: url, redisPrefix: prefix } = prefixes.values;
  const nothing = (): void => undefined;
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const [row] = await database.query("SELECT id::text FROM posthorn.deployment");
  const deployment = String(row?.["id"]);
  const state = await openRedisSharedState({
    url,
    prefix,
    clock: systemClock,
    random: createSystemRandom(),
    connectTimeoutMs: 5_000,
    telemetry: { log },
  });
  state.serve(() => ({ deployment, incarnation: null }));
  return state;
}

test("WDS-36 a circuit near its threshold opens in time although the owner of the webhook died", async (t) => {
  const cluster = await Cluster.openDistributed();
  t.after(() => cluster.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api] = await cluster.start("api,scheduler", "worker", "worker");
  assert.ok(api !== undefined);
  receiver.script(() => ({ status: 500 }));
  const id = await cluster.addWebhook(api, {
    url: receiver.url("/"),
    events: ["order.*"],
    circuit_breaker_config: { minimum_throughput: 10, window_size_ms: windowMs, sleep_window_ms: 300_000 },
    retry_config: { schedule_ms: [600_000] },
  });
  await cluster.publish(api, "order.paid", numbered(9));
  await receiver.waitForRequests(9);
  const owner = await cluster.ownerOf(id);
  const state = await openSharedState(cluster);
  t.after(() => state.close());
  await eventually("the owner has noted what it knows", {
    ask: async () => (await state.endpoints.recall([{ webhookId: id, windowMs }]))[0]?.counts ?? [],
    holds: (counts) => counts.reduce((sum, { failures }) => sum + failures, 0) === 9,
  });
  await owner.end("SIGKILL");
  await cluster.publish(api, "order.paid", numbered(30));
  await receiver.waitForRequests(10);
  const health = await eventually("the circuit is open", {
    ask: async () => (await cluster.call(api, `GET /v1/webhooks/${id}/health`)).body["circuit_breaker"],
    holds: (circuit) => (circuit as { readonly state?: unknown } | undefined)?.state === "open",
  });
  t.diagnostic(JSON.stringify(health));
  // After the tenth failure, only requests already in flight were sent. There may be four of them: the new owner has
  // loaded that the endpoint responds quickly, and therefore sends five at a time.
  assert.ok(receiver.requestCount <= 14, `${receiver.requestCount} requests`);
});

/** Each process reports which of its dependencies is unavailable, and whether it can still work. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster, type ClusterProcess } from "../postgres/cluster.fixture.ts";
import { metricsOf, readiness, reasonsOf } from "../postgres/probed.fixture.ts";

const roles = ["api", "scheduler", "worker"] as const;
/** Longer than the pauses between attempts to reconnect. */
const returnMsMax = 120_000;

interface Dependency {
  readonly name: string;
  readonly reason: string;
  /** The status of `/readyz` while the dependency is unavailable. */
  readonly status: number;
  readonly metrics: { readonly whole: readonly string[]; readonly poor: readonly string[] };
}

const dependencies: readonly Dependency[] = [
  {
    name: "Redis",
    reason: "shared_state_unavailable",
    status: 200,
    metrics: { whole: ["posthorn_shared_state_available 1"], poor: ["posthorn_shared_state_available 0"] },
  },
  {
    name: "RabbitMQ",
    reason: "queue_unavailable",
    status: 200,
    metrics: {
      whole: ["posthorn_queue_connected 1", "posthorn_queue_parked 0"],
      poor: ["posthorn_queue_connected 0"],
    },
  },
  {
    name: "PostgreSQL",
    reason: "store_unavailable",
    status: 503,
    metrics: { whole: ['webhook_queue_depth{priority="normal"} 0'], poor: [] },
  },
];

function urlOf({ url, output }: ClusterProcess): string {
  return url ?? /"probesUrl":"([^"]+)"/.exec(output)?.[1] ?? "";
}

async function linesOf(url: string): Promise<readonly string[]> {
  return (await metricsOf(url)).split("\n");
}

suite("reports of processes about their dependencies", () => {
  test("API, scheduler and worker name each unavailable dependency, and only that one", async (t) => {
    const cluster = await Cluster.openDistributed();
    const { prefixes } = cluster;
    assert.ok(prefixes !== null);
    const { queueUrl, redisUrl } = prefixes.values;
    const wayTo = (url: string, port: string): Promise<CuttingProxy> =>
      CuttingProxy.to(Number(new URL(url).port || port));
    const [redis, rabbitMq, postgres] = await Promise.all([
      wayTo(redisUrl, "6379"),
      wayTo(queueUrl, "5672"),
      wayTo(cluster.database.url, "5432"),
    ]);
    const ways: Readonly<Record<string, CuttingProxy>> = {
      Redis: redis,
      RabbitMQ: rabbitMq,
      PostgreSQL: postgres,
    };
    t.after(async () => {
      await cluster.close();
      for (const way of Object.values(ways)) await way.close();
    });
    const env = {
      POSTHORN_REDIS_URL: redis.addressOf(redisUrl),
      POSTHORN_QUEUE_URL: rabbitMq.addressOf(queueUrl),
      POSTHORN_DATABASE_URL: postgres.addressOf(cluster.database.url),
    };
    const processes = await cluster.startWith(env, roles);
    const urls = processes.map(urlOf);
    for (const { name, reason, status, metrics } of dependencies) {
      for (const [index, url] of urls.entries()) {
        const role = `${roles[index]}, before ${name} is away`;
        assert.deepEqual(await readiness(url), { status: 200, body: { status: "ok", reasons: [] } }, role);
        const lines = await linesOf(url);
        for (const line of metrics.whole) assert.ok(lines.includes(line), `${role}: ${line}`);
      }
      await ways[name]?.cut();
      for (const [index, url] of urls.entries()) {
        const role = `${roles[index]} without ${name}`;
        const answer = await eventually(`${role} says so`, {
          ask: () => readiness(url),
          holds: (given) => reasonsOf(given).length > 0,
        });
        assert.deepEqual([answer?.status, reasonsOf(answer)], [status, [reason]], role);
        assert.equal((await fetch(`${url}/livez`)).status, 200, role);
        const lines = await linesOf(url);
        for (const line of metrics.poor) assert.ok(lines.includes(line), `${role}: ${line}`);
      }
      await ways[name]?.restore();
      for (const url of urls)
        await eventually(`${name} is available again`, {
          ask: () => readiness(url),
          holds: (answer) => answer?.status === 200 && reasonsOf(answer).length === 0,
          withinMs: returnMsMax,
        });
    }
    for (const process of processes) assert.equal(await process.end("SIGTERM"), 0, process.output);
  });

  test("a stopping API process reports that it drains while it still answers, and closes kept connections", async (t) => {
    const cluster = await Cluster.openDistributed({ POSTHORN_SHUTDOWN_GRACE_MS: "30000" });
    t.after(() => cluster.close());
    const [api] = await cluster.start("api");
    assert.ok(api?.url);
    const { url } = api;
    const publish = (): Promise<Response> =>
      fetch(`${url}/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${cluster.adminKey}`, "content-type": "application/json" },
        body: JSON.stringify({ event_type: "order.paid", data: { n: 1 } }),
      });
    const before = await publish();
    assert.deepEqual([before.status, before.headers.get("connection")], [202, "keep-alive"]);
    api.signal("SIGTERM");
    const draining = await eventually("it drains", {
      ask: () => readiness(url),
      holds: (answer) => answer?.status === 503,
    });
    assert.deepEqual(reasonsOf(draining), ["draining"]);
    const late = await publish();
    assert.deepEqual([late.status, late.headers.get("connection")], [202, "close"]);
    // A second SIGTERM would end the process immediately.
    assert.equal(await api.end("SIGCONT"), 0, api.output);
  });
});

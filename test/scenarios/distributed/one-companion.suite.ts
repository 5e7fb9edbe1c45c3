/** PostgreSQL with only one of RabbitMQ and Redis. Each must be useful without the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ReceivedRequest, startReceiver } from "../../peers/receiver.ts";
import { itemsOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster, type ClusterProcess } from "../postgres/cluster.fixture.ts";
import type { CompanionName, Traces } from "../postgres/own-prefixes.fixture.ts";

export interface OneCompanionOptions {
  readonly companion: CompanionName;
  /** Whether the traces show that the configured server is used. */
  readonly isUsed: (traces: Traces) => boolean;
  /** Patterns for the metrics of the configured server and of the other one. */
  readonly metrics: { readonly has: RegExp; readonly lacks: RegExp };
}

const rate = { requests_per_minute: 600, burst: 8 };
const webhooks = 4;
const eventsEach = 10;

export function oneCompanion(options: OneCompanionOptions): void {
  const { companion, isUsed, metrics } = options;
  test(`with only PostgreSQL and ${companion} events are delivered, retried and limited`, async (t) => {
    const cluster = await Cluster.openDistributed({}, [companion]);
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api, , worker] = await cluster.start("api", "scheduler", "worker", "worker");
    assert.ok(api !== undefined && worker !== undefined);

    await cluster.addWebhook(api, {
      url: receiver.url("/flaky"),
      events: ["order.*"],
      retry_config: { schedule_ms: [300, 300] },
    });
    receiver.script((_, index) => ({ status: index < 2 ? 503 : 200 }));
    const [event = ""] = await cluster.publish(api, "order.paid", [{ n: 1 }]);
    await receiver.waitForRequests(3);
    const delivery = await eventually("it succeeds", {
      ask: async () => {
        const { body } = await cluster.call(api, `GET /v1/events/${event}/deliveries`);
        return itemsOf(body["data"])[0];
      },
      holds: (found) => (found?.["status"] as unknown) === "success",
    });
    assert.equal(delivery?.["attempt_count"], 3, JSON.stringify(delivery));

    receiver.clear();
    // Polling starts before the publish, because a bucket exists only while the limit delays requests. Its state is
    // deleted when it is full again.
    const used = eventually(`${companion} is used`, {
      ask: async () => cluster.prefixes?.traces(),
      holds: (traces) => traces !== undefined && isUsed(traces),
    });
    const limiting = limited({ cluster, api, webhookUrl: (n) => receiver.url(`/limited/${n}`) });
    const [sinceMs] = await Promise.all([limiting, used]);
    const expected = webhooks * eventsEach;
    const requests = await receiver.waitForRequests(expected);
    assertLimited(requests, sinceMs);
    const ids = requests.map(({ path, headers }) => `${path} ${String(headers["webhook-id"])}`);
    assert.equal(new Set(ids).size, expected, "an event was sent twice");

    for (const url of [api.url, probesUrlOf(worker)]) {
      const ready = await fetch(`${url}/readyz`);
      assert.deepEqual([ready.status, await ready.json()], [200, { status: "ok", reasons: [] }]);
      const text = await (await fetch(`${url}/metrics`)).text();
      assert.match(text, metrics.has);
      assert.doesNotMatch(text, metrics.lacks);
    }
  });
}

interface Limited {
  readonly cluster: Cluster;
  readonly api: ClusterProcess;
  readonly webhookUrl: (n: number) => string;
}

/**
 * Publishes events of a tenant with a limit, after every worker has loaded the limit. Resolves with the time before the
 * publish.
 */
async function limited({ cluster, api, webhookUrl }: Limited): Promise<number> {
  await cluster.call(api, "PUT /v1/tenants/acme", { rate_limit: rate });
  for (let n = 0; n < webhooks; n += 1)
    await cluster.addWebhook(api, { url: webhookUrl(n), tenant_id: "acme", events: ["load.*"] });
  await cluster.everyWorkerHeard(2);
  const events = Array.from({ length: eventsEach }, (_, n) => ({
    event_type: "load.x",
    tenant_id: "acme",
    data: { n },
  }));
  const sinceMs = performance.now();
  assert.equal((await cluster.call(api, "POST /v1/events/batch", { events })).status, 202);
  return sinceMs;
}

/**
 * Checks that no request was sent earlier than a full bucket allows. Tests with manual clocks prove that the full rate
 * is used.
 */
function assertLimited(requests: readonly ReceivedRequest[], sinceMs: number): void {
  for (const [index, { arrivedAtMs }] of requests.entries()) {
    const afterMs = arrivedAtMs - sinceMs;
    const allowed = rate.burst + (afterMs * rate.requests_per_minute) / 60_000;
    assert.ok(index < allowed, `request ${index} after ${Math.round(afterMs)} ms`);
  }
}

function probesUrlOf({ output }: ClusterProcess): string {
  return /"probesUrl":"([^"]+)"/.exec(output)?.[1] ?? "";
}

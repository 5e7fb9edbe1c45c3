/**
 * Behind a pooler, PostgreSQL notifications do not arrive. RabbitMQ then carries the hints, and Redis carries the
 * configuration changes.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";
import { startTransactionPooler } from "../../conformance/store/transaction-pooler.fixture.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster, type ClusterProcess } from "../postgres/cluster.fixture.ts";

const changesWithinMs = 1_000;
/** With polling once a second, the median would be 500 ms. */
const workMedianMsMax = 300;
const events = 21;

/** Two API processes, a scheduler and two workers. All are stopped at the end of the test. */
async function start(t: TestContext) {
  const cluster = await Cluster.openDistributed();
  const pooler = await startTransactionPooler(cluster.database.url);
  t.after(async () => {
    await cluster.close();
    await pooler.close();
  });
  const env = { POSTHORN_DATABASE_URL: pooler.url, POSTHORN_DATABASE_DIRECT_URL: "none" };
  const [api, other] = await cluster.startWith(env, ["api", "api", "scheduler", "worker", "worker"]);
  assert.ok(api !== undefined && other !== undefined);
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  return { cluster, api, other, receiver };
}

type Scene = Awaited<ReturnType<typeof start>>;

/** Time from the response of the API to the arrival of the request at the receiver. */
async function latencyMs({ cluster, api, receiver }: Scene, eventType: string): Promise<number> {
  const before = receiver.requestCount;
  await cluster.publish(api, eventType, [{ n: before }]);
  const answeredMs = performance.now();
  await receiver.waitForRequests(before + 1);
  return Math.max(0, performance.now() - answeredMs);
}

/** Reads the metrics of a process without the role `api`. */
async function metricsOf({ output }: ClusterProcess): Promise<string> {
  const [, url = ""] = /"probesUrl":"([^"]+)"/.exec(output) ?? [];
  return (await fetch(`${url}/metrics`)).text();
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function soon(what: string, holds: () => Promise<boolean>): Promise<void> {
  await eventually(what, { ask: holds, holds: (answer) => answer, withinMs: changesWithinMs });
}

suite("behind a pooler in transaction mode", () => {
  test("work quickly reaches the owner of a webhook, or a new one", async (t) => {
    const scene = await start(t);
    const { cluster, api, receiver } = scene;
    const known: number[] = [];
    const unknown: number[] = [];
    for (let n = 0; n < events; n += 1) {
      await cluster.addWebhook(api, { url: receiver.url(`/${n}`), events: [`load.n${n}`] });
      unknown.push(await latencyMs(scene, `load.n${n}`));
      known.push(await latencyMs(scene, "load.n0"));
    }
    for (const [what, each] of Object.entries({ "its owner": known, "a new owner": unknown })) {
      const [medianMs, longestMs] = [median(each), Math.max(...each)].map(Math.round);
      t.diagnostic(`work reached ${what} in ${medianMs} ms in the median, ${longestMs} ms at most`);
      assert.ok(Number(medianMs) < workMedianMsMax, `${what}: ${medianMs} ms in the median`);
    }
  });

  test("WDS-179 workers follow a change of a webhook within a second", async (t) => {
    const scene = await start(t);
    const { cluster, api, receiver } = scene;
    const url = receiver.url("/old");
    const id = await cluster.addWebhook(api, { url, events: ["order.*"] });
    await latencyMs(scene, "order.paid");
    const change = async (request: string, body: object): Promise<void> => {
      const reply = await cluster.call(api, request.replace("ID", id), body);
      assert.equal(reply.status, 200, JSON.stringify(reply));
    };
    const lastPath = async (): Promise<string | undefined> => {
      await latencyMs(scene, "order.paid");
      return receiver.requests.at(-1)?.path;
    };
    await change("PATCH /v1/webhooks/ID", { url: receiver.url("/new") });
    await soon("the new URL", async () => (await lastPath()) === "/new");
    // A command to the worker that owns the webhook.
    await change("PATCH /v1/webhooks/ID/circuit-breaker", { action: "force_open", duration_seconds: 60 });
    const openCircuit = `webhook_circuit_breaker_state{webhook_id="${id}",state="open"} 1`;
    const owner = await cluster.ownerOf(id);
    await soon("the owner has opened the circuit", async () =>
      (await metricsOf(owner)).includes(openCircuit),
    );
    const before = receiver.requestCount;
    await cluster.publish(api, "order.paid", [{ held: true }]);
    await change("PATCH /v1/webhooks/ID/circuit-breaker", { action: "reset" });
    assert.equal(receiver.requestCount, before);
    await receiver.waitForRequests(before + 1, changesWithinMs);
  });

  test("WDS-179 processes learn of each other's keys, tenants and event types within a second", async (t) => {
    const { cluster, api, other } = await start(t);
    await cluster.call(api, "PUT /v1/tenants/acme", {});
    await soon("the tenant is known", async () => {
      const { status } = await cluster.call(other, "GET /v1/tenants/acme");
      return status === 200;
    });
    const made = await cluster.call(api, "POST /v1/api-keys", {
      name: "k",
      role: "manage",
      tenant_id: "acme",
    });
    assert.equal(made.status, 201);
    const withKey = (): Promise<number> =>
      fetch(`${other.url}/v1/webhooks`, {
        headers: { authorization: `Bearer ${textOf(made.body["key"])}` },
      }).then(({ status }) => status);
    await soon("the key is known", async () => (await withKey()) === 200);
    await cluster.call(api, `DELETE /v1/api-keys/${textOf(made.body["id"])}`);
    await soon("the key is gone", async () => (await withKey()) === 401);
    const schema = { type: "object", required: ["total"] };
    await cluster.call(api, "PUT /v1/event-types/order.paid", { schema });
    const event = { event_type: "order.paid", data: { n: 1 } };
    await soon("the schema is known", async () => {
      const { status } = await cluster.call(other, "POST /v1/events", event);
      return status === 400;
    });
  });
});

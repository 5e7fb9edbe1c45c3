import assert from "node:assert/strict";
import { test } from "node:test";
import { metricsRead } from "../../monitoring/monitoring-files.fixture.ts";
import { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { ownPrefixes } from "./own-prefixes.fixture.ts";
import { metricsOf, post, Probed, readiness, reasonsOf } from "./probed.fixture.ts";

test("WDS-206 WDS-209 WDS-17 without RabbitMQ and Redis a worker reports that, is still ready, and delivers", async (t) => {
  const prefixes = ownPrefixes();
  const { queueUrl, redisUrl } = prefixes.values;
  const [wayToQueue, wayToRedis] = await Promise.all([
    CuttingProxy.to(Number(new URL(queueUrl).port || "5672")),
    CuttingProxy.to(Number(new URL(redisUrl).port || "6379")),
  ]);
  const { probed } = await Probed.open(t, {
    ...prefixes.env,
    POSTHORN_QUEUE_URL: wayToQueue.addressOf(queueUrl),
    POSTHORN_REDIS_URL: wayToRedis.addressOf(redisUrl),
  });
  t.after(async () => {
    await probed.end();
    await Promise.all([wayToQueue.close(), wayToRedis.close()]);
    await prefixes.remove();
  });
  const receiver = await probed.receiver();
  const [api, worker] = await Promise.all([probed.start("api"), probed.start("worker")]);
  assert.deepEqual(await readiness(worker.url), { status: 200, body: { status: "ok", reasons: [] } });
  const whole = await metricsOf(worker.url);
  for (const line of [
    "posthorn_queue_connected 1",
    'posthorn_queue_hints{pool="default",priority="high"} 0',
    "posthorn_queue_parked 0",
    "posthorn_queue_dropped_total 0",
    "posthorn_shared_state_available 1",
    "posthorn_shared_state_errors_total 0",
  ])
    assert.ok(whole.split("\n").includes(line), line);
  const told = new Set((await metricsOf(api.url)).concat("\n", whole).match(/(?<=^# TYPE )\w+/gm));
  const missing = [...metricsRead()].filter((name) => !told.has(name));
  assert.deepEqual(missing, [], "alerts and dashboards read what no process tells");

  await Promise.all([wayToQueue.cut(), wayToRedis.cut()]);
  const reasons = ["queue_unavailable", "shared_state_unavailable"];
  for (const { url } of [api, worker]) {
    const poorer = await eventually("both are missed", {
      ask: () => readiness(url),
      holds: (answer) => reasonsOf(answer).length === 2,
    });
    assert.deepEqual(poorer, { status: 200, body: { status: "ok", reasons } });
  }
  const poor = await metricsOf(worker.url);
  assert.match(poor, /^posthorn_queue_connected 0$/m);
  assert.match(poor, /^posthorn_shared_state_available 0$/m);
  assert.doesNotMatch(poor, /^posthorn_queue_hints/m, "numbers that nobody knows");
  await post(`${api.url}/v1/webhooks`, { url: receiver.url("/"), events: ["*"] });
  await post(`${api.url}/v1/events`, { event_type: "order.paid", data: { id: 1 } });
  await receiver.waitForRequests(1);

  await Promise.all([wayToQueue.restore(), wayToRedis.restore()]);
  await eventually("both are back", {
    ask: () => readiness(worker.url),
    holds: (answer) => answer !== null && reasonsOf(answer).length === 0,
  });
  assert.match(await metricsOf(worker.url), /^posthorn_queue_connected 1$/m);
});

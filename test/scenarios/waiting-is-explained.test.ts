/** A delivery that waits says for what and until when, and goes out when that is over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { itemsOf, textOf } from "./api/client.ts";
import { eventually } from "./eventually.ts";
import { servedScene } from "./served-scene.ts";
import { fieldOf } from "./tenant-scene.ts";
import type { TenantScene } from "./tenant-scene.ts";

const sceneOfTest = servedScene();

test("ten failures open the circuit; what comes then is circuit_blocked until a reset", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  receiver.script(() => ({ status: 500 }));
  const id = await scene.addWebhook();
  for (let n = 0; n < 10; n += 1) await scene.publish({ event_type: `order.n${n}` });
  await receiver.waitForRequests(10);
  await eventually("the circuit opens", {
    ask: () => circuitOf(scene, id),
    holds: (state) => state === "open",
  });
  const held = await scene.publish({ event_type: "order.held" });
  const delivery = await scene.deliveryOf(held);
  assert.equal(delivery["status"], "circuit_blocked");
  assert.equal(delivery["waiting_for"], "circuit_open");
  assert.ok(Date.parse(textOf(delivery["waiting_until"])) > Date.now());
  const blocked = itemsOf(
    (await api.get(`/v1/webhooks/${id}/deliveries?status=circuit_blocked`)).body["data"],
  );
  assert.ok(blocked.some((row) => row["id"] === delivery["id"]));
  const metrics = (await api.get("/metrics")).text;
  assert.match(
    metrics,
    /^webhook_circuit_breaker_transitions_total\{.*from_state="closed".*to_state="open".*\} 1$/m,
  );
  assert.equal(receiver.requestCount, 10);
  receiver.script(() => ({}));
  await scene.change(`${id}/circuit-breaker`, { action: "reset" });
  await scene.reaches(held, "success");
});

test("force_open holds and force_close lets go, whatever the receiver says", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  const id = await scene.addWebhook();
  await scene.change(`${id}/circuit-breaker`, { action: "force_open" });
  const held = await scene.publish({ event_type: "order.held" });
  assert.equal((await scene.deliveryOf(held))["waiting_for"], "circuit_open");
  assert.equal(receiver.requestCount, 0);
  await scene.change(`${id}/circuit-breaker`, { action: "force_close" });
  await scene.reaches(held, "success");
  receiver.script(() => ({ status: 500 }));
  for (let n = 0; n < 12; n += 1) await scene.publish({ event_type: `order.n${n}` });
  await receiver.waitForRequests(13);
  assert.equal(await circuitOf(scene, id), "closed");
});

test("WDS-59 WDS-60 WDS-184 beyond the rate limit a delivery waits for rate_limit, which costs no attempt", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  await scene.addWebhook({ rate_limit: { requests_per_minute: 60, burst: 2 } });
  const events = [];
  for (let n = 0; n < 3; n += 1) events.push(await scene.publish({ event_type: `order.n${n}` }));
  await receiver.waitForRequests(2);
  const last = await scene.deliveryOf(events[2] ?? "");
  assert.equal(last["status"], "pending");
  assert.equal(last["waiting_for"], "rate_limit");
  assert.ok(Date.parse(textOf(last["waiting_until"])) <= Date.now() + 2_000);
  const attempts = await scene.attemptsAt(events[2] ?? "", "success");
  assert.deepEqual(fieldOf(attempts, "attempt_number"), [1]);
  assert.match((await api.get("/metrics")).text, /^webhook_rate_limit_hits_total\{.*\} [1-9]/m);
});

test("in strict order the next one waits for order while the first is retried", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  receiver.script((_, index) => ({ status: index === 0 ? 500 : 200 }));
  await scene.addWebhook({ ordering_guarantee: "strict", retry_config: { schedule_ms: [1_500] } });
  const first = await scene.publish({ event_type: "order.first" });
  await receiver.waitForRequests(1);
  const second = await scene.publish({ event_type: "order.second" });
  const waiting = await eventually("the first waits for its retry", {
    ask: () => scene.deliveryOf(first),
    holds: (delivery) => (delivery["status"] as unknown) === "failed",
  });
  assert.equal(waiting["waiting_for"], "schedule");
  const next = await scene.deliveryOf(second);
  assert.equal(next["waiting_for"], "order");
  await scene.reaches(second, "success");
  assert.match(receiver.requests[1]?.text ?? "", /first/);
});

test("Retry-After as a date closes the endpoint until then", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  const until = new Date(Date.now() + 60_000);
  receiver.script(() => ({ status: 503, headers: { "Retry-After": until.toUTCString() } }));
  await scene.addWebhook();
  const event = await scene.publish({ event_type: "order.busy" });
  await eventually("the attempt is recorded", {
    ask: () => scene.deliveryOf(event),
    holds: (row) => (row["status"] as unknown) === "failed",
  });
  const delivery = await scene.deliveryOf(await scene.publish({ event_type: "order.next" }));
  assert.equal(delivery["waiting_for"], "retry_after", JSON.stringify(delivery));
  assert.equal(receiver.requestCount, 1);
  const waitsUntil = Date.parse(textOf(delivery["waiting_until"]));
  assert.ok(waitsUntil >= until.getTime() - 1_000, JSON.stringify(delivery));
  assert.ok(waitsUntil <= until.getTime() + 30_000, JSON.stringify(delivery));
});

test("a test event goes the whole path to one webhook alone", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  const id = await scene.addWebhook();
  await scene.addWebhook();
  const sent = (await api.post(`/v1/webhooks/${id}/test`)).body;
  await receiver.waitForRequests(1);
  await scene.reaches(textOf(sent["event_id"]), "success");
  assert.equal((await scene.deliveryOf(textOf(sent["event_id"])))["origin"], "test");
  assert.equal(receiver.requestCount, 1);
});

async function circuitOf(scene: TenantScene, id: string): Promise<unknown> {
  return (await scene.health(id))["circuit_breaker"]?.["state"];
}

/** A delivery that waits says for what and until when, and goes out when that is over. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { createClient, itemsOf, textOf } from "./api/client.ts";
import type { Client, Json } from "./api/client.ts";
import { eventually } from "./eventually.ts";
import { PosthornProcess } from "./posthorn-process.ts";

let posthorn: PosthornProcess;
let api: Client;
let receiver: Receiver;
let word = "";
let tests = 0;

before(async () => {
  posthorn = await PosthornProcess.start();
  api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
});
beforeEach(async () => {
  receiver = await startReceiver();
  word = `w${++tests}`;
});
afterEach(async () => {
  await receiver.close();
});
after(async () => {
  await posthorn.remove();
});

test("ten failures open the circuit; what comes then is circuit_blocked until a reset", async () => {
  receiver.script(() => ({ status: 500 }));
  const id = await makeWebhook({});
  for (let n = 0; n < 10; n += 1) await publish(`${word}.n${n}`);
  await receiver.waitForRequests(10);
  await eventually("the circuit opens", { ask: () => circuitOf(id), holds: (state) => state === "open" });
  const held = await publish(`${word}.held`);
  const delivery = await deliveryOf(held);
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
  await circuit(id, "reset");
  await succeeds(held);
});

test("force_open holds and force_close lets go, whatever the receiver says", async () => {
  const id = await makeWebhook({});
  await circuit(id, "force_open");
  const held = await publish(`${word}.held`);
  assert.equal((await deliveryOf(held))["waiting_for"], "circuit_open");
  assert.equal(receiver.requestCount, 0);
  await circuit(id, "force_close");
  await succeeds(held);
  receiver.script(() => ({ status: 500 }));
  for (let n = 0; n < 12; n += 1) await publish(`${word}.n${n}`);
  await receiver.waitForRequests(13);
  assert.equal(await circuitOf(id), "closed");
});

test("WDS-59 WDS-60 beyond the rate limit a delivery waits for rate_limit", async () => {
  await makeWebhook({ rate_limit: { requests_per_minute: 60, burst: 2 } });
  const events = [];
  for (let n = 0; n < 3; n += 1) events.push(await publish(`${word}.n${n}`));
  await receiver.waitForRequests(2);
  const last = await deliveryOf(events[2] ?? "");
  assert.equal(last["status"], "pending");
  assert.equal(last["waiting_for"], "rate_limit");
  assert.ok(Date.parse(textOf(last["waiting_until"])) <= Date.now() + 2_000);
  await succeeds(events[2] ?? "");
  assert.match((await api.get("/metrics")).text, /^webhook_rate_limit_hits_total\{.*\} [1-9]/m);
});

test("in strict order the next one waits for order while the first is retried", async () => {
  receiver.script((_, index) => ({ status: index === 0 ? 500 : 200 }));
  await makeWebhook({ ordering_guarantee: "strict", retry_config: { schedule_ms: [1_500] } });
  const first = await publish(`${word}.first`);
  await receiver.waitForRequests(1);
  const second = await publish(`${word}.second`);
  const waiting = await eventually("the first waits for its retry", {
    ask: () => deliveryOf(first),
    holds: (delivery) => (delivery["status"] as unknown) === "failed",
  });
  assert.equal(waiting["waiting_for"], "schedule");
  const next = await deliveryOf(second);
  assert.equal(next["waiting_for"], "order");
  await succeeds(second);
  assert.match(receiver.requests[1]?.text ?? "", /first/);
});

test("Retry-After as a date closes the endpoint until then", async () => {
  const until = new Date(Date.now() + 60_000);
  receiver.script(() => ({ status: 503, headers: { "Retry-After": until.toUTCString() } }));
  await makeWebhook({});
  const event = await publish(`${word}.busy`);
  await eventually("the attempt is recorded", {
    ask: () => deliveryOf(event),
    holds: (row) => (row["status"] as unknown) === "failed",
  });
  const delivery = await deliveryOf(await publish(`${word}.next`));
  assert.equal(delivery["waiting_for"], "retry_after", JSON.stringify(delivery));
  assert.equal(receiver.requestCount, 1);
  const waitsUntil = Date.parse(textOf(delivery["waiting_until"]));
  assert.ok(waitsUntil >= until.getTime() - 1_000, JSON.stringify(delivery));
  assert.ok(waitsUntil <= until.getTime() + 30_000, JSON.stringify(delivery));
});

test("a test event goes the whole path to one webhook alone", async () => {
  const id = await makeWebhook({});
  await makeWebhook({});
  const sent = (await api.post(`/v1/webhooks/${id}/test`)).body;
  await receiver.waitForRequests(1);
  await succeeds(textOf(sent["event_id"]));
  assert.equal((await deliveryOf(textOf(sent["event_id"])))["origin"], "test");
  assert.equal(receiver.requestCount, 1);
});

async function makeWebhook(more: object): Promise<string> {
  const made = await api.post("/v1/webhooks", {
    ...{ url: receiver.url(), events: [`${word}.*`], signing: { schemes: ["v1"] } },
    ...more,
  });
  assert.equal(made.status, 201, made.text);
  return textOf(made.body["id"]);
}

async function publish(eventType: string): Promise<string> {
  const reply = await api.post("/v1/events", { event_type: eventType, data: { of: eventType } });
  assert.equal(reply.status, 202, reply.text);
  return textOf(reply.body["id"]);
}

async function deliveryOf(event: string): Promise<Json> {
  const [delivery] = itemsOf((await api.get(`/v1/events/${event}/deliveries`)).body["data"]);
  assert.ok(delivery !== undefined);
  return delivery;
}

function succeeds(event: string): Promise<Json> {
  return eventually("the delivery succeeds", {
    ask: () => deliveryOf(event),
    holds: (delivery) => (delivery["status"] as unknown) === "success",
  });
}

async function circuit(id: string, action: string): Promise<void> {
  const reply = await api.call("PATCH", `/v1/webhooks/${id}/circuit-breaker`, { body: { action } });
  assert.equal(reply.status, 200, reply.text);
}

async function circuitOf(id: string): Promise<unknown> {
  return (await api.get(`/v1/webhooks/${id}/health`)).body["circuit_breaker"]?.["state"];
}

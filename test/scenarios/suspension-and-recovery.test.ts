/**
 * A receiver that no longer exists or refuses permanently: Posthorn stops sending, reports it, and recovers missed
 * events.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReceivedRequest } from "../peers/receiver.ts";
import { assertProblem, itemsOf, textOf } from "./api/client.fixture.ts";
import type { Json } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { servedScene } from "./served-scene.fixture.ts";
import type { TenantScene } from "./tenant-scene.fixture.ts";

const sceneOfTest = servedScene();

// Must be the first test, because upkeep runs five seconds after the server starts and then once a minute.
test("deleting a webhook cancels its waiting deliveries", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  receiver.script(() => "hang");
  const id = await scene.addWebhook({ url: receiver.url("/") });
  await api.call("PATCH", `/v1/webhooks/${id}/circuit-breaker`, { body: { action: "force_open" } });
  const event = await scene.publish({ event_type: "order.held" });
  assert.equal(await deliveryStatus(scene, event), "circuit_blocked");
  assert.equal((await api.call("DELETE", `/v1/webhooks/${id}`)).status, 204);
  await eventually("the delivery is cancelled", {
    ask: () => deliveryStatus(scene, event),
    holds: (status) => status === "cancelled",
  });
  assertProblem(await api.get(`/v1/webhooks/${id}`), { status: 404, code: "not_found" });
  assert.equal(receiver.requestCount, 0);
});

test("EDS-9.2.3-8 CEW-2.2-8 410 suspends at once, a subscriber of posthorn.* is notified, and enabling continues", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  receiver.script(({ path }) => ({ status: path === "/gone" ? 410 : 200 }));
  await scene.addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"] });
  const id = await scene.addWebhook({ url: receiver.url("/gone") });
  await scene.publish({ event_type: "order.first" });
  const webhook = await statusOf(scene, id, "suspended");
  assert.equal(webhook["active"], false);
  assert.equal(webhook["status_reason"], "gone");

  // The notifications about the webhook, about the response that needs attention, and about its consequences may come
  // in any order.
  const types = ["created", "attention", "exhausted", "suspended"].map((name) => `posthorn.webhook.${name}`);
  await receiver.waitUntil(() => requestsTo(scene, "/told").length > types.length);
  const told = requestsTo(scene, "/told").map(({ text }) => JSON.parse(text) as Json);
  for (const event of told) assert.equal(event["data"]?.["webhook_id"], id);
  assert.deepEqual(
    new Set(told.map((event): unknown => event["type"])),
    new Set(["posthorn.problem.opened", ...types]),
  );

  const missed = await scene.publish({ event_type: "order.second" });
  assert.equal(await deliveryStatus(scene, missed), "skipped");
  receiver.script(() => ({}));
  assert.equal((await api.post(`/v1/webhooks/${id}/enable`)).body["status"], "active");
  await scene.publish({ event_type: "order.third" });
  await receiver.waitUntil(() => requestsTo(scene, "/gone").length === 2);
  assert.match(requestsTo(scene, "/gone")[1]?.text ?? "", /third/);
});

test("EDS-11.8-3 twenty permanent refusals in a row suspend, nineteen and a success do not", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  let answered = 0;
  receiver.script(() => ({ status: ++answered === 20 ? 200 : 422 }));
  const id = await scene.addWebhook({ url: receiver.url("/strict") });
  for (let n = 0; n < 39; n += 1) await publishSettled(scene, `order.n${n}`);
  assert.equal((await api.get(`/v1/webhooks/${id}`)).body["status"], "active");
  await publishSettled(scene, "order.last");
  await statusOf(scene, id, "suspended");
  assert.equal(receiver.requestCount, 40);
});

test("recover counts, then delivers missed events under the same Webhook-ID", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  const id = await scene.addWebhook({ url: receiver.url("/") });
  await api.post(`/v1/webhooks/${id}/disable`);
  const missed = [];
  for (let n = 0; n < 12; n += 1) missed.push(await scene.publish({ event_type: `order.n${n}` }));
  const since = { since: "2020-01-01", rate_limit: { requests_per_second: 1_000 } };
  assertProblem(await api.post(`/v1/webhooks/${id}/recover`, since), { status: 409, code: "conflict" });
  await api.post(`/v1/webhooks/${id}/enable`);
  const dry = await api.post(`/v1/webhooks/${id}/recover`, { ...since, dry_run: true });
  assert.equal(dry.body["count"], 12, dry.text);
  assert.equal(dry.body["batch_operation_id"], null);
  assert.equal(receiver.requestCount, 0);

  const started = await api.post(`/v1/webhooks/${id}/recover`, since);
  assert.equal(started.status, 202, started.text);
  await receiver.waitForRequests(12);
  assert.deepEqual(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"])), new Set(missed));
  const done = await operationEnds(scene, textOf(started.body["batch_operation_id"]));
  assert.deepEqual([done["status"], done["total"], done["queued"], done["failed"]] as unknown[], [
    "completed",
    12,
    12,
    0,
  ]);
  const again = await api.post(`/v1/webhooks/${id}/recover`, { ...since, dry_run: true });
  assert.equal(again.body["count"], 0, "what was recovered is not counted again");
});

test("a publish counts the created deliveries, including those of webhooks that are not active", async () => {
  const scene = sceneOfTest();
  const { api } = scene;
  const publish = async (eventType: string) =>
    (await api.post("/v1/events", { event_type: eventType, data: {} })).body;
  await scene.addWebhook();
  const disabled = await scene.addWebhook();
  await api.post(`/v1/webhooks/${disabled}/disable`);
  const counted = await publish("order.paid");
  assert.equal(counted["deliveries"], 2);
  const made = await eventually("one is delivered", {
    ask: () => scene.list(`/v1/events/${textOf(counted["id"])}/deliveries`),
    holds: (deliveries) => deliveries.some((delivery) => (delivery["status"] as unknown) === "success"),
  });
  const statuses = new Map(made.map((delivery) => [textOf(delivery["webhook_id"]), delivery["status"]]));
  assert.equal(statuses.size, 2);
  assert.equal(statuses.get(disabled), "skipped");
  assert.equal((await publish("invoice.paid"))["deliveries"], 0);
});

test("WDS-226 a batch retry keeps its rate, shows progress, and stops when cancelled", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  let status = 422;
  receiver.script(() => ({ status }));
  const id = await scene.addWebhook({ url: receiver.url("/") });
  for (let n = 0; n < 15; n += 1) await publishSettled(scene, `order.n${n}`);
  const dead = itemsOf((await api.get(`/v1/dlq?webhook_id=${id}`)).body["data"]);
  assert.equal(dead.length, 15);
  assert.ok(dead.every((delivery) => (delivery["status"] as unknown) === "exhausted"));
  status = 200;
  const startedAt = performance.now();
  const started = await api.post("/v1/dlq/retry-batch", {
    filter: { webhook_ids: [id], failure_categories: ["client_error"] },
    rate_limit: { requests_per_second: 2 },
  });
  assert.equal(started.body["count"], 15, started.text);
  const operation = textOf(started.body["batch_operation_id"]);
  await receiver.waitForRequests(15 + 3);
  const elapsedMs = performance.now() - startedAt;
  assert.ok(elapsedMs > 900, `three retries at two a second took ${elapsedMs} ms`);
  const shown = (await api.get(`/v1/dlq/batch-operations/${operation}`)).body;
  assert.equal(shown["status"], "running");
  assert.ok((shown["queued"] as unknown as number) >= 3, JSON.stringify(shown));

  const cancelled = (await api.call("DELETE", `/v1/dlq/batch-operations/${operation}`)).body;
  assert.equal(cancelled["status"], "cancelled");
  const queued = cancelled["queued"] as unknown as number;
  await receiver.waitForRequests(15 + queued);
  const left = itemsOf((await api.get(`/v1/dlq?webhook_id=${id}`)).body["data"]);
  assert.equal(left.length, 15 - queued, "what was retried is no dead letter any more");
});

test("TS16-118 a manual retry keeps its delivery, and a replay keeps the Webhook-ID and the key", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  receiver.script((_, index) => ({ status: index === 0 ? 422 : 200 }));
  const id = await scene.addWebhook({ url: receiver.url("/") });
  const event = await publishSettled(scene, "order.once");
  const delivery = textOf(itemsOf((await api.get(`/v1/events/${event}/deliveries`)).body["data"])[0]?.["id"]);
  const retried = await api.post(`/v1/webhooks/${id}/deliveries/${delivery}/retry`, { priority: "high" });
  assert.equal(retried.status, 202, retried.text);
  assert.equal(textOf(retried.body["delivery_id"]), delivery);
  await receiver.waitForRequests(2);
  assert.equal((await api.post(`/v1/events/${event}/replay`, { webhook_ids: [id] })).status, 202);
  await receiver.waitForRequests(3);
  const [first, ...others] = receiver.requests.map(identityOf);
  for (const other of others) assert.deepEqual(other, first);
});

/** Publishes an event and returns its ID after its only delivery has stopped waiting. */
async function publishSettled(scene: TenantScene, eventType: string): Promise<string> {
  const event = await scene.publish({ event_type: eventType });
  await eventually(`${eventType} settles`, {
    ask: () => deliveryStatus(scene, event),
    holds: (status) => status === "success" || status === "exhausted",
  });
  return event;
}

async function deliveryStatus(scene: TenantScene, event: string): Promise<unknown> {
  return (await scene.deliveryOf(event))["status"];
}

function statusOf(scene: TenantScene, id: string, status: string): Promise<Json> {
  return eventually(`webhook ${id} is ${status}`, {
    ask: async () => (await scene.api.get(`/v1/webhooks/${id}`)).body,
    holds: (webhook) => (webhook["status"] as unknown) === status,
  });
}

function operationEnds(scene: TenantScene, id: string): Promise<Json> {
  return eventually("the operation ends", {
    ask: async () => (await scene.api.get(`/v1/dlq/batch-operations/${id}`)).body,
    holds: (operation) => !["pending", "running"].includes(textOf(operation["status"])),
  });
}

function requestsTo({ receiver }: TenantScene, path: string): readonly ReceivedRequest[] {
  return receiver.requests.filter((request) => request.path === path);
}

/** The fields by which a receiver identifies an event. */
function identityOf({ headers, text }: ReceivedRequest): object {
  return { id: headers["webhook-id"], key: headers["idempotency-key"], text };
}

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { membersOf } from "../../src/features/notifications/operational-event-catalogue.ts";
import {
  type OperationalEvent,
  type OperationalEventType,
  operatorTenantId,
} from "../../src/features/notifications/operational-event.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

interface Told {
  readonly type: OperationalEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Operational events that requests to this path contained. */
function toldTo(world: World, path: string): readonly Told[] {
  const requests = world.requests.filter((request) => request.path === path);
  return requests.map(({ body }) => JSON.parse(Buffer.from(body).toString()) as Told);
}

const namesOf = (told: readonly Told[]): readonly string[] =>
  told.map(({ type }) => type.replace(/^posthorn\.\w+\./, ""));

async function openListeningWorld(t: TestContext): Promise<World> {
  const world = await openWorld(t, { webhooksPerTenantMax: 3 });
  const { tenants } = world.services;
  await tenants.put(admin, { id: operatorTenantId, input: { name: "Operations" } });
  const listening = { events: ["posthorn.*"], profile: "standard" };
  await world.createWebhook({
    ...listening,
    url: "https://ops.example.com/operator",
    tenantId: operatorTenantId,
  });
  await world.createWebhook({ ...listening, url: "https://example.com/owner" });
  await world.until(() => toldTo(world, "/operator").length === 1);
  world.requests.splice(0);
  return world;
}

test("every change of a webhook is reported to the others of its tenant and to the operator, once", async (t) => {
  const world = await openListeningWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ events: ["order.*"] });
  const { id } = webhook;
  await webhooks.update(admin, { id, input: { description: "orders" } });
  await webhooks.update(admin, { id, input: { description: "orders" } });
  await webhooks.rotateSecret(admin, { id, mode: "graceful" });
  await webhooks.pause(admin, { id, reason: "maintenance" });
  await webhooks.resume(admin, id);
  await webhooks.resume(admin, id);
  await webhooks.disable(admin, id);
  await webhooks.enable(admin, id);
  await webhooks.delete(admin, id);
  const expected = [
    "created",
    "updated",
    "secret_rotated",
    "paused",
    "resumed",
    "disabled",
    "enabled",
    "deleted",
  ];
  for (const path of ["/owner", "/operator"]) {
    await world.until(() => toldTo(world, path).length === expected.length);
    assert.deepEqual(namesOf(toldTo(world, path)).toSorted(), expected.toSorted());
  }
  for (const { type, data } of toldTo(world, "/operator")) {
    assert.deepEqual([data["webhook_id"], data["tenant_id"]], [id, "default"]);
    assert.deepEqual(Object.keys(data), Object.keys(membersOf(type)), `${type} is what its description says`);
  }
});

test("another tenant gets nothing", async (t) => {
  const world = await openListeningWorld(t);
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  await world.createWebhook({
    tenantId: "acme",
    url: "https://acme.example.com/acme",
    events: ["posthorn.*"],
  });
  await world.createWebhook({ url: "https://example.com/third" });
  await world.until(() => toldTo(world, "/operator").length === 2);
  assert.deepEqual(namesOf(toldTo(world, "/owner")), ["created"]);
  assert.deepEqual(toldTo(world, "/acme"), []);
});

test("a tenant that reaches its limit is notified once an hour", async (t) => {
  const world = await openListeningWorld(t);
  await world.createWebhook();
  await world.createWebhook();
  for (let count = 0; count < 3; count += 1)
    await assert.rejects(world.createWebhook(), { code: "limit_reached" });
  await world.until(() => namesOf(toldTo(world, "/operator")).includes("limit_reached"));
  world.skipTime(3_600_000);
  await assert.rejects(world.createWebhook(), { code: "limit_reached" });
  const limits = () => toldTo(world, "/operator").filter(({ type }) => type.endsWith("limit_reached"));
  const told = await world.until(() => limits().length === 2 && limits());
  assert.deepEqual(Object.keys(told[0]?.data ?? {}), Object.keys(membersOf("posthorn.tenant.limit_reached")));
  assert.deepEqual([told[0]?.data["limit"], told[0]?.data["value"]], ["webhooks_max", 3]);
});

test("WDS-146 WDS-148 an opening and closing circuit is reported, also when changed manually, and one dead letter of each hour", async (t) => {
  const world = await openListeningWorld(t);
  const { webhook } = await world.createWebhook({ profile: "standard", events: ["order.*"] });
  const { id } = webhook;
  await world.services.webhooks.circuit(admin, { id, action: "force_open" });
  await world.services.webhooks.circuit(admin, { id, action: "reset" });
  world.statuses.set("/hook", 410);
  for (let count = 0; count < 3; count += 1) await world.publish();
  const expected = ["circuit_closed", "circuit_opened", "created", "exhausted", "opened"];
  const told = await world.until(() => {
    const found = toldTo(world, "/operator");
    return expected.every((name) => namesOf(found).includes(name)) && found;
  });
  for (const { type, data } of told)
    assert.deepEqual(Object.keys(data), Object.keys(membersOf(type)), `${type} is what its description says`);
});

test("deliveries that become too old while their webhook is closed are reported once an hour", async (t) => {
  const world = await openListeningWorld(t);
  const { webhook } = await world.createWebhook({ profile: "standard", events: ["order.*"] });
  await world.services.webhooks.pause(admin, { id: webhook.id });
  for (let count = 0; count < 3; count += 1) await world.publish();
  world.skipTime(9 * 86_400_000);
  await world.engine.upkeepRound();
  const exhausted = () =>
    toldTo(world, "/operator").filter(
      ({ type, data }) => type.endsWith("exhausted") && data["webhook_id"] === webhook.id,
    );
  const [first] = await world.until(() => exhausted().length > 0 && exhausted());
  assert.deepEqual(Object.keys(first?.data ?? {}), Object.keys(membersOf("posthorn.webhook.exhausted")));
  assert.equal(first?.data["reason"], "expired");
  await world.until(async () => (await world.store.notifications.pendingEvents(9)).length === 0);
  assert.equal(exhausted().length, 1);
});

test("an event published right before a crash is not published again", async (t) => {
  const world = await openListeningWorld(t);
  const queue = world.store.notifications;
  assert.ok(queue);
  await world.createWebhook();
  await world.until(() => toldTo(world, "/operator").length === 1);
  // Simulates that the process died after the publish but before the event was marked as published. The same event is
  // then pending again.
  const [again] = await told(world);
  assert.ok(again);
  await world.until(async () => (await queue.pendingEvents(9)).length === 0);
  await queue.forget(Number.MAX_SAFE_INTEGER, 99);
  await queue.appendEvents([again]);
  await world.restart();
  await world.until(async () => (await world.store.notifications.pendingEvents(9)).length === 0);
  const type = "posthorn.webhook.updated" as const;
  await world.store.notifications.appendEvents([{ ...again, type, key: `${again.key}:later` }]);
  world.engine.relay.stored();
  await world.until(() => namesOf(toldTo(world, "/operator")).includes("updated"));
  assert.deepEqual(namesOf(toldTo(world, "/operator")), ["created", "updated"]);
});

/** The operational events that the operator's webhook has received, in their stored form. */
async function told(world: World): Promise<readonly OperationalEvent[]> {
  return toldTo(world, "/operator").map(({ type, data }) => ({
    key: `${type}:${String(data["webhook_id"])}:`,
    type,
    tenantId: String(data["tenant_id"]),
    webhookId: String(data["webhook_id"]),
    at: Date.parse(String(data["occurred_at"])),
    data,
  }));
}

test("no webhook is notified about itself, and two that are notified about each other cause no loop", async (t) => {
  const world = await openListeningWorld(t);
  const { webhooks } = world.services;
  const second = await world.createWebhook({
    url: "https://example.com/second",
    events: ["posthorn.*"],
    profile: "standard",
  });
  await world.until(() => toldTo(world, "/operator").length === 1);
  world.requests.splice(0);
  await webhooks.circuit(admin, { id: second.webhook.id, action: "force_open" });
  await webhooks.update(admin, { id: second.webhook.id, input: { description: "second" } });
  await world.until(() => toldTo(world, "/operator").length === 2);
  await world.until(() => toldTo(world, "/owner").length === 1);
  assert.deepEqual(namesOf(toldTo(world, "/operator")).toSorted(), ["circuit_opened", "updated"]);
  assert.deepEqual(namesOf(toldTo(world, "/owner")), ["updated"]);
  assert.deepEqual(toldTo(world, "/second"), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import type {
  DeliveryFilters,
  DeliveryPage,
  DeliveryStatus,
  RetryBatchCommand,
  WebhookInput,
} from "../../src/features/services.ts";
import type { SearchedPlace } from "../../src/features/searched-pages.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;
const page = { limit: 50, before: null, offset: 0 };
const searchPage = { limit: 50, after: null, offset: 0 };
const everyDeadLetter = {
  tenantId: null,
  webhookIds: null,
  eventTypes: null,
  categories: null,
  from: null,
  to: null,
  page,
};
const batch: RetryBatchCommand = {
  webhookIds: null,
  eventTypes: null,
  categories: null,
  from: null,
  to: null,
  requestsPerSecond: 500,
  priority: "normal",
  dryRun: false,
};

async function withStatus(
  world: World,
  query: { readonly webhookId: string; readonly status: DeliveryStatus; readonly count: number },
) {
  return world.until(async () => {
    const { webhookId, status } = query;
    const { rows } = await world.services.deliveries.listOfWebhook(admin, {
      webhookId,
      statuses: [status],
      page: searchPage,
    });
    return rows.length >= query.count && rows;
  });
}

/** A webhook whose receiver refuses everything, with this many dead letters. */
async function deadLetters(world: World, count: number) {
  world.statuses.set("/dead", 400);
  const { webhook } = await world.createWebhook({ url: "https://example.com/dead" });
  for (let index = 0; index < count; index += 1) await world.publish({ data: { index } });
  await withStatus(world, { webhookId: webhook.id, status: "exhausted", count });
  await world.services.webhooks.enable(admin, webhook.id);
  return webhook;
}

test("TS16-118 WDS-111 a retry keeps the delivery: same id, next attempt, no dead letter; a success is copied", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 1);
  const { deliveries, deadLetters: letters } = world.services;
  const [dead] = await withStatus(world, { webhookId: webhook.id, status: "exhausted", count: 1 });
  const deliveryId = dead?.delivery.id ?? "";
  assert.equal((await letters.list(admin, everyDeadLetter)).rows.length, 1);
  world.statuses.clear();
  const retried = await deliveries.retry(admin, { webhookId: webhook.id, deliveryId, priority: "high" });
  assert.deepEqual([retried.deliveryId, retried.replayOf], [deliveryId, null]);
  const [view] = await withStatus(world, { webhookId: webhook.id, status: "success", count: 1 });
  assert.equal(view?.delivery.id, deliveryId);
  assert.deepEqual([view?.delivery.origin, view?.delivery.priority], ["publish", "high"]);
  assert.equal((await letters.list(admin, everyDeadLetter)).rows.length, 0);
  const { attempts } = await deliveries.get(admin, deliveryId);
  assert.deepEqual(
    attempts.map(({ number, outcome }) => [number, outcome]),
    [
      [1, "terminal"],
      [2, "accepted"],
    ],
  );
  const again = await deliveries.retry(admin, { webhookId: webhook.id, deliveryId, priority: null });
  assert.notEqual(again.deliveryId, deliveryId);
  assert.equal(again.replayOf, deliveryId);
  await withStatus(world, { webhookId: webhook.id, status: "success", count: 2 });
  const original = await deliveries.get(admin, deliveryId);
  assert.equal(original.view.delivery.replayedBy, again.deliveryId);
  assert.equal(original.attempts.length, 2);
});

test("a retry behind an open circuit says what it waits for, and is not repeated by another call", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 1);
  const { deliveries, webhooks } = world.services;
  const [dead] = await withStatus(world, { webhookId: webhook.id, status: "exhausted", count: 1 });
  const deliveryId = dead?.delivery.id ?? "";
  world.statuses.clear();
  await webhooks.circuit(admin, { id: webhook.id, action: "force_open", durationSeconds: 600 });
  const command = { webhookId: webhook.id, deliveryId, priority: null };
  const sentBefore = world.requests.length;
  const retried = await deliveries.retry(admin, command);
  assert.deepEqual([retried.status, retried.waitingFor], ["circuit_blocked", "circuit_open"]);
  await deliveries.retry(admin, command);
  const { view } = await deliveries.get(admin, deliveryId);
  assert.equal(view.delivery.retries.length, 1);
  assert.equal(world.requests.length, sentBefore);
  await webhooks.circuit(admin, { id: webhook.id, action: "reset" });
  await withStatus(world, { webhookId: webhook.id, status: "success", count: 1 });
  assert.equal(world.requests.length, sentBefore + 1);
});

test("a retry requires a delivery of this webhook and tenant, otherwise nothing happens", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 1);
  const other = await world.createWebhook({ events: ["nothing"] });
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  const { deliveries } = world.services;
  const [dead] = await withStatus(world, { webhookId: webhook.id, status: "exhausted", count: 1 });
  const deliveryId = dead?.delivery.id ?? "";
  const retry = { webhookId: webhook.id, deliveryId, priority: null };
  await assert.rejects(deliveries.retry({ tenantId: "acme" }, retry), code("not_found"));
  await assert.rejects(deliveries.get({ tenantId: "acme" }, deliveryId), code("not_found"));
  await assert.rejects(deliveries.retry(admin, { ...retry, webhookId: other.webhook.id }), code("not_found"));
  await assert.rejects(deliveries.retry(admin, { ...retry, deliveryId: "nonsense" }), code("not_found"));
  await assert.rejects(
    deliveries.retry(admin, { ...retry, priority: "urgent" as "high" }),
    code("invalid_request"),
  );
  await assert.rejects(
    deliveries.listOfWebhook(admin, {
      webhookId: webhook.id,
      statuses: ["lost" as DeliveryStatus],
      page: searchPage,
    }),
    code("invalid_request"),
  );
  assert.equal(world.requests.length, 1);
});

test("TS16-120 listings by status page without gaps, even if the status is derived", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook();
  const webhookId = webhook.id;
  await world.services.webhooks.circuit(admin, { id: webhookId, action: "force_open", durationSeconds: 60 });
  for (let count = 0; count < 7; count += 1) await world.publish();
  for (const status of ["circuit_blocked", "pending"] as const) {
    const seen: string[] = [];
    for (let after: SearchedPlace | null = null, rounds = 0; rounds < 10; rounds += 1) {
      const query = { webhookId, statuses: [status], page: { limit: 3, after, offset: 0 } };
      const { rows, next } = await world.services.deliveries.listOfWebhook(admin, query);
      seen.push(...rows.map((view) => view.delivery.id));
      after = next;
      if (next === null) break;
    }
    assert.equal(new Set(seen).size, status === "pending" ? 0 : 7);
    assert.equal(seen.length, new Set(seen).size);
  }
  const offset = {
    webhookId,
    statuses: ["circuit_blocked"] as const,
    page: { limit: 3, after: null, offset: 5 },
  };
  assert.equal((await world.services.deliveries.listOfWebhook(admin, offset)).rows.length, 2);
});

test("across all webhooks, stored states and those that only the engine knows are listed together", async (t) => {
  const world = await openWorld(t);
  world.statuses.set("/dead", 422);
  const dead = (await world.createWebhook({ url: "https://example.com/dead" })).webhook.id;
  const blocked = (await world.createWebhook({ url: "https://example.com/blocked" })).webhook.id;
  await world.services.webhooks.circuit(admin, { id: blocked, action: "force_open", durationSeconds: 60 });
  for (let count = 0; count < 3; count += 1) await world.publish();
  await withStatus(world, { webhookId: dead, status: "exhausted", count: 3 });
  const { deliveries } = world.services;
  const found = async (query: DeliveryFilters): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let after: SearchedPlace | null = null; ; ) {
      const { rows, next }: DeliveryPage = await deliveries.list(admin, {
        ...query,
        page: { limit: 2, after, offset: 0 },
      });
      for (const { delivery, webhook } of rows) {
        assert.equal(webhook?.id, delivery.webhookId);
        ids.push(delivery.webhookId);
      }
      if (next === null) return ids;
      after = next;
    }
  };
  const three = (id: string) => Array.from({ length: 3 }, () => id);
  assert.deepEqual(await found({ statuses: ["circuit_blocked"] }), three(blocked));
  assert.deepEqual(await found({ waitingFor: ["circuit_open"], order: "next_attempt" }), three(blocked));
  assert.deepEqual(await found({ waitingFor: ["schedule", "order"] }), []);
  assert.deepEqual(await found({ statuses: ["pending", "failed"] }), []);
  assert.deepEqual(await found({ httpStatuses: ["4xx"], statuses: ["exhausted"] }), three(dead));
  assert.equal((await found({ statuses: ["circuit_blocked", "exhausted"] })).length, 6);
  assert.equal((await found({ statuses: ["circuit_blocked", "exhausted"], webhookIds: [dead] })).length, 3);
  const skipped = await deliveries.list(admin, { page: { limit: 3, after: null, offset: 4 } });
  assert.deepEqual([skipped.rows.length, skipped.next], [2, null]);
});

test("an event shows for each webhook of its tenant whether it was sent, or the first reason why not", async (t) => {
  const world = await openWorld(t);
  const { webhooks, events, tenants } = world.services;
  const made = async (input: WebhookInput) => (await world.createWebhook(input)).webhook.id;
  const sent = await made({ events: ["order.*"] });
  const other = await made({ events: ["user.*"] });
  const disabled = await made({ events: ["order.*"] });
  await webhooks.disable(admin, disabled);
  const changed = await made({ events: ["user.*"] });
  await tenants.put(admin, { id: "acme", input: {} });
  await webhooks.create({ tenantId: "acme" }, { url: "https://example.com/", events: ["order.*"] });
  const eventId = await world.publish({ eventType: "order.created" });
  await webhooks.update(admin, { id: changed, input: { events: ["order.*"] } });
  world.skipTime(1_000);
  const later = await made({ events: ["*"] });
  const { rows, next } = await events.matches(admin, {
    eventId,
    page: { limit: 50, offset: 0, after: null },
  });
  assert.equal(next, null);
  assert.deepEqual(
    rows.map(({ webhook, reason, delivery }) => [webhook.id, reason, delivery !== null]),
    [
      [later, "made_later", false],
      [changed, "changed_later", false],
      [disabled, "inactive", true],
      [other, "other_type", false],
      [sent, null, true],
    ],
  );
  const first = await events.matches(admin, { eventId, page: { limit: 3, offset: 0, after: null } });
  const rest = await events.matches(admin, { eventId, page: { limit: 3, offset: 0, after: first.next } });
  assert.deepEqual(
    [...first.rows, ...rest.rows].map(({ webhook }) => webhook.id),
    rows.map(({ webhook }) => webhook.id),
  );
  const page = { limit: 3, offset: 0, after: null };
  await assert.rejects(events.matches({ tenantId: "acme" }, { eventId, page }), code("not_found"));
});

test("WDS-226 WDS-112 a batch retry delivers what it selects, at its rate, and nothing twice", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 12);
  const { deadLetters: letters } = world.services;
  assert.deepEqual(await letters.retryBatch(admin, { ...batch, dryRun: true }), {
    operation: null,
    count: 12,
    inactive: [],
    openCircuits: [],
  });
  assert.equal((await letters.retryBatch(admin, { ...batch, dryRun: true, eventTypes: ["other"] })).count, 0);
  assert.equal(
    (await letters.retryBatch(admin, { ...batch, dryRun: true, categories: ["client_error"] })).count,
    12,
  );
  world.statuses.clear();
  const sentBefore = world.requests.length;
  const start = performance.now();
  const { operation } = await letters.retryBatch(admin, { ...batch, requestsPerSecond: 40 });
  assert.equal(operation?.status, "pending");
  await withStatus(world, { webhookId: webhook.id, status: "success", count: 12 });
  // At forty per second, two deliveries are sent together every 50 ms. Six groups have five pauses between them.
  assert.ok(performance.now() - start >= 5 * 50, "twelve at forty a second take a quarter of a second");
  const done = await world.until(async () => {
    const now = await letters.operation(admin, operation?.id ?? "");
    return now.status === "completed" && now;
  });
  assert.deepEqual([done.total, done.queued, done.failed], [12, 12, 0]);
  assert.equal(world.requests.length - sentBefore, 12);
  assert.equal((await letters.retryBatch(admin, { ...batch, dryRun: true })).count, 0);
});

test("a publish counts the delivery that it creates for a webhook that is not active", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook({ active: false });
  const { deliveries } = await world.engine.publisher.publish(admin, {
    eventType: "order.created",
    data: { id: 1 },
  });
  assert.equal(deliveries, 1);
  await withStatus(world, { webhookId: webhook.id, status: "skipped", count: 1 });
});

test("a batch retry names webhooks that are not active, and the reason of each skipped delivery", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 2);
  const { webhooks, deadLetters: letters } = world.services;
  await webhooks.disable(admin, webhook.id);
  await world.publish({ data: { late: true } });
  const [skipped] = await withStatus(world, { webhookId: webhook.id, status: "skipped", count: 1 });
  assert.equal(skipped?.delivery.progress.reason, "webhook_disabled");
  const { inactive } = await letters.retryBatch(admin, { ...batch, dryRun: true });
  assert.deepEqual(inactive, [{ webhookId: webhook.id, status: "disabled", count: 2 }]);
  const elsewhere = await letters.retryBatch({ tenantId: "acme" }, { ...batch, dryRun: true });
  assert.deepEqual([elsewhere.count, elsewhere.inactive], [0, []]);
});

test("a batch retry does not retry its own failures: they wait for the next one", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 3);
  const sentBefore = world.requests.length;
  const { operation } = await world.services.deadLetters.retryBatch(admin, batch);
  await world.until(
    async () =>
      (await world.services.deadLetters.operation(admin, operation?.id ?? "")).status === "completed",
  );
  await world.until(
    async () => (await world.services.deadLetters.list(admin, everyDeadLetter)).rows.length === 3,
  );
  assert.equal(world.requests.length - sentBefore, 3);
  assert.equal(
    (await world.services.deadLetters.list(admin, { ...everyDeadLetter, webhookIds: [webhook.id] })).rows
      .length,
    3,
  );
});

test("a restart continues an unfinished operation and repeats nothing", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 10);
  world.statuses.clear();
  const sentBefore = world.requests.length;
  const { operation } = await world.services.deadLetters.retryBatch(admin, {
    ...batch,
    requestsPerSecond: 50,
  });
  await world.until(() => world.requests.length - sentBefore >= 3);
  await world.restart();
  assert.notEqual(
    (await world.services.deadLetters.operation(admin, operation?.id ?? "")).status,
    "cancelled",
  );
  await withStatus(world, { webhookId: webhook.id, status: "success", count: 10 });
  await world.until(
    async () =>
      (await world.services.deadLetters.operation(admin, operation?.id ?? "")).status === "completed",
  );
  assert.equal(world.requests.length - sentBefore, 10);
});

test("a cancelled operation stops, stays cancelled, and cannot be cancelled by other tenants", async (t) => {
  const world = await openWorld(t);
  const webhook = await deadLetters(world, 10);
  world.statuses.clear();
  const { deadLetters: letters } = world.services;
  const { operation } = await letters.retryBatch(
    { tenantId: "default" },
    { ...batch, requestsPerSecond: 0.1 },
  );
  const id = operation?.id ?? "";
  await withStatus(world, { webhookId: webhook.id, status: "success", count: 1 });
  await assert.rejects(letters.cancel({ tenantId: "acme" }, id), code("not_found"));
  const cancelled = await letters.cancel({ tenantId: "default" }, id);
  assert.equal(cancelled.status, "cancelled");
  assert.ok(cancelled.queued < 10);
  assert.equal((await letters.cancel(admin, id)).status, "cancelled");
  await world.restart();
  assert.equal((await world.services.deadLetters.operation(admin, id)).status, "cancelled");
  await assert.rejects(world.services.deadLetters.operation({ tenantId: "acme" }, id), code("not_found"));
});

test("WDS-112 a batch retry is validated as a whole", async (t) => {
  const world = await openWorld(t);
  const bad = {
    webhookIds: [],
    categories: ["nope"],
    requestsPerSecond: 0,
    priority: "urgent",
    from: 2,
    to: 1,
  };
  await assert.rejects(
    world.services.deadLetters.retryBatch(admin, { ...batch, ...bad } as unknown as RetryBatchCommand),
    (error: unknown) => {
      assert.ok(error instanceof PosthornError);
      assert.deepEqual(
        error.fields.map(({ field }) => field),
        [
          "filter.webhook_ids",
          "filter.failure_categories[0]",
          "rate_limit.requests_per_second",
          "priority",
          "filter.to",
        ],
      );
      return true;
    },
  );
});

test("TS16-118 a replay goes to current subscribers, or to named webhooks", async (t) => {
  const world = await openWorld(t);
  const first = await world.createWebhook({ url: "https://example.com/first" });
  const eventId = await world.publish();
  await withStatus(world, { webhookId: first.webhook.id, status: "success", count: 1 });
  const second = await world.createWebhook({ url: "https://example.com/second", events: ["order.*"] });
  const third = await world.createWebhook({ url: "https://example.com/third", events: ["user.*"] });
  const { events } = world.services;
  const all = await events.replay(admin, { eventId, webhookIds: null });
  assert.deepEqual(
    all.map(({ webhookId }) => webhookId),
    [first.webhook.id, second.webhook.id],
  );
  await events.replay(admin, { eventId, webhookIds: [third.webhook.id, third.webhook.id] });
  await world.until(() => world.requests.length === 4);
  assert.deepEqual(world.requests.map(({ path }) => path).toSorted(), [
    "/first",
    "/first",
    "/second",
    "/third",
  ]);
  const listed = await events.deliveries(admin, { eventId, page: searchPage });
  assert.equal(listed.rows.length, 4);
  await assert.rejects(events.replay({ tenantId: "acme" }, { eventId, webhookIds: null }), code("not_found"));
  await assert.rejects(
    events.replay(admin, { eventId, webhookIds: [first.webhook.id, "ghost"] }),
    (error: unknown) => {
      return error instanceof PosthornError && error.fields[0]?.field === "webhook_ids[1]";
    },
  );
  await assert.rejects(events.replay(admin, { eventId, webhookIds: [] }), code("invalid_request"));
  await assert.rejects(events.get({ tenantId: "acme" }, eventId), code("not_found"));
  assert.equal(
    (
      await events.list(admin, {
        eventTypes: ["order.*"],
        page: searchPage,
      })
    ).rows.length,
    1,
  );
});

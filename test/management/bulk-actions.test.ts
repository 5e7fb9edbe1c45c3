import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { PosthornError } from "../../src/domain/errors.ts";
import type { BatchOperation } from "../../src/ports/store/operations.ts";
import type { DeliveryStatus } from "../../src/features/services.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;

const fast = { requestsPerSecond: 1_000 };

async function withStatus(
  world: World,
  query: { readonly webhookId: string; readonly status: DeliveryStatus; readonly count: number },
) {
  return world.until(async () => {
    const { webhookId, status } = query;
    const { rows } = await world.services.deliveries.listOfWebhook(admin, {
      webhookId,
      statuses: [status],
      page: { limit: 250, after: null, offset: 0 },
    });
    return rows.length >= query.count && rows.map(({ delivery }) => delivery);
  });
}

/** A webhook whose deliveries end in the state that its receiver's responses cause. */
async function standing(
  world: World,
  { status, count }: { readonly status: 400 | 500 | 200; readonly count: number },
) {
  const path = `/answers-${status}-${world.statuses.size}`;
  world.statuses.set(path, status);
  const type = `type_${world.statuses.size}`;
  const { webhook } = await world.createWebhook({ url: `https://example.com${path}`, events: [type] });
  for (let index = 0; index < count; index += 1) await world.publish({ eventType: type, data: { index } });
  const states = { 400: "exhausted", 500: "failed", 200: "success" } as const;
  const deliveries = await withStatus(world, { webhookId: webhook.id, status: states[status], count });
  if (status === 400) await world.services.webhooks.enable(admin, webhook.id);
  return { webhook, deliveries, path, type };
}

async function ended(world: World, operation: BatchOperation | null): Promise<BatchOperation> {
  const id = operation?.id ?? "";
  return world.until(async () => {
    const now = await world.services.deadLetters.operation(admin, id);
    return now.status === "completed" && now;
  });
}

suite("bulk actions", () => {
  test("WDS-23 a scheduled batch retry waits for its time, even across a restart, and keeps its rate", async (t) => {
    const world = await openWorld(t);
    const dead = await standing(world, { status: 400, count: 4 });
    world.statuses.clear();
    const sentBefore = world.requests.length;
    const webhookIds = [dead.webhook.id];
    const hourMs = 3_600_000;
    const retry = (startAt: number, requestsPerSecond = 1_000) =>
      world.services.deadLetters.retryBatch(admin, { webhookIds, requestsPerSecond, startAt });
    await assert.rejects(retry(world.now() + 31 * 24 * hourMs), code("invalid_request"));
    const cancelled = await retry(world.now() + hourMs);
    await world.services.deadLetters.cancel(admin, cancelled.operation?.id ?? "");
    const { operation, count } = await retry(world.now() + 2 * hourMs, 8);
    assert.deepEqual([operation?.status, count], ["pending", 4]);
    world.skipTime(hourMs + 60_000);
    await world.restart();
    const waiting = await world.services.deadLetters.operation(admin, operation?.id ?? "");
    assert.deepEqual([waiting.status, world.requests.length - sentBefore], ["pending", 0]);
    world.skipTime(hourMs);
    const begunMs = performance.now();
    await world.restart();
    const done = await ended(world, operation);
    assert.deepEqual([done.queued, done.total], [4, 4]);
    assert.ok(performance.now() - begunMs >= 375, "four at eight a second");
    await withStatus(world, { webhookId: dead.webhook.id, status: "success", count: 4 });
    assert.equal(world.requests.length - sentBefore, 4, "what was cancelled retries nothing");
  });

  test("a retry by filter does what its preview says, once each", async (t) => {
    const world = await openWorld(t);
    const dead = await standing(world, { status: 400, count: 8 });
    await standing(world, { status: 200, count: 2 });
    const { deliveries } = world.services;
    const filter = { webhookIds: [dead.webhook.id], statuses: ["exhausted", "success"] } as const;
    const seen = await deliveries.retryBatch(admin, { filter, dryRun: true });
    assert.deepEqual([seen.count, seen.isExact, seen.operation, seen.excluded], [8, true, null, {}]);
    assert.deepEqual(
      seen.samples.map(({ delivery }) => delivery.id),
      dead.deliveries
        .map(({ id }) => id)
        .toSorted()
        .slice(0, 5),
    );
    assert.equal(seen.durationMs, 800);
    world.statuses.clear();
    const sentBefore = world.requests.length;
    const { operation } = await deliveries.retryBatch(admin, { ...fast, filter, priority: "high" });
    const { selection } = operation ?? {};
    assert.ok(selection?.kind === "search" && selection.filter.to !== null, "an instant, not `now`");
    const done = await ended(world, operation);
    assert.deepEqual([done.total, done.queued, done.failed, done.skipped], [8, 8, 0, {}]);
    const sent = await withStatus(world, { webhookId: dead.webhook.id, status: "success", count: 8 });
    assert.deepEqual(
      [...new Set(sent.map(({ priority, origin }) => `${priority} ${origin}`))],
      ["high publish"],
    );
    assert.equal(world.requests.length - sentBefore, 8);
    const again = await deliveries.retryBatch(admin, { filter: { statuses: ["exhausted"] }, dryRun: true });
    assert.deepEqual([again.count, again.excluded], [0, {}]);
  });

  test("behind an open circuit the preview warns, the operation reports waiting deliveries, and may close the circuit", async (t) => {
    const world = await openWorld(t);
    const { deliveries, deadLetters, webhooks } = world.services;
    const dead = await standing(world, { status: 400, count: 6 });
    const webhookId = dead.webhook.id;
    world.statuses.clear();
    await webhooks.circuit(admin, { id: webhookId, action: "force_open", durationSeconds: 600 });
    const filter = { webhookIds: [webhookId], statuses: ["exhausted"] } as const;
    const seen = await deliveries.retryBatch(admin, { filter, dryRun: true });
    assert.deepEqual(
      seen.openCircuits.map((circuit) => [circuit.webhookId, circuit.count]),
      [[webhookId, 6]],
    );
    const ofDeadLetters = await deadLetters.retryBatch(admin, { webhookIds: [webhookId], dryRun: true });
    assert.deepEqual(ofDeadLetters.openCircuits, seen.openCircuits);
    const recovery = await webhooks.recover(admin, { id: webhookId, since: 0, dryRun: true });
    assert.deepEqual(recovery.openCircuits, seen.openCircuits);

    const sentBefore = world.requests.length;
    const [first = "", ...others] = dead.deliveries.map((delivery) => delivery.id);
    const waiting = [first, ...others.slice(0, 2)];
    const started = await deliveries.retryBatch(admin, { ...fast, ids: waiting });
    // Counts are cached for one second, so this polls until the count is current.
    const reports = (operation: BatchOperation | null, expected: object) =>
      world.until(async () => {
        const { outcome, status } = await deadLetters.operation(admin, operation?.id ?? "");
        return status === "completed" && isDeepStrictEqual(outcome, expected);
      });
    await reports(started.operation, { delivered: 0, failed: 0, waiting: 3 });
    assert.equal(world.requests.length, sentBefore);
    const cancelled = await deliveries.cancelBatch(admin, { ...fast, ids: [first] });
    await ended(world, cancelled.operation);
    await reports(started.operation, { delivered: 0, failed: 1, waiting: 2 });

    const closing = await deliveries.retryBatch(admin, {
      ...fast,
      ids: others.slice(2),
      closeCircuits: true,
    });
    await reports(closing.operation, { delivered: 3, failed: 0, waiting: 0 });
    await reports(started.operation, { delivered: 2, failed: 1, waiting: 0 });
    assert.equal((await webhooks.health(admin, webhookId)).circuit.state, "closed");
    assert.equal(world.requests.length - sentBefore, 5);
    const page = { limit: 250, after: null, offset: 0 };
    assert.equal(
      (await deliveries.list(admin, { webhookIds: [webhookId], page })).rows.length,
      6,
      "no copies",
    );
    const stored = await world.store.operations.get(null, started.operation?.id ?? "");
    assert.deepEqual(stored?.outcome, { delivered: 2, failed: 1, waiting: 0 }, "kept when nothing waits");
  });

  test("an operation that continues after a restart retries nothing twice, although it failed again", async (t) => {
    const world = await openWorld(t);
    const { webhook } = await standing(world, { status: 400, count: 8 });
    const sentBefore = world.requests.length;
    const command = { webhookIds: [webhook.id], requestsPerSecond: 8 };
    const { operation } = await world.services.deadLetters.retryBatch(admin, command);
    await world.until(() => world.requests.length - sentBefore >= 3);
    await world.restart();
    await world.services.webhooks.enable(admin, webhook.id).catch(() => undefined);
    const done = await ended(world, operation);
    assert.deepEqual([done.queued, done.skipped], [8, {}], "it continues after its last delivery");
    await withStatus(world, { webhookId: webhook.id, status: "exhausted", count: 8 });
    assert.equal(world.requests.length - sentBefore, 8);
    const shown = await world.until(async () => {
      const now = await world.services.deadLetters.operation(admin, done.id);
      return now.outcome?.waiting === 0 && now;
    });
    assert.deepEqual(shown.outcome, { delivered: 0, failed: 8, waiting: 0 });
  });

  test("skipped deliveries are listed by reason: accepted, in flight, in order, without payload, unknown", async (t) => {
    const world = await openWorld(t);
    const { deliveries } = world.services;
    const accepted = await standing(world, { status: 200, count: 2 });
    const none = await deliveries.retryBatch(admin, { filter: {}, dryRun: true });
    assert.deepEqual([none.count, none.excluded], [0, { accepted: 2 }]);
    const [first] = accepted.deliveries;
    const named = await deliveries.retryBatch(admin, {
      ids: [first?.id ?? "", "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"],
      dryRun: true,
    });
    assert.deepEqual([named.count, named.excluded], [1, { not_found: 1 }]);

    let answer = () => {};
    const answered = new Promise<object>((resolve) => (answer = () => resolve({})));
    world.answers.set("/slow", () => answered);
    const slow = await world.createWebhook({ url: "https://example.com/slow", events: ["slow"] });
    await world.publish({ eventType: "slow" });
    await world.until(() => world.requests.some(({ path }) => path === "/slow"));
    const ofSlow = { filter: { webhookIds: [slow.webhook.id] } };
    assert.deepEqual((await deliveries.retryBatch(admin, { ...ofSlow, dryRun: true })).excluded, {
      in_flight: 1,
    });
    const { operation } = await deliveries.cancelBatch(admin, { ...ofSlow, ...fast });
    assert.deepEqual((await ended(world, operation)).skipped, { in_flight: 1 });
    answer();
    await withStatus(world, { webhookId: slow.webhook.id, status: "success", count: 1 });

    world.statuses.set("/ordered", 500);
    const ordered = await world.createWebhook({
      url: "https://example.com/ordered",
      events: ["ordered"],
      ordering: "strict",
    });
    await world.publish({ eventType: "ordered" });
    await withStatus(world, { webhookId: ordered.webhook.id, status: "failed", count: 1 });
    const ofOrdered = { filter: { webhookIds: [ordered.webhook.id] }, dryRun: true };
    assert.deepEqual((await deliveries.retryBatch(admin, ofOrdered)).excluded, { order: 1 });
    assert.equal((await deliveries.cancelBatch(admin, ofOrdered)).count, 1);

    const dead = await standing(world, { status: 400, count: 2 });
    await world.store.upkeep.forgetPayloads(Date.now() + 60_000, 100);
    const ofDead = { filter: { webhookIds: [dead.webhook.id] } };
    const gone = await deliveries.retryBatch(admin, { ...ofDead, dryRun: true });
    assert.deepEqual([gone.count, gone.excluded], [0, { payload_gone: 2 }]);
  });

  test("a cancellation ends only waiting deliveries; discarding empties the dead letters", async (t) => {
    const world = await openWorld(t);
    const { deliveries, deadLetters } = world.services;
    const waiting = await standing(world, { status: 500, count: 5 });
    const dead = await standing(world, { status: 400, count: 3 });
    const cancelled = await ended(
      world,
      (await deliveries.cancelBatch(admin, { ...fast, filter: {} })).operation,
    );
    assert.deepEqual([cancelled.queued, cancelled.skipped], [5, { already_ended: 3 }]);
    const ofWebhook = { webhookId: waiting.webhook.id, status: "cancelled", count: 5 } as const;
    const reasons = (await withStatus(world, ofWebhook)).map(({ progress }) => progress.reason);
    assert.deepEqual([...new Set(reasons)], ["cancel_requested"]);
    assert.deepEqual((await world.store.deliveries.depth()).waiting, { high: 0, normal: 0, low: 0 });

    const filter = { webhookIds: [dead.webhook.id], categories: ["client_error"] } as const;
    const seen = await deadLetters.discardBatch(admin, { filter, dryRun: true });
    assert.deepEqual([seen.count, seen.samples.length], [3, 3]);
    const { operation } = await deadLetters.discardBatch(admin, { ...fast, filter });
    assert.equal((await ended(world, operation)).queued, 3);
    const page = { limit: 10, before: null, offset: 0 };
    const all = { webhookIds: null, eventTypes: null, categories: null, from: null, to: null };
    assert.deepEqual((await deadLetters.list(admin, { tenantId: null, ...all, page })).rows, []);
    // A discarded delivery stays in the history and can still be sent.
    world.statuses.clear();
    const [discarded] = await withStatus(world, { ...ofWebhook, webhookId: dead.webhook.id, count: 3 });
    const ids = { ids: [discarded?.id ?? ""] };
    assert.deepEqual((await deadLetters.discardBatch(admin, { ...ids, dryRun: true })).excluded, {
      not_a_dead_letter: 1,
    });
    await ended(world, (await deliveries.retryBatch(admin, ids)).operation);
    await withStatus(world, { webhookId: dead.webhook.id, status: "success", count: 1 });
  });

  test("an operation is slowed, paused, resumed across a restart, and counts its work once", async (t) => {
    const world = await openWorld(t);
    const { webhook } = await standing(world, { status: 400, count: 12 });
    world.statuses.clear();
    const sentBefore = world.requests.length;
    const filter = { statuses: ["exhausted"] } as const;
    const started = await world.services.deliveries.retryBatch(admin, { filter, requestsPerSecond: 4 });
    const id = started.operation?.id ?? "";
    await world.until(() => world.requests.length - sentBefore >= 3);
    const paused = await world.services.deadLetters.change(admin, { id, status: "paused" });
    assert.equal(paused.status, "paused");
    assert.ok(paused.queued >= 3 && paused.queued < 12, String(paused.queued));
    await world.restart();
    const { deadLetters } = world.services;
    const after = await deadLetters.operation(admin, id);
    assert.deepEqual(
      { ...after, outcome: null },
      { ...paused, outcome: null },
      "a pause outlives the process",
    );
    const slow = await deadLetters.change(admin, { id, status: "running", requestsPerSecond: 0.1 });
    assert.deepEqual([slow.status, slow.requestsPerSecond], ["running", 0.1]);
    // At a tenth of a request per second it would take a minute, so the new rate must apply immediately.
    await deadLetters.change(admin, { id, requestsPerSecond: 100 });
    await world.until(() => world.requests.length - sentBefore > paused.queued);
    await world.restart();
    for (const bad of [
      { requestsPerSecond: 0.09 },
      { requestsPerSecond: 1_001 },
      { status: "ended" as "paused" },
    ])
      await assert.rejects(world.services.deadLetters.change(admin, { id, ...bad }), code("invalid_request"));
    const done = await ended(world, slow);
    assert.deepEqual([done.queued, done.total, done.skipped], [12, 12, {}]);
    await withStatus(world, { webhookId: webhook.id, status: "success", count: 12 });
    assert.equal(world.requests.length - sentBefore, 12);
    await assert.rejects(
      world.services.deadLetters.change(admin, { id, status: "paused" }),
      code("conflict"),
    );
  });

  test("sent but uncounted work of a killed process is counted in the end", async (t) => {
    const world = await openWorld(t);
    const { webhook } = await standing(world, { status: 400, count: 12 });
    world.statuses.clear();
    const sentBefore = world.requests.length;
    const filter = { statuses: ["exhausted"] } as const;
    const started = await world.services.deliveries.retryBatch(admin, { filter, requestsPerSecond: 4 });
    const id = started.operation?.id ?? "";
    await world.until(() => world.requests.length - sentBefore >= 3);
    await world.services.deadLetters.change(admin, { id, status: "paused" });
    // Progress is stored once per second. After a kill, the progress stored last is still available.
    const stored = await world.store.operations.get(null, id);
    assert.ok(
      stored !== null && (await world.store.operations.update({ ...stored, queued: 0, cursor: null })),
    );
    await world.restart();
    const resumed = await world.services.deadLetters.change(admin, {
      id,
      status: "running",
      requestsPerSecond: 100,
    });
    const done = await ended(world, resumed);
    assert.deepEqual([done.queued, done.total, done.skipped], [12, 12, {}]);
    await withStatus(world, { webhookId: webhook.id, status: "success", count: 12 });
    assert.equal(world.requests.length - sentBefore, 12);
  });

  test("an invalid selection or change is rejected, and nothing starts", async (t) => {
    const world = await openWorld(t);
    const { deliveries, deadLetters } = world.services;
    const refused = code("invalid_request");
    await assert.rejects(deliveries.retryBatch(admin, {}), refused);
    await assert.rejects(deliveries.cancelBatch(admin, { ids: ["x"], filter: {} }), refused);
    await assert.rejects(deliveries.cancelBatch(admin, { filter: { from: 5, to: 4 } }), refused);
    await assert.rejects(deadLetters.discardBatch(admin, { ids: Array(1_001).fill("x") }), refused);
    const foreign = { filter: { tenantId: "other" } };
    await assert.rejects(deliveries.retryBatch({ tenantId: "default" }, foreign), refused);
    const { operation } = await deliveries.retryBatch(admin, { filter: {} });
    assert.deepEqual([operation?.status, operation?.total], ["completed", 0]);
    await assert.rejects(deadLetters.change(admin, { id: operation?.id ?? "" }), refused);
    const page = { limit: 10, before: null, offset: 0 };
    assert.equal((await deadLetters.operationList(admin, page)).rows.length, 1);
  });
});

/** Dead letters: listed, and retried individually or all together. */
import assert from "node:assert/strict";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const deadLetters: Scenarios = {
  "dead letters are listed by webhook, event type and failure, a page at a time": async (scene) => {
    const { webhook, events } = await withDeadLetters(scene, 5);
    const other = await scene.addWebhook({ url: scene.receiver.url("/other"), events: ["invoice.*"] });
    const invoice = await scene.publish({ event_type: "invoice.sent" });
    await scene.reaches(invoice, "exhausted");
    const listed = async (query: string) => fieldOf(await scene.list(`/v1/dlq?${query}`), "event_id");
    const newestFirst = events.toReversed();
    assert.deepEqual(await listed(`webhook_id=${webhook}`), newestFirst);
    assert.deepEqual(await listed(`webhook_id=${other}`), [invoice]);
    assert.deepEqual(await listed("event_type=invoice.sent"), [invoice]);
    assert.deepEqual(await listed("failure_category=client_error"), [invoice, ...newestFirst]);
    assert.deepEqual(await listed("failure_category=timeout"), []);
    const pages: unknown[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await scene.api.get(`/v1/dlq?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
      pages.push(...fieldOf([...(page.body["data"] ?? [])], "event_id"));
      cursor = page.body["next_cursor"] as unknown as string | null;
    }
    assert.deepEqual(pages, [invoice, ...newestFirst]);
  },

  "WDS-21 WDS-111 a manually retried dead letter is delivered and is no longer a dead letter": async (
    scene,
  ) => {
    const { webhook, events } = await withDeadLetters(scene, 1);
    const [event = ""] = events;
    const dead = textOf((await scene.deliveryOf(event))["id"]);
    scene.receiver.script(() => ({}));
    const path = `/v1/webhooks/${webhook}/deliveries/${dead}/retry`;
    const retried = await scene.api.post(path);
    assert.equal(retried.status, 202, retried.text);
    const attempts = await scene.attemptsAt(event, "success");
    assert.deepEqual(fieldOf(attempts, "attempt_number"), [1, 2], "the same delivery, the next attempt");
    const [first, second] = scene.receiver.requests;
    assert.equal(second?.headers["webhook-id"], first?.headers["webhook-id"]);
    assert.equal(second?.text, first?.text);
    assert.equal(textOf(retried.body["delivery_id"]), dead);
    const { retries, retried_at: at } = (await scene.api.get(`/v1/deliveries/${dead}`)).body;
    assert.deepEqual(fieldOf(itemsOf(retries), "at"), [at]);
    assert.deepEqual(fieldOf(itemsOf(retries), "attempt_count"), [1]);
    assert.deepEqual(await scene.list(`/v1/dlq?webhook_id=${webhook}`), []);
    assert.equal(itemsOf((await scene.api.get(`/v1/events/${event}/deliveries`)).body["data"]).length, 1);
  },

  "WDS-226 WDS-21 WDS-23 WDS-112 WDS-113 a batch retry counts first, then retries at its rate and shows its progress":
    async (scene) => {
      const { webhook, events } = await withDeadLetters(scene, 12);
      scene.receiver.script(() => ({}));
      const filter = { webhook_ids: [webhook], failure_categories: ["client_error"] };
      const dry = await scene.api.post("/v1/dlq/retry-batch", { filter, dry_run: true });
      assert.deepEqual(
        [dry.body["count"], dry.body["batch_operation_id"]] as unknown[],
        [12, null],
        dry.text,
      );
      assert.equal((await scene.list(`/v1/dlq?webhook_id=${webhook}`)).length, 12);
      const startedAtMs = performance.now();
      const started = await scene.api.post("/v1/dlq/retry-batch", {
        filter,
        rate_limit: { requests_per_second: 2 },
      });
      assert.equal(started.body["count"], 12, started.text);
      const operation = textOf(started.body["batch_operation_id"]);
      const seen = await eventually("some are under way", {
        ask: async () => (await scene.api.get(`/v1/dlq/batch-operations/${operation}`)).body,
        holds: ({ queued }) => Number(queued) > 0,
      });
      assert.equal(seen["status"], "running", JSON.stringify(seen));
      assert.ok(Number(seen["queued"]) < 12, JSON.stringify(seen));
      const done = await scene.operationAt(operation, "completed");
      assert.deepEqual([done["total"], done["queued"], done["failed"]] as unknown[], [12, 12, 0]);
      for (const event of events) await scene.reaches(event, "success");
      assert.ok(
        performance.now() - startedAtMs > 5_000,
        "twelve at two a second take more than five seconds",
      );
      assert.equal(scene.receiver.requestCount, 24);
      assert.deepEqual(await scene.list(`/v1/dlq?webhook_id=${webhook}`), []);
    },

  "WDS-112 each filter of a batch retry selects its matches, and the given priority is used": async (
    scene,
  ) => {
    const { receiver } = scene;
    receiver.script(({ path }) => ({ status: path === "/large" ? 413 : 422 }));
    const refused = await scene.addWebhook({ url: receiver.url("/refused") });
    const large = await scene.addWebhook({ url: receiver.url("/large"), events: ["order.created"] });
    await scene.publish({ event_type: "order.created" });
    await scene.publish({ event_type: "order.paid" });
    const all = ["/large order.created", "/refused order.created", "/refused order.paid"];
    const letters = await eventually("all are dead letters", {
      ask: () => scene.list("/v1/dlq"),
      holds: (dead) => dead.length === all.length,
    });
    const ids = fieldOf(letters, "id").map(String);
    const rounds = [
      { filter: { webhook_ids: [refused] }, priority: "high", sent: all.slice(1) },
      { filter: { event_types: ["order.created"] }, priority: "low", sent: all.slice(0, 2) },
      { filter: { failure_categories: ["payload_too_large"] }, priority: "high", sent: all.slice(0, 1) },
      {
        filter: {
          webhook_ids: [refused, large],
          event_types: ["order.created"],
          failure_categories: ["client_error"],
        },
        priority: "low",
        sent: all.slice(1, 2),
      },
      { filter: { webhook_ids: [large], failure_categories: ["client_error"] }, priority: "high", sent: [] },
    ];
    for (const { filter, priority, sent } of rounds) {
      const what = JSON.stringify(filter);
      const dry = await scene.api.post("/v1/dlq/retry-batch", { filter, dry_run: true });
      assert.equal(dry.body["count"], sent.length, `${what}: ${dry.text}`);
      receiver.clear();
      const started = await scene.api.post("/v1/dlq/retry-batch", { filter, priority });
      assert.equal(started.status, 202, started.text);
      const done = await scene.operationAt(textOf(started.body["batch_operation_id"]), "completed");
      assert.equal(done["queued"], sent.length, `${what}: ${JSON.stringify(done)}`);
      // The receiver still refuses them, so they become dead letters again.
      await eventually("what was retried has ended", {
        ask: () => scene.list("/v1/dlq"),
        holds: (dead) => dead.length === all.length && receiver.requests.length >= sent.length,
      });
      const requests = receiver.requests.map(
        ({ path, text }) => `${path} ${(JSON.parse(text) as { type: string }).type}`,
      );
      assert.deepEqual(requests.toSorted(), sent, what);
      const operationId = textOf(started.body["batch_operation_id"]);
      const details = await Promise.all(
        ids.map(async (id) => (await scene.api.get(`/v1/deliveries/${id}`)).body),
      );
      const retried = details.filter(({ retries }) =>
        fieldOf(itemsOf(retries), "operation_id").includes(operationId),
      );
      assert.deepEqual(
        fieldOf(retried, "priority"),
        sent.map(() => priority),
        what,
      );
    }
  },

  "a cancelled batch retry retries no more": async (scene) => {
    const { webhook } = await withDeadLetters(scene, 10);
    scene.receiver.script(() => ({}));
    const started = await scene.api.post("/v1/dlq/retry-batch", {
      filter: { webhook_ids: [webhook] },
      rate_limit: { requests_per_second: 0.1 },
    });
    const operation = textOf(started.body["batch_operation_id"]);
    await scene.receiver.waitForRequests(10 + 1);
    const cancelled = await scene.api.call("DELETE", `/v1/dlq/batch-operations/${operation}`);
    assert.equal(cancelled.body["status"], "cancelled", cancelled.text);
    const queued = Number(cancelled.body["queued"]);
    assert.ok(queued < 10, cancelled.text);
    await scene.receiver.waitForRequests(10 + queued);
    assert.equal((await scene.list(`/v1/dlq?webhook_id=${webhook}`)).length, 10 - queued);
    assert.equal((await scene.operationAt(operation, "cancelled"))["queued"], queued);
  },
};

/** A webhook whose receiver permanently refuses everything, and the refused events, starting with the oldest. */
async function withDeadLetters(
  scene: TenantScene,
  count: number,
): Promise<{ readonly webhook: string; readonly events: readonly string[] }> {
  scene.receiver.script(() => ({ status: 422 }));
  const webhook = await scene.addWebhook();
  const events = await scene.publishNumbered(count);
  for (const event of events) await scene.reaches(event, "exhausted");
  return { webhook, events };
}

/**
 * Guarantees for publishers: each event is published exactly once, priorities apply, and an invalid event does not
 * affect others.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { assertProblem, itemsOf, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

const event = { event_type: "order.paid", data: { n: 1 } };

export const publishing: Scenarios = {
  "WDS-8 WDS-115 the same event under the same key is published once, another one is rejected": async (
    scene,
  ) => {
    await scene.addWebhook();
    const keyed = { ...event, idempotency_key: "order-1" };
    const first = await scene.api.post("/v1/events", keyed);
    assert.deepEqual([first.status, first.body["duplicate"]] as unknown[], [202, false], first.text);
    const second = await scene.api.post("/v1/events", keyed);
    assert.deepEqual([second.status, second.body["duplicate"]] as unknown[], [202, true], second.text);
    for (const field of ["id", "timestamp", "sequence_number", "deliveries"])
      assert.deepEqual(second.body[field], first.body[field], field);
    const other = await scene.api.post("/v1/events", { ...keyed, data: { n: 2 } });
    assertProblem(other, { status: 422, code: "event_key_reused" });
    const [again, fresh] = itemsOf(
      (await scene.api.post("/v1/events/batch", { events: [keyed, event] })).body["results"],
    );
    assert.equal(again?.["id"], first.body["id"]);
    await scene.reaches(textOf(fresh?.["id"]), "success");
    await scene.reaches(textOf(first.body["id"]), "success");
    assert.equal(scene.receiver.requestCount, 2);
  },

  "a repeated request under one Idempotency-Key gets the first response, another body 422": async (scene) => {
    await scene.addWebhook();
    const headers = { "idempotency-key": `"${randomUUID()}"` };
    const first = await scene.api.post("/v1/events", event, { headers });
    assert.equal(first.status, 202, first.text);
    const second = await scene.api.post("/v1/events", event, { headers });
    assert.deepEqual([second.status, second.text], [202, first.text]);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
    const other = await scene.api.post("/v1/events", { ...event, data: { n: 2 } }, { headers });
    assertProblem(other, { status: 422, code: "idempotency_key_reused" });
    await scene.reaches(textOf(first.body["id"]), "success");
    assert.equal(scene.receiver.requestCount, 1);
  },

  "of many concurrent publishes under one key exactly one takes effect": async (scene) => {
    await scene.addWebhook();
    const keyed = { ...event, idempotency_key: "at-once" };
    const replies = await Promise.all(Array.from({ length: 10 }, () => scene.api.post("/v1/events", keyed)));
    const accepted = replies.filter(({ status }) => status === 202);
    for (const reply of replies)
      if (reply.status !== 202) assertProblem(reply, { status: 409, code: "event_in_progress" });
    const ids = new Set(accepted.map(({ body }) => textOf(body["id"])));
    assert.equal(ids.size, 1, [...ids].join());
    assert.equal(accepted.filter(({ body }) => (body["duplicate"] as unknown) === false).length, 1);
    await scene.reaches([...ids][0] ?? "", "success");
    assert.equal(scene.receiver.requestCount, 1);
  },

  "one invalid event of a batch is rejected, the others are delivered": async (scene) => {
    await scene.addWebhook();
    const schema = { type: "object", required: ["total"] };
    const typed = await scene.api.call("PUT", "/v1/event-types/order.typed", { body: { schema } });
    assert.equal(typed.status, 201, typed.text);
    const events = [
      { event_type: "order.a", data: { n: 1 } },
      { event_type: "not a type", data: { n: 2 } },
      { event_type: "order.typed", data: { n: 3 } },
      { event_type: "order.typed", data: { n: 4, total: 1 } },
    ];
    const answer = await scene.api.post("/v1/events/batch", { events });
    assert.equal(answer.status, 202, answer.text);
    const results = itemsOf(answer.body["results"]);
    assert.deepEqual(
      results.map((result): unknown => result["error"]?.["code"] ?? result["event_type"]),
      ["order.a", "invalid_request", "schema_violation", "order.typed"],
    );
    for (const index of [0, 3]) await scene.reaches(textOf(results[index]?.["id"]), "success");
    assert.deepEqual(
      scene.numbers().toSorted((a, b) => a - b),
      [1, 4],
    );
  },

  "WDS-177 WDS-11 of waiting deliveries, high priority goes before normal before low": async (scene) => {
    const webhook = await scene.addWebhook();
    await scene.change(`${webhook}/circuit-breaker`, { action: "force_open" });
    const priorities = ["low", "normal", "high"];
    const held = await scene.publishNumbered(60, (n) => ({ priority: priorities[n % 3] }));
    await scene.reaches(held.at(-1) ?? "", "circuit_blocked");
    assert.equal(scene.receiver.requestCount, 0);
    await scene.change(`${webhook}/circuit-breaker`, { action: "force_close" });
    await scene.receiver.waitForRequests(60);
    const ranks = scene.numbers().map((n) => 2 - (n % 3));
    // Five requests are in flight concurrently and may arrive in any order.
    for (const [index, rank] of ranks.entries()) {
      const wanted = Math.floor(index / 20);
      const isNearBoundary = index % 20 < 5 || index % 20 >= 15;
      assert.ok(rank === wanted || (isNearBoundary && Math.abs(rank - wanted) === 1), ranks.join(""));
    }
  },

  "an event is sent to every subscribed webhook of its tenant, and to no other": async (scene) => {
    const { receiver } = scene;
    await scene.addWebhook({ url: receiver.url("/exact"), events: ["order.paid"] });
    await scene.addWebhook({ url: receiver.url("/prefix"), events: ["order.*"] });
    await scene.addWebhook({ url: receiver.url("/all"), events: ["*"] });
    await scene.addWebhook({ url: receiver.url("/other"), events: ["order.sent", "invoice.*"] });
    const published = await scene.api.post("/v1/events", event);
    assert.equal(published.body["deliveries"], 3, published.text);
    await eventually("all have it", {
      ask: () => scene.list(`/v1/events/${textOf(published.body["id"])}/deliveries`),
      holds: (deliveries) => fieldOf(deliveries, "status").join() === "success,success,success",
    });
    assert.deepEqual(receiver.requests.map(({ path }) => path).toSorted(), ["/all", "/exact", "/prefix"]);
  },
};

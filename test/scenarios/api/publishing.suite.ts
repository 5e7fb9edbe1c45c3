import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { assertProblem, fieldsOf, itemsOf, textOf } from "./client.fixture.ts";
import type { Client } from "./client.fixture.ts";

export function publishingSuite(client: () => Client): void {
  test("TS16-43 TS16-114 WDS-6 WDS-114 a published event answers 202 with its receipt and can be read back", async () => {
    const data = {
      order_id: "4711",
      text: 'grüße \u{1f600} " \\ \n',
      nested: { list: [1, 2.5, null, true] },
    };
    const sent = {
      event_type: "shop.paid",
      data,
      source: "shop",
      priority: "high",
      timestamp: "2026-01-31T10:00:00+01:00",
    };
    const reply = await client().post("/v1/events", {
      ...sent,
      metadata: { a: 1 },
      links: [{ rel: "self", href: "https://example.com/4711" }],
    });
    assert.equal(reply.status, 202, reply.text);
    assert.equal(reply.headers.get("content-type"), "application/json");
    const receipt = reply.body;
    assert.deepEqual(Object.keys(receipt), [
      "id",
      "event_type",
      "tenant_id",
      "timestamp",
      "idempotency_key",
      "sequence_number",
      "deliveries",
      "duplicate",
    ]);
    assert.equal(receipt["event_type"], "shop.paid");
    assert.equal(receipt["tenant_id"], "default");
    assert.equal(receipt["timestamp"], "2026-01-31T09:00:00.000Z");
    assert.equal(receipt["idempotency_key"], receipt["id"]);
    assert.equal(receipt["duplicate"], false);

    const event = (await client().get(`/v1/events/${textOf(receipt["id"])}`)).body;
    assert.deepEqual(event["data"], data);
    assert.deepEqual(event["metadata"], { a: 1 });
    assert.deepEqual(event["links"], [{ rel: "self", href: "https://example.com/4711" }]);
    assert.equal(event["source"], "shop");
    assert.equal(event["priority"], "high");
    assert.equal(event["payload_removed"], false);
  });

  test("EDS-7.2-6 IDK-3 the same key with the same event gets the first response, with another event 422", async () => {
    const event = {
      event_type: "shop.paid",
      data: { n: 1 },
      idempotency_key: `key ${randomUUID()} "quoted" \\`,
    };
    const first = (await client().post("/v1/events", event)).body;
    assert.equal(first["idempotency_key"], event.idempotency_key);
    const second = await client().post("/v1/events", event);
    assert.equal(second.status, 202);
    assert.equal(second.text, JSON.stringify(first).replace('"duplicate":false', '"duplicate":true'));
    const third = await client().post("/v1/events", { ...event, data: { n: 2 } });
    assertProblem(third, { status: 422, code: "event_key_reused" });
    assert.ok(third.text.includes(textOf(first["id"])), "the answer names the event that has the key");
  });

  test("EDS-11.7-1 TS16-115 TS16-118 WDS-43 an event is delivered to the subscribed webhooks, and its deliveries can be listed", async () => {
    const type = `t${Date.now()}`;
    const webhook = (
      await client().post("/v1/webhooks", { url: "https://example.com/h", events: [`${type}.*`] })
    ).body;
    const receipt = (await client().post("/v1/events", { event_type: `${type}.made`, data: { n: 1 } })).body;
    assert.equal(receipt["deliveries"], 1);
    const deliveries = itemsOf(
      (await client().get(`/v1/events/${textOf(receipt["id"])}/deliveries`)).body["data"],
    );
    assert.equal(deliveries.length, 1);
    assert.equal(deliveries[0]?.["webhook_id"], webhook["id"]);
    const single = (await client().get(`/v1/deliveries/${textOf(deliveries[0]?.["id"])}`)).body;
    assert.equal(single["event_id"], receipt["id"]);
    assert.ok(Array.isArray(single["attempts"]));
    const replayed = await client().post(`/v1/events/${textOf(receipt["id"])}/replay`, {
      webhook_ids: [webhook["id"]],
    });
    assert.equal(replayed.status, 202, replayed.text);
    assert.equal(itemsOf(replayed.body["deliveries"]).length, 1);
    assert.notEqual(itemsOf(replayed.body["deliveries"])[0]?.["delivery_id"], deliveries[0]?.["id"]);
    await client().call("DELETE", `/v1/webhooks/${textOf(webhook["id"])}`);
  });

  test("each event of a batch is validated separately, in order", async () => {
    const good = { event_type: "shop.paid", data: { n: 1 } };
    const events = [
      good,
      { event_type: "shop paid", data: [], extra: 1 },
      7,
      null,
      good,
      { ...good, tenant_id: "nobody" },
    ];
    const reply = await client().post("/v1/events/batch", { events });
    assert.equal(reply.status, 202, reply.text);
    const results = itemsOf(reply.body["results"]);
    assert.equal(results.length, events.length);
    assert.deepEqual(
      results.map((result) => "id" in result),
      [true, false, false, false, true, false],
    );
    const error = results[1]?.["error"];
    assert.equal(error?.["code"], "invalid_request");
    assert.deepEqual(
      itemsOf(error?.["errors"])
        .map((entry) => textOf(entry["field"]))
        .toSorted(),
      ["data", "event_type", "extra"],
    );
  });

  test("an event whose text is rejected does not affect the rest of its batch", async () => {
    const good = '{"event_type":"batch.text","data":{"n":1}}';
    const bad = [
      '{"event_type":"batch.text","data":{"__proto__":{"admin":true}}}',
      '{"event_type":"batch.text","data":{"constructor":{"prototype":{}}}}',
      '{"event_type":"batch.text","data":{"a":1,"a":2}}',
      `{"event_type":"batch.text","data":${'{"a":'.repeat(80)}1${"}".repeat(80)}}`,
      "7",
      '{"event_type":"batch.text","data":{"n":1},"event_type":"batch.other"}',
    ];
    const body = `{"events":[${[good, ...bad, good].join(",")}]}`;
    const reply = await client().call("POST", "/v1/events/batch", { raw: body });
    assert.equal(reply.status, 202, reply.text);
    const results = itemsOf(reply.body["results"]);
    assert.deepEqual(
      results.map((result) => "error" in result),
      [false, ...bad.map(() => true), false],
    );
    for (const result of results.slice(1, -1)) assert.equal(result["error"]?.["status"], 400, reply.text);
    // Errors that do not concern a single event reject the whole batch.
    for (const whole of [
      `{"events":[${good}],"events":[${good}]}`,
      `{"events":[${good}],"__proto__":{}}`,
      `{"events":[${good},`,
      `{"events":[${bad[0] ?? ""}],"more":1}`,
    ])
      assert.equal((await client().call("POST", "/v1/events/batch", { raw: whole })).status, 400, whole);
  });

  test("a batch has 1 to 1,000 events", async () => {
    const event = { event_type: "shop.paid", data: { n: 1 } };
    for (const events of [[], Array.from({ length: 1_001 }, () => event)]) {
      const reply = await client().post("/v1/events/batch", { events });
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.deepEqual(fieldsOf(reply), ["events"]);
    }
    const full = await client().post("/v1/events/batch", {
      events: Array.from({ length: 1_000 }, () => event),
    });
    assert.equal(full.status, 202);
    assert.equal(itemsOf(full.body["results"]).length, 1_000);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "./client.ts";
import { json, problem } from "./caller.fixture.ts";

interface ShopEvents {
  "order.completed": { order_id: string };
  "order.refunded": { order_id: string; cents: number };
}

function clientWith(replies: readonly Response[]) {
  const seen: string[] = [];
  const answer: typeof fetch = async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    seen.push(`${init?.method ?? ""} ${decodeURIComponent(pathname)}${search}`);
    return replies[Math.min(seen.length, replies.length) - 1]?.clone() ?? json({});
  };
  return {
    seen,
    client: createClient<ShopEvents>({ url: "https://a.example", key: "k", fetch: answer, retry: false }),
  };
}

test("the event type determines the type of the data", async () => {
  const { client } = clientWith([json({ results: [] })]);
  await client.publish({ event_type: "order.completed", data: { order_id: "1" }, priority: "high" });
  // @ts-expect-error the data of another type
  await client.publish({ event_type: "order.refunded", data: { order_id: "1" } });
  // @ts-expect-error no such type
  await client.publish({ event_type: "order.deleted", data: {} });
  await client.publishBatch([
    { event_type: "order.completed", data: { order_id: "1" } },
    { event_type: "order.refunded", data: { order_id: "1", cents: 5 } },
  ]);
});

test("a listing requests pages as needed, until the end or until the caller stops", async () => {
  const pages = [
    json({ data: [{ id: "1" }, { id: "2" }], next_cursor: "n" }),
    json({ data: [{ id: "3" }], next_cursor: null }),
  ];
  const { client, seen } = clientWith(pages);
  const ids: string[] = [];
  const webhooks = client.webhooks.list({ limit: 2, failing: true });
  assert.equal(seen.length, 0);
  for await (const { id } of webhooks) ids.push(id);
  assert.deepEqual(ids, ["1", "2", "3"]);
  assert.deepEqual(seen, [
    "GET /v1/webhooks?limit=2&failing=true",
    "GET /v1/webhooks?limit=2&failing=true&cursor=n",
  ]);
  const first = clientWith(pages);
  assert.equal((await first.client.webhooks.list().take(2)).length, 2);
  assert.equal(first.seen.length, 1);
  const { next_cursor: next } = await clientWith(pages).client.webhooks.list().page();
  assert.equal(next, "n");
});

test("ids are escaped in paths", async () => {
  const { client, seen } = clientWith([json({})]);
  await client.webhooks.get("../admin?x=1");
  await client.deliveries.retry({ webhook_id: "w/1", id: "d" });
  await client.eventTypes.delete("a b", { query: { tenant_id: "acme" } });
  assert.deepEqual(seen, [
    "GET /v1/webhooks/../admin?x=1",
    "POST /v1/webhooks/w/1/deliveries/d/retry",
    "DELETE /v1/event-types/a b?tenant_id=acme",
  ]);
  for (const id of ["", ".", ".."]) assert.throws(() => client.webhooks.delete(id), TypeError);
});

test("a caller can wait for an operation to end, and can stop waiting", async () => {
  const running = json({ id: "o", status: "running" });
  const { client } = clientWith([running, running, json({ id: "o", status: "completed" })]);
  assert.equal((await client.operations.wait("o", { pollMs: 1 })).status, "completed");
  const stop = new AbortController();
  const waiting = clientWith([running]).client.operations.wait("o", { pollMs: 60_000, signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

test("a permanent error ends a stream; a lost connection does not", async () => {
  const forbidden = clientWith([problem(403, "forbidden")]).client.stream({ topics: ["deliveries"] });
  await assert.rejects(forbidden.next(), { code: "forbidden" });
  const text = ': connected\n\nevent: deliveries\nid: a1\ndata: {"rows":[1]}\n\nevent: del';
  const stop = new AbortController();
  const { client, seen } = clientWith([new Response(text)]);
  const heard: unknown[] = [];
  const stream = client.stream({
    topics: ["deliveries"],
    signal: stop.signal,
    onReconnect: () => stop.abort(),
  });
  for await (const event of stream) {
    heard.push(event);
    stop.abort();
  }
  assert.deepEqual(heard, [{ name: "deliveries", data: { rows: [1] } }]);
  assert.equal(seen.length, 1);
});

test("lines of a stream may end with LF, CR or CRLF, also between two parts", async () => {
  const parts = {
    "\n": ['event: a\nid: 1\ndata: {"text":\ndata: "\u2028"}\n', "\ndata: 2\n\n"],
    "\r": ['event: a\rid: 1\rdata: {"text":\rdata: "\u2028"}\r', "\rdata: 2\r\r"],
    "\r\n": ['event: a\r\nid: 1\r\ndata: {"text":\r\ndata: "\u2028"}\r', "\n\r\ndata: 2\r\n\r\n"],
  };
  for (const [ending, texts] of Object.entries(parts)) {
    const bytes = texts.map((text) => new TextEncoder().encode(text));
    const { client } = clientWith([new Response(ReadableStream.from(bytes))]);
    const stop = new AbortController();
    const received: unknown[] = [];
    const options = { topics: ["deliveries"], signal: stop.signal, onReconnect: () => stop.abort() };
    for await (const event of client.stream(options)) if (received.push(event) === 2) stop.abort();
    const expected = [
      { name: "a", data: { text: "\u2028" } },
      { name: "message", data: 2 },
    ];
    assert.deepEqual(received, expected, JSON.stringify(ending));
  }
});

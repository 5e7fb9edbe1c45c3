/**
 * Stream connections: who may open one, how many are allowed, and when they end. The scenarios of every mode test the
 * content.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { streamsOfCallerMax } from "../../src/features/live/event-streams.ts";
import { assertProblem, createClient, textOf } from "../scenarios/api/client.fixture.ts";
import { type OpenedStream, openStream } from "../scenarios/api/event-stream.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

const opened: StandIn[] = [];
after(() => Promise.all(opened.map((standIn) => standIn.close())));

const query = "topics=deliveries";

async function open() {
  const standIn = await openStandIn();
  opened.push(standIn);
  const client = createClient({ baseUrl: standIn.baseUrl, key: standIn.adminKey });
  return { standIn, client, stream: (key: string) => openStream(client, { key, query }) };
}

function ends(stream: OpenedStream): Promise<unknown> {
  return eventually("the stream ends", {
    ask: async () => stream.hasEnded,
    holds: (hasEnded) => hasEnded,
  });
}

test("a client that does not accept an event stream is told how to, and does not hang", async () => {
  const { client } = await open();
  const reply = await client.get(`/v1/stream?${query}`);
  assertProblem(reply, { status: 400, code: "invalid_request" });
  assert.match(textOf(reply.body["detail"]), /Accept: text\/event-stream/);
});

test("unknown topics are rejected with the list of topics", async () => {
  const { client } = await open();
  const id = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";
  const headers = { accept: "text/event-stream" };
  const wrong = ["", "events", "delivery", `deliveries:${id}`, `operation:${id.slice(1)}`, "deliveries,"];
  for (const topics of wrong) {
    const reply = await client.get(`/v1/stream?topics=${topics}`, { headers });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.match(
      reply.text,
      /deliveries, deliveries:webhook=ID, delivery:ID, operation:ID, requests, stats, alerts or problems/,
    );
  }
  const many = Array.from(
    { length: 251 },
    (_, n) => `delivery:${id.slice(0, -3)}${String(n).padStart(3, "0")}`,
  );
  const reply = await client.get(`/v1/stream?topics=${many.join(",")}`, { headers });
  assertProblem(reply, { status: 400, code: "invalid_request" });
  assert.match(reply.text, /more than 250 topics/);
});

test("a caller has 20 streams, and gets another when one ends", async () => {
  const { client, stream } = await open();
  const key = await client.keyFor("read", "acme");
  const streams: OpenedStream[] = [];
  for (let count = 0; count < streamsOfCallerMax; count += 1) streams.push(await stream(key));
  const headers = { accept: "text/event-stream" };
  const refused = await client.get(`/v1/stream?${query}`, { key, headers });
  assertProblem(refused, { status: 429, code: "rate_limited" });
  assert.equal(refused.headers.get("retry-after"), "5");
  (await stream(await client.keyFor("read", "acme"))).close();
  streams[0]?.close();
  await eventually("there is room again", {
    ask: async () => {
      const reply = await fetch(`${client.baseUrl}/v1/stream?${query}`, {
        headers: { ...headers, authorization: `Bearer ${key}` },
      });
      await reply.body?.cancel();
      return reply.status;
    },
    holds: (status) => status === 200,
  });
  for (const each of streams) each.close();
});

test("a stream ends with its key", async () => {
  const { client, stream } = await open();
  const made = await client.post("/v1/api-keys", { name: "watcher", role: "read", tenant_id: null });
  const own = await stream(textOf(made.body["key"]));
  const other = await stream(await client.keyFor("read", "acme"));
  const revoked = await client.call("DELETE", `/v1/api-keys/${textOf(made.body["id"])}`);
  assert.equal(revoked.status, 204, revoked.text);
  await ends(own);
  assert.equal(other.hasEnded, false);
  other.close();
});

test("a stopping server does not wait for readers, and says when to reconnect", async () => {
  const { standIn, client, stream } = await open();
  const own = await stream(await client.keyFor("read", "acme"));
  await standIn.close();
  await ends(own);
  assert.equal(own.retryMs, 1_000);
});

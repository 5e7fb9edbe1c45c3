/** Addresses for senders: their structure, their responses, and their published description. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import {
  hookOf,
  type Json,
  makeSource,
  type Mode,
  post,
  rawHeader,
  type SentHeaders,
  signed,
} from "./scene.fixture.ts";

let world: RunningServer;
let receiver: Receiver;
before(async () => {
  [world, receiver] = await Promise.all([openGateway(), startReceiver()]);
});
after(async () => {
  await world.close();
  await receiver.close();
});

async function sourceOf(more: Json = {}, mode: Mode = "store_and_forward") {
  const source = await makeSource(world.admin, { mode, more, webhooks: [hookOf(receiver)] });
  const send = (body: string, headers: SentHeaders = {}, path = source.path) =>
    post(`${world.baseUrl}${path}`, body, { headers: { ...signed(body), ...headers } });
  return { ...source, send };
}

test("TS16-2 TS16-3 TS16-10 addresses of sources are separate from the API and in none of its documents", async () => {
  const { path } = await sourceOf({ party: "apart" });
  const { body, text } = await world.admin.get("/openapi.json");
  const documented = Object.keys(body["paths"] as unknown as object);
  assert.deepEqual(
    documented.filter((one) => one.startsWith("/in") || one.startsWith("/_webhooks")),
    [],
  );
  assert.ok(!text.includes(path) && !text.includes("/_webhooks/apart"));
  // An API key has no effect on these addresses.
  const key = await fetch(`${world.baseUrl}/_webhooks/apart`, { method: "POST", body: "{}" });
  assert.equal(key.status, 401);
});

test("TS16-4 TS16-5 TS16-6 TS16-7 TS16-8 TS16-9 TS16-11 TS16-12 party, namespace, version, type and the rest", async () => {
  const { id, send } = await sourceOf({ party: "shop", event_type: { path: true, allow_unsigned: true } });
  const paths: readonly (readonly [path: string, type: string | null])[] = [
    ["/_webhooks/shop/orders/v2/orders.created/42", "orders.created"],
    ["/_webhooks/shop/v1/paid", "paid"],
    ["/_webhooks/shop/orders/v3", null],
    ["/_webhooks/shop", null],
  ];
  for (const [index, [path, type]] of paths.entries()) {
    const answer = await send(`{"n":${index}}`, {}, path);
    assert.equal(answer.status, 202, `${path}: ${answer.text}`);
    const { body } = await world.admin.get(`/v1/requests?source_id=${id}&limit=1`);
    const [row] = itemsOf(body["data"]) as unknown as readonly Json[];
    if (type !== null) assert.equal(row?.["event_type"], type, path);
    assert.equal(row?.["path"], path);
  }
  assert.equal((await send("{}", {}, "/_webhooks/")).status, 404, "a party is always there");
});

test("TS16-14 TS16-15 TS16-16 TS16-17 stored: 202 at once, or what the provider requires; ten seconds by default", async () => {
  receiver.clear();
  receiver.script(() => "hang");
  const { id, send } = await sourceOf();
  assert.equal((await send('{"n":1}')).status, 202);
  const shown = await world.admin.get(`/v1/sources/${id}`);
  assert.equal(Number(shown.body["budget_ms"]), 10_000);
  const custom_response = { status: 200, content_type: "text/xml", body: "<ok/>" };
  assert.equal(
    (await world.admin.call("PATCH", `/v1/sources/${id}`, { body: { custom_response } })).status,
    200,
  );
  const custom = await send('{"n":2}');
  assert.deepEqual([custom.status, custom.headers["content-type"], custom.text], [200, "text/xml", "<ok/>"]);
  receiver.script(() => ({}));
});

test("TS16-18 TS16-22 EDS-9.5-1 an invalid message is 400, and too many are 429 with the gateway's own Retry-After", async () => {
  const { send } = await sourceOf({ rate_limit: { requests_per_minute: 1, burst: 1 } });
  assert.equal((await send("")).status, 400);
  assert.equal((await send('{"n":1}')).status, 202);
  const refused = await send('{"n":2}');
  assert.equal(refused.status, 429, refused.text);
  assert.match(String(refused.headers["retry-after"]), /^[1-9]\d*$/);
  assert.equal(refused.headers["content-type"], "application/problem+json");
});

test("CEW-2.2-1 CEW-2.2-2 CEW-2.2-4 CEW-2.2-5 CEW-2.2-6 CEW-2.2-11 the response of a destination reaches the sender as that of a target", async () => {
  const { send } = await sourceOf({}, "pass_through");
  const answers: readonly (readonly [
    destination: object,
    status: number,
    body: "own" | "none" | "problem",
  ])[] = [
    [{ status: 200, headers: { "content-type": "text/plain" }, body: "done" }, 200, "own"],
    [{ status: 201, headers: { "content-type": "text/plain" }, body: "done" }, 201, "own"],
    [{ status: 201 }, 201, "none"],
    [{ status: 204 }, 204, "none"],
    [{ status: 202 }, 202, "none"],
    [{ status: 415 }, 415, "problem"],
    [{ status: 302, headers: { location: "https://elsewhere.example/" } }, 502, "problem"],
  ];
  for (const [index, [destination, status, body]] of answers.entries()) {
    receiver.script(() => destination);
    const answer = await send(`{"n":${index}}`);
    const type = { own: "text/plain", none: undefined, problem: "application/problem+json" }[body];
    assert.deepEqual(
      [answer.status, answer.headers["content-type"]],
      [status, type],
      JSON.stringify(destination),
    );
    assert.equal(answer.text === "", body === "none");
    assert.equal(answer.headers["location"], undefined);
  }
  receiver.script(() => ({}));
  const stored = await (await sourceOf()).send('{"n":1}');
  assert.equal(stored.status, 202, "not processed yet");
});

test("IDK-13 IDK-14 the handling of keys is published without authentication, including expiry", async () => {
  const response = await fetch(`${world.baseUrl}/service-description`);
  assert.equal(response.status, 200);
  const content = (await response.json()) as Readonly<Record<string, unknown>>;
  assert.match(String(content["idempotency_key"]), /Idempotency-Key is forwarded byte for byte/);
  assert.deepEqual(content["deduplication"], {
    window_ms_default: 7 * 24 * 3_600_000,
    window_ms_min: 24 * 3_600_000,
  });
  const made = await sourceOf();
  const { body } = await world.admin.get(`/v1/sources/${made.id}`);
  assert.equal(
    body["dedup_window_ms"],
    7 * 24 * 3_600_000,
    "the window of a new source is the published one",
  );
});

test("IDK-16 IDK-17 IDK-18 IDK-19 IDK-22 IDK-24 IDK-25 a message runs once, a repeat gets the same response, and another body gets 422 with a link", async () => {
  receiver.clear();
  const { send } = await sourceOf({}, "pass_through");
  receiver.script(() => ({ status: 201, headers: { "content-type": "text/plain" }, body: "made" }));
  const key = { "idempotency-key": '"once"' };
  const [first, again] = [await send('{"n":1}', key), await send('{"n":1}', key)];
  assert.deepEqual([first.status, first.text], [201, "made"]);
  assert.deepEqual([again.status, again.text], [201, "made"]);
  const other = await send('{"n":2}', key);
  assert.equal(other.status, 422);
  const { type } = JSON.parse(other.text) as { readonly type: string };
  assert.equal((await fetch(new URL(type, world.baseUrl))).status, 200, "the link leads somewhere");
  assert.equal(receiver.requests.length, 1);
  receiver.script(() => ({}));
});

test("IDK-28 IDK-29 IDK-30 a key is validated before any lookup, and belongs only to its source", async () => {
  receiver.clear();
  const [one, two] = [await sourceOf(), await sourceOf()];
  const key = { "idempotency-key": '"of both"' };
  const events = new Set<string>();
  for (const source of [one, two]) {
    const answer = await source.send('{"n":1}', key);
    assert.equal(answer.status, 202, answer.text);
    events.add(textOf((JSON.parse(answer.text) as Json)["event_id"] as never));
  }
  assert.equal(events.size, 2);
  const got = await receiver.waitForRequests(2);
  for (const request of got) assert.equal(rawHeader(request, "idempotency-key"), '"of both"');
  for (const malformed of ['"open', "a\tb", `"${"k".repeat(256)}"`, ""]) {
    const refused = await one.send('{"n":1}', { "idempotency-key": malformed });
    assert.equal(refused.status, 400, malformed);
  }
});

/** The gateway from producer to consumer: two modes, unusual keys, rejections, and two gateways in a row. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { type RunningPosthorn, startPosthorn } from "../../src/app/posthorn.ts";
import { resolveValues } from "../../src/config/resolve.ts";
import type { AttemptObservation } from "../../src/domain/classify.ts";
import {
  isPossibleOverride,
  type StatusOverrides,
  upstreamRules,
  upstreamStatus,
} from "../../src/features/gateway/source.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { assertProblem, type Client, createClient, textOf } from "./api/client.fixture.ts";
import { RunningCommand } from "./cli/command-line.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import {
  hookOf,
  type Json,
  makeSource,
  type Mode,
  modes,
  oddKeys,
  post,
  rawHeader,
  type SentHeaders,
  signed,
  verification,
} from "./gateway/scene.fixture.ts";

/** Rejects the first request and accepts later ones. */
function failingFirst(status: number) {
  let asked = 0;
  return () => ({ status: asked++ === 0 ? status : 200 });
}

suite("the gateway", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-gateway-"));
  const options = { dataDir, port: 0, dev: true, logLevel: "fatal" as never };
  let running: RunningPosthorn;
  let admin: Client;
  let receivers: Receiver[] = [];

  async function start(more: Json = {}): Promise<void> {
    const resolution = resolveValues({ ...options, logLevel: "error", ...more });
    assert.equal(resolution.kind, "resolved");
    running = await startPosthorn(resolution.settings, { log: silent });
    admin = createClient({ baseUrl: running.url ?? "", key: running.adminKey });
  }
  before(async () => {
    await start();
    receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
  });
  after(async () => {
    await running.stop();
    await Promise.all(receivers.map((receiver) => receiver.close()));
    rmSync(dataDir, { recursive: true });
  });

  const receiver = () => receivers[0] as Receiver;

  async function sourceOf(mode: Mode, more: Json = {}, to: readonly Receiver[] = [receiver()]) {
    const webhooks = to.map((one) => hookOf(one));
    const { id, path, connections } = await makeSource(admin, { mode, webhooks });
    // Requests that were in flight in an earlier test have arrived by now.
    for (const one of to) {
      one.script(() => ({}));
      one.clear();
    }
    const changed = await admin.call("PATCH", `/v1/sources/${id}`, { body: more });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    const send = (body: string, headers: SentHeaders = {}) =>
      post(`${running.url}${path}`, body, { headers: { ...signed(body), ...headers } });
    const requests = async (query = "") =>
      (await admin.get(`/v1/requests?source_id=${id}${query}`)).body["data"] as unknown as readonly Json[];
    return { id, path, send, requests, connections };
  }

  test("listen --source forwards what a source receives, and reports rejected requests", async (t) => {
    const { id, send, path, requests } = await sourceOf("pass_through", {}, []);
    const [, mine] = receivers as [Receiver, Receiver];
    mine.clear();
    mine.script(() => ({}));
    const listener = new RunningCommand(
      ["listen", "--source", id, "--forward-to", mine.url("/here"), "--json"],
      { env: { POSTHORN_URL: running.url ?? "", POSTHORN_KEY: running.adminKey } },
    );
    t.after(() => listener.stop());
    await listener.until(/listening to source shop/);
    const body = '{ "n": 1.0 }';
    await send(body, { "x-github-event": "push" });
    const [got] = await mine.waitForRequests(1);
    assert.equal(got?.text, body);
    assert.equal(got?.headers["x-hub-signature-256"], undefined, "masked in the log, so it is not passed on");
    await post(`${running.url}${path}`, body, { headers: { "content-type": "application/json" } });
    await listener.until(/rejected, /);
    assert.equal(mine.requests.length, 1);
    // A message that had no connection can be forwarded once a connection exists.
    const webhook = await admin.post("/v1/webhooks", { url: receiver().url("/late"), events: ["relayed"] });
    const ends = { source_id: id, webhook_id: textOf(webhook.body["id"]) };
    assert.equal((await admin.post("/v1/connections", ends)).status, 201);
    receiver().clear();
    const nowhere = (await requests()).find(({ outcome }) => outcome === "failed");
    const replayed = await admin.post(`/v1/requests/${String(nowhere?.["id"])}/replay`, {});
    assert.equal(replayed.status, 202, replayed.text);
    const [late] = await receiver().waitForRequests(1);
    assert.equal(late?.text, body);
    const row = await admin.get(`/v1/requests/${String(nowhere?.["id"])}`);
    assert.equal(row.body["body"], body);
  });

  for (const mode of modes) {
    test(`EDS-9.7-1 EDS-2-2 ${mode}: the key and the body arrive byte for byte`, async () => {
      const { send } = await sourceOf(mode);
      for (const [index, key] of oddKeys.entries()) {
        const body = `{ "n": ${index}.0 }`;
        const answer = await send(body, { "idempotency-key": key });
        assert.ok(answer.status >= 200 && answer.status < 300, `${answer.status} ${answer.text}`);
        const requests = await receiver().waitForRequests(index + 1);
        const got = requests[index] as ReceivedRequest;
        assert.equal(rawHeader(got, "idempotency-key"), key);
        assert.equal(got.text, body);
      }
    });

    test(`EDS-9.7-2 ${mode}: every webhook gets the same key, even if it fails first`, async () => {
      const { send } = await sourceOf(mode, {}, receivers);
      const key = 'odd "key"';
      if (mode === "store_and_forward") receiver().script(failingFirst(503));
      const body = '{"a":1}';
      await send(body, { "idempotency-key": key });
      const counts = mode === "store_and_forward" ? [2, 1, 1] : [1, 1, 1];
      for (const [index, one] of receivers.entries())
        for (const got of await one.waitForRequests(counts[index] ?? 1))
          assert.equal(rawHeader(got, "idempotency-key"), key);
    });

    test(`EDS-9.7-3 ${mode}: the destination's Retry-After stays on its hop`, async () => {
      const { send } = await sourceOf(mode);
      receiver().script(() => ({ status: 503, headers: { "retry-after": "77", "set-cookie": "a=b" } }));
      const answer = await send('{"a":2}', { "idempotency-key": '"retry"' });
      assert.notEqual(answer.headers["retry-after"], "77");
      assert.equal(answer.headers["set-cookie"], undefined);
      // EDS-9.7-4: for a stored message, the gateway itself reports success. For a passed-through message, a failure
      // comes from the destination.
      assert.equal(answer.status, mode === "pass_through" ? 503 : 202);
      await receiver().waitForRequests(1);
      receiver().script(() => ({}));
    });

    test(`IDK-15 EDS-9.4-6 ${mode}: a repeat gets the first response, another body is rejected`, async () => {
      const { send, requests } = await sourceOf(mode);
      const key = { "idempotency-key": '"repeat"' };
      const first = await send('{"a":3}', key);
      await receiver().waitForRequests(1);
      const second = await send('{"a":3}', key);
      assert.equal(second.status, first.status);
      const third = await send('{"a":4}', key);
      assert.equal(third.status, 422, third.text);
      assert.equal(receiver().requests.length, 1);
      const outcomes = (await requests()).map(({ outcome }) => outcome);
      assert.deepEqual(outcomes, ["rejected", "duplicate", "accepted"]);
      const metrics = await running.metricsText();
      for (const outcome of ["rejected", "duplicate", "accepted"])
        assert.match(
          metrics,
          new RegExp(`posthorn_gateway_requests_total{source="[^"]+",outcome="${outcome}"} 1\n`),
        );
    });

    test(`TS16-80 EDS-11.3-1 ${mode}: a message without a valid signature is answered 401 and not forwarded`, async () => {
      const { send, requests } = await sourceOf(mode);
      const forged = await send('{"a":5}', { "x-hub-signature-256": `sha256=${"0".repeat(64)}` });
      assert.equal(forged.status, 401);
      assert.equal(receiver().requests.length, 0);
      const [request] = await requests("&outcome=rejected");
      assert.equal(request?.["rejection_cause"], "no_matching_signature");
    });
  }

  test("EDS-9.7-4 store and forward answers 202 while the webhook fails", async () => {
    const { send } = await sourceOf("store_and_forward");
    receiver().script(() => ({ status: 500 }));
    assert.equal((await send('{"a":6}')).status, 202);
    await receiver().waitForRequests(1);
    receiver().script(() => ({}));
  });

  test("EDS-9.7-6 unless the service description is acknowledged nothing is stored and forwarded", async () => {
    const none = { type: "none" };
    const refused = await admin.post("/v1/sources", {
      name: "x",
      verification: none,
      mode: "store_and_forward",
    });
    assertProblem(refused, { status: 422, code: "acknowledgement_required" });
    const made = await admin.post("/v1/sources", { name: "x", verification: none });
    const id = textOf(made.body["source_id"]);
    const old = await admin.post(`/v1/sources/${id}/acknowledge`, { version: "abc" });
    assertProblem(old, { status: 409, code: "conflict" });
    const shown = await admin.get(`/v1/sources/${id}`);
    assert.match(JSON.stringify(shown.body["warnings"]), /not verified/);
    assert.equal(shown.body["effective_mode"], "pass_through");
  });

  test("EDS-9.7-6 an acknowledgement of an older service description does not count", async () => {
    const { id, send } = await sourceOf("store_and_forward");
    const mode = async () => (await admin.get(`/v1/sources/${id}`)).body["effective_mode"];
    assert.equal(await mode(), "store_and_forward");
    const version = async () => textOf((await admin.get("/service-description")).body["version"]);
    const acknowledged = await version();
    await running.stop();
    // The service description contains the retention time of payloads, so its version changes too.
    await start({ retentionPayloadDays: 7 });
    assert.notEqual(await version(), acknowledged);
    receiver().script(() => ({ status: 503 }));
    const refused = await send('{"older":1}');
    assert.equal(refused.status, 503, "accepted before the destination accepted it");
    assert.equal(await mode(), "pass_through");
    const shown = await admin.get(`/v1/sources/${id}`);
    assert.match(JSON.stringify(shown.body["warnings"]), /changed since it was acknowledged/);
    const again = await admin.post(`/v1/sources/${id}/acknowledge`, { version: await version() });
    assert.equal(again.status, 200, again.text);
    assert.equal((await send('{"older":2}')).status, 202);
    receiver().script(() => ({}));
    await running.stop();
    await start();
  });

  test("EDS-9.7-5 each hop is authenticated separately, and the sender's signature is forwarded if agreed", async () => {
    const ofSender = {
      "signature-input": 'sender=("@method" "content-digest");created=1',
      "signature": "sender=:AAAA:",
      "content-digest": "sha-256=:AAAA:",
      "webhook-signature": "v1,AAAA",
      "authorization": "Bearer of the sender",
    };
    for (const passes of [false, true]) {
      const { send } = await sourceOf("store_and_forward", { pass_signatures: passes });
      const body = `{"passes":${passes}}`;
      await send(body, ofSender);
      // A retry from an earlier test may arrive in between.
      const mine = () => receiver().requests.find(({ text }) => text === body);
      await receiver().waitUntil(() => mine() !== undefined);
      const got = mine() as ReceivedRequest;
      const own = got.headers["signature"]?.includes("sender=") === true;
      assert.equal(own, passes, JSON.stringify(got.headers));
      assert.equal(got.headers.authorization, "Bearer t");
      assert.notEqual(got.headers["webhook-signature"], ofSender["webhook-signature"]);
    }
  });

  test("EDS-9.7-7 with pass-through, success is returned only after the webhook responded", async () => {
    const { send } = await sourceOf("pass_through");
    let answered = false;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    receiver().script(async () => {
      await gate;
      answered = true;
      return { status: 201, headers: { "content-type": "text/plain" }, body: "made" };
    });
    const sending = send('{"a":7}');
    await receiver().waitUntil(() => receiver().concurrencyPeak > 0);
    release();
    const answer = await sending;
    assert.equal(answered, true);
    assert.deepEqual([answer.status, answer.text], [201, "made"]);
  });

  test("with pass-through, a failure is retried, and only for webhooks that did not accept", async () => {
    const { send } = await sourceOf("pass_through", {}, receivers.slice(0, 2));
    (receivers[1] as Receiver).script(failingFirst(500));
    const key = { "idempotency-key": '"again"' };
    assert.equal((await send('{"a":8}', key)).status, 503);
    assert.equal((await send('{"a":8}', key)).status, 200);
    assert.deepEqual([receivers[0]?.requests.length, receivers[1]?.requests.length], [1, 2]);
  });

  test("a passed-through message is recorded like every other delivery", async () => {
    const { send, requests } = await sourceOf("pass_through");
    await send('{"a":9}');
    const [request] = await requests();
    const eventId = textOf(request?.["event_id"] as never);
    for (;;) {
      const found = await admin.get(`/v1/events/${eventId}/deliveries`);
      const [delivery] = (found.body["data"] ?? []) as unknown as readonly Json[];
      if (delivery?.["status"] !== "success") continue;
      assert.equal(delivery["attempt_count"] ?? 1, 1);
      const webhook = String(delivery["webhook_id"]);
      const path = `/v1/stats/deliveries?webhook_id=${webhook}&measures=accepted,success&step=1m`;
      await eventually("it is counted once, with the commit that stored it", {
        ask: async () => (await admin.get(path)).text,
        holds: (text) => text.includes('"totals":{"accepted":1,"success":1}'),
      });
      break;
    }
  });

  test("a captured message cannot be used under two keys, and an invalid key causes no lookup", async () => {
    const { send } = await sourceOf("store_and_forward");
    for (const key of ['"unterminated', `"${"k".repeat(256)}"`, "k".repeat(256)]) {
      const answer = await send('{"a":10}', { "idempotency-key": key });
      assert.equal(answer.status, 400, key);
    }
    const twice = await send('{"a":10}', { "idempotency-key": ['"a"', '"b"'] });
    assert.equal(twice.status, 400);
    assert.equal(receiver().requests.length, 0);
  });

  test("EDS-5-1 a chain of two behaves like two hops, and a loop ends", async () => {
    const end = await sourceOf("store_and_forward");
    const front = await sourceOf("pass_through", {}, []);
    const webhook = await admin.post("/v1/webhooks", {
      url: `${running.url}${end.path}`,
      events: ["relayed"],
      profile: "event-delivery",
      bearer_token: "t",
    });
    const ends = { source_id: front.id, webhook_id: textOf(webhook.body["id"]) };
    const refused = await admin.post("/v1/connections", ends);
    assertProblem(refused, { status: 400, code: "invalid_request" });
    await admin.post("/v1/connections", { ...ends, allow_chain: true });
    // Two hops through the same deployment are a loop, which the second hop rejects. The sender gets the error for a
    // misconfigured destination.
    const answer = await front.send('{"a":11}', { "idempotency-key": '"chain"' });
    assert.equal(answer.status, 503);
    const [request] = await end.requests();
    assert.deepEqual([request?.["status"], request?.["rejection_cause"]], [508, "loop"]);
    const other = await end.send('{"a":12}', {
      "idempotency-key": '"chain 2"',
      "posthorn-hop": "0123456789ab",
    });
    assert.equal(other.status, 202);
    const [got] = await receiver().waitForRequests(1);
    assert.match(rawHeader(got as ReceivedRequest, "posthorn-hop") ?? "", /^0123456789ab;[0-9a-f]{12}$/);
  });

  test("TS16-21 EDS-11.3-2 CEW-2.2-7 unknown addresses are 404, disabled ones 503 or 410, other methods 405", async () => {
    const { id, path, send } = await sourceOf("store_and_forward");
    assert.equal((await post(`${running.url}/in/${"x".repeat(32)}`, "{}")).status, 404);
    assert.equal((await post(`${running.url}/_webhooks/nobody`, "{}")).status, 404);
    const got = await fetch(`${running.url}${path}`);
    assert.deepEqual([got.status, got.headers.get("allow")], [405, "POST"]);
    await admin.call("PATCH", `/v1/sources/${id}`, { body: { active: false } });
    const off = await send("{}");
    assert.deepEqual([off.status, off.headers["retry-after"]], [503, "60"]);
    await admin.call("PATCH", `/v1/sources/${id}`, { body: { when_inactive: "gone" } });
    assert.equal((await send("{}")).status, 410);
  });

  test("a rejected request is forwarded after the secret was corrected", async () => {
    const { id, send, requests } = await sourceOf("store_and_forward");
    const wrong = { ...verification, secrets: ["a different secret"] };
    await admin.call("PATCH", `/v1/sources/${id}`, { body: { verification: wrong } });
    assert.equal((await send('{"a":13}', { "idempotency-key": '"late"' })).status, 401);
    const [rejected] = await requests();
    const request = `/v1/requests/${textOf(rejected?.["id"] as never)}`;
    assertProblem(await admin.post(`${request}/replay`, {}), { status: 409, code: "conflict" });
    await admin.call("PATCH", `/v1/sources/${id}`, { body: { verification } });
    const replayed = await admin.post(`${request}/replay`, {});
    assert.equal(replayed.status, 202, JSON.stringify(replayed.body));
    const [got] = await receiver().waitForRequests(1);
    assert.equal(rawHeader(got as ReceivedRequest, "idempotency-key"), '"late"');
    const again = await admin.post(`${request}/replay`, {});
    assert.equal(again.status, 202);
    const requestsGot = await receiver().waitForRequests(2);
    assert.equal(rawHeader(requestsGot[1] as ReceivedRequest, "idempotency-key"), '"late"');
  });

  test("filters, a paused connection and the event type", async () => {
    const { send, requests, connections } = await sourceOf("store_and_forward", {
      event_type: { pointer: "/topic" },
    });
    const [connection] = connections;
    const patch = (body: Json) => admin.call("PATCH", `/v1/connections/${connection}`, { body });
    await patch({ filter: { body: { topic: { $startsWith: "orders/" } } } });
    assert.equal((await send('{"topic":"users/create"}')).status, 202);
    const [ignored] = await requests();
    assert.equal(ignored?.["outcome"], "ignored");
    await patch({ paused: true });
    for (const n of [1, 2, 3]) await send(`{"topic":"orders/create","n":${n}}`);
    assert.equal(receiver().requests.length, 0);
    await patch({ paused: false });
    const got = await receiver().waitForRequests(3);
    assert.deepEqual(got.map(({ text }) => String((JSON.parse(text) as Json)["n"])).toSorted(), [
      "1",
      "2",
      "3",
    ]);
    const [newest] = await requests();
    assert.deepEqual([newest?.["event_type"], newest?.["original_type"]], ["orders.create", "orders/create"]);
  });

  test("the rest of path and query reach the webhook if the source allows it", async () => {
    const { path } = await sourceOf("store_and_forward", { forward_path: true });
    const body = '{"a":14}';
    await post(`${running.url}${path}/shop/42?x=y`, body, { headers: signed(body) });
    const [got] = await receiver().waitForRequests(1);
    assert.equal(got?.path, "/hook/shop/42?x=y");
    assert.equal(
      (await post(`${running.url}${path}/%2e%2e/admin`, body, { headers: signed(body) })).status,
      404,
    );
  });

  test("EDS-9.7-2 after a restart the retry still carries the sender's key", async () => {
    const { send } = await sourceOf("store_and_forward");
    receiver().script(failingFirst(503));
    const webhooks = await admin.get("/v1/webhooks?limit=1");
    const [webhook] = webhooks.body["data"] as unknown as readonly Json[];
    await admin.call("PATCH", `/v1/webhooks/${textOf(webhook?.["id"] as never)}`, {
      body: { retry_config: { schedule_ms: [1_000] } },
    });
    await send('{"a":15}', { "idempotency-key": "bare;over=restart" });
    await receiver().waitForRequests(1);
    await running.stop();
    await start();
    const got = await receiver().waitForRequests(2);
    assert.equal(rawHeader(got[1] as ReceivedRequest, "idempotency-key"), "bare;over=restart");
  });
});

function statusTold(observation: AttemptObservation, overrides: StatusOverrides = {}): number {
  return upstreamStatus({ observation, isAccepted: false, isOversized: false }, overrides);
}

test("every status of a destination has one response, never a redirect, never success for a failure", () => {
  for (let status = 100; status < 600; status += 1) {
    for (const complete of [true, false]) {
      const upstream = statusTold({ kind: "response", status, complete });
      assert.ok(upstream >= 400, `${status}: ${upstream}`);
    }
  }
  const table: readonly (readonly [number, number])[] = [
    [207, 502],
    [302, 502],
    [400, 400],
    [401, 502],
    [404, 502],
    [409, 503],
    [410, 502],
    [413, 413],
    [429, 503],
    [500, 503],
    [599, 503],
  ];
  for (const [status, expected] of table)
    assert.equal(statusTold({ kind: "response", status, complete: true }), expected, String(status));
  const accepted = { isAccepted: true, isOversized: false };
  const created = { kind: "response", status: 201, complete: true } as const;
  assert.equal(upstreamStatus({ ...accepted, observation: created }), 201);
  assert.equal(statusTold({ kind: "failure", category: "timeout", requestSent: true }), 504);
  assert.equal(statusTold({ kind: "failure", category: "network", requestSent: true }), 504);
  assert.equal(statusTold({ kind: "failure", category: "network", requestSent: false }), 502);
  assert.equal(statusTold({ kind: "failure", category: "dns", requestSent: false }), 502);
  assert.equal(upstreamStatus({ observation: created, isAccepted: false, isOversized: true }), 502);
  const named = upstreamRules.flatMap(({ statuses }) => statuses);
  assert.ok(named.length > 100);
});

test("a source may replace a success by another success, and an error by another error, never by a redirect", () => {
  const gone = { kind: "response", status: 410, complete: true } as const;
  assert.equal(statusTold(gone, { 410: 410 }), 410);
  assert.equal(
    statusTold({ kind: "failure", category: "timeout", requestSent: true }, { timeout: 503 }),
    503,
  );
  const made = { observation: { ...gone, status: 201 }, isAccepted: true, isOversized: false };
  assert.equal(upstreamStatus(made, { 201: 200 }), 200);
  // A status that the profile does not accept remains an error, even if a replacement is configured.
  assert.equal(upstreamStatus({ ...made, isAccepted: false }, { 201: 200 }), 502);
  for (const [row, upstream] of [
    ["410", 301],
    ["410", 200],
    ["500", 204],
    ["200", 500],
    ["200", 302],
    ["timeout", 200],
    ["nonsense", 503],
    ["100", 503],
    ["410", "410"],
  ] as const)
    assert.equal(isPossibleOverride(row, upstream), false, `${row} ${upstream}`);
});

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

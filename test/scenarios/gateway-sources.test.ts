/**
 * Settings of one source: replaced statuses, retries while the sender waits, handshakes, and credentials in the query.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { answerConsent, giveConsent } from "../../src/features/gateway/request-admission.ts";
import { GatewayInbound } from "../../src/features/gateway/inbound.ts";
import { newSource } from "../../src/features/gateway/source-service.ts";
import { OutsideCalls } from "../../src/features/verification/outside-calls.ts";
import type { ReceivedRequest } from "../../src/ports/store/gateway.ts";
import { noResponseFields, type OutboundRequest, type TransportResult } from "../../src/ports/transport.ts";
import { assertProblem, itemsOf, textOf } from "./api/client.fixture.ts";
import { openStream, type StreamedEvent } from "./api/event-stream.fixture.ts";
import { GatewayScene } from "./gateway/gateway-scene.fixture.ts";
import { type Json, post } from "./gateway/scene.fixture.ts";

suite("settings of sources", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  test("a source may answer 410 for a deleted webhook, and another status for a timeout", async () => {
    const { send } = await scene.source({
      source: { status_overrides: { 410: 410, timeout: 503 } },
    });
    scene.receiver.script(() => ({ status: 410 }));
    assert.equal((await send('{"a":1}')).status, 410);
    const slow = await scene.source({ source: { status_overrides: { timeout: 503 }, budget_ms: 1_000 } });
    scene.receiver.script(() => "hang");
    assert.equal((await slow.send('{"a":2}')).status, 503);
    const usual = await scene.source();
    scene.receiver.script(() => ({ status: 410 }));
    assert.equal((await usual.send('{"a":3}')).status, 502);
  });

  test("no override turns a failure into a success or a redirect", async () => {
    const { id } = await scene.source();
    for (const overrides of [
      { 410: 200 },
      { 500: 302 },
      { 200: 301 },
      { timeout: 204 },
      { 200: 500 },
      { x: 503 },
    ]) {
      const body = { status_overrides: overrides };
      const refused = await scene.admin.call("PATCH", `/v1/sources/${id}`, { body });
      assertProblem(refused, { status: 400, code: "invalid_request" });
    }
  });

  test("a response longer than the limit is reported as 502, and a repeat is sent again", async () => {
    const { send } = await scene.source();
    scene.receiver.script(() => ({
      body: "x".repeat(scene.receiver.requests.length === 1 ? 70_000 : 60_000),
    }));
    const key = { "idempotency-key": '"long"' };
    assert.equal((await send('{"a":4}', key)).status, 502);
    const second = await send('{"a":4}', key);
    assert.deepEqual([second.status, second.text.length], [200, 60_000]);
  });

  test("EDS-9.2.3-3 a token that the destination rejects is replaced at once, a single time, while the sender waits", async () => {
    const good = new Set(["token-2"]);
    let issued = 0;
    const oauth2 = { token_url: scene.receiver.url("/token"), client_id: "client", client_secret: "secret" };
    const webhook = { bearer_token: undefined, oauth2 };
    const { send } = await scene.source({ webhook });
    scene.receiver.script((request) => {
      if (request.path === "/hook")
        return { status: good.has(request.headers.authorization?.slice("Bearer ".length) ?? "") ? 204 : 401 };
      const token = { access_token: `token-${(issued += 1)}`, token_type: "Bearer", expires_in: 3_600 };
      return { headers: { "content-type": "application/json" }, body: JSON.stringify(token) };
    });
    const shown = () =>
      scene.receiver.requests.flatMap(({ path, headers }) =>
        path === "/hook" ? [headers.authorization, headers["idempotency-key"]] : [],
      );
    assert.equal((await send('{"a":1}', { "idempotency-key": '"k"' })).status, 204);
    assert.deepEqual(shown(), ["Bearer token-1", '"k"', "Bearer token-2", '"k"']);
    // No token is accepted, so the request is sent twice. The response shows that the sender is not at fault.
    good.clear();
    scene.receiver.clear();
    assert.equal((await send('{"a":2}', { "idempotency-key": '"l"' })).status, 502);
    assert.deepEqual(shown(), ["Bearer token-2", '"l"', "Bearer token-3", '"l"']);
  });

  test("EDS-9.7-3 Retry-After of the webhook stays on its hop, even while it is paused", async () => {
    const { send } = await scene.source({ webhook: { profile: "standard" } });
    scene.receiver.script(() => ({ status: 429, headers: { "retry-after": "77" } }));
    const first = await send('{"a":5}');
    const second = await send('{"a":6}');
    assert.deepEqual([first.status, second.status], [503, 503]);
    assert.equal(scene.receiver.requests.length, 1, "it is left alone for as long as it asked");
    assert.equal(first.headers["retry-after"], undefined);
    assert.equal(second.headers["retry-after"], "60");
  });

  test("without retries_within_budget there is one attempt, with it there are more while the sender waits", async () => {
    const single = await scene.source();
    scene.receiver.script(() => ({ status: scene.receiver.requests.length === 1 ? 500 : 200 }));
    assert.equal((await single.send('{"a":7}')).status, 503);
    assert.equal(scene.receiver.requests.length, 1);
    const { send, requests } = await scene.source({
      source: { retries_within_budget: true, budget_ms: 60_000 },
    });
    scene.receiver.script(() => ({ status: scene.receiver.requests.length < 3 ? 500 : 201 }));
    const answer = await send('{"a":8}', { "idempotency-key": "bare" });
    assert.equal(answer.status, 201);
    assert.deepEqual(
      scene.receiver.requests.map(({ headers }) => headers["idempotency-key"]),
      ["bare", "bare", "bare"],
    );
    const [request] = await requests();
    const deliveries = `/v1/events/${String(request?.["event_id"])}/deliveries`;
    for (;;) {
      const { body } = await scene.admin.get(deliveries);
      const states = ((body["data"] ?? []) as unknown as { status: string }[]).map(({ status }) => status);
      if (states.filter((state) => state !== "pending").length < 3) continue;
      assert.deepEqual(states.toSorted(), ["cancelled", "cancelled", "success"], "each attempt is on record");
      break;
    }
  });

  test("a webhook that requests a longer wait than the budget is not tried again", async () => {
    const { send } = await scene.source({ source: { retries_within_budget: true, budget_ms: 5_000 } });
    scene.receiver.script(() => ({ status: 503, headers: { "retry-after": "30" } }));
    assert.equal((await send('{"a":9}')).status, 503);
    assert.equal(scene.receiver.requests.length, 1);
  });

  test("CEW-4-3 CEW-4.2-1 CEW-4.2-5 a source answers handshakes of the senders that may deliver", async () => {
    const { url } = await scene.source({
      source: { handshake: { allowed_origins: ["events.example.com"], rate_per_minute_max: 120 } },
    });
    const asks = (headers: Record<string, string>) => post(url, "", { method: "OPTIONS", headers });
    const allowed = await asks({
      "webhook-request-origin": "Events.example.com",
      "webhook-request-rate": "500",
    });
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers["webhook-allowed-origin"], "Events.example.com");
    assert.equal(allowed.headers["webhook-allowed-rate"], "120");
    assert.equal(allowed.headers["allow"], "POST");
    const stranger = await asks({ "webhook-request-origin": "else.example.com" });
    assert.deepEqual(
      [stranger.headers["webhook-allowed-origin"], stranger.headers["webhook-allowed-rate"]],
      [undefined, undefined],
    );
    assert.equal((await asks({})).status, 400);
    assert.equal((await asks({ "webhook-request-origin": "a\tb" })).status, 400);
  });

  test("CEW-4.2-4 a source without a handshake answers OPTIONS with 405 and its allowed methods", async () => {
    const { url } = await scene.source({ source: { allow_put: true } });
    const answer = await post(url, "", {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "events.example.com" },
    });
    assert.deepEqual([answer.status, answer.headers["allow"]], [405, "POST, PUT"]);
    assert.equal(answer.headers["webhook-allowed-origin"], undefined);
  });

  test("CEW-4.2-2 deferred consent is withheld at first, and given by a replay", async () => {
    const { id, url, requests } = await scene.source({ source: { handshake: { allowed_origins: [] } } });
    const answer = await post(url, "", {
      method: "OPTIONS",
      headers: {
        "webhook-request-origin": "events.example.com",
        "webhook-request-callback": "https://callback.invalid/consent?secret=abc",
      },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["webhook-allowed-origin"], undefined);
    const [asked] = await requests();
    assert.equal(asked?.["outcome"], "challenge");
    const replay = `/v1/requests/${String(asked?.["id"])}/replay`;
    const early = await scene.admin.post(replay, {});
    assertProblem(early, { status: 409, code: "conflict" });
    assert.match(early.text, /allowed_origins/);
    await scene.change(`/v1/sources/${id}`, { handshake: { allowed_origins: ["events.example.com"] } });
    // Nothing listens at the callback address, and the response reports that. The address was validated like the URL of
    // a webhook.
    const late = await scene.admin.post(replay, {});
    assertProblem(late, { status: 409, code: "conflict" });
    assert.match(late.text, /could not be notified/);
  });

  test("CEW-3-2 CEW-3.2-4 a token in the query is accepted if the source allows it, and neither stored, shown nor forwarded", async () => {
    const verification = { type: "bearer", secrets: ["tok-123456"], access_token_parameter: "allowed" };
    const { url, requests } = await scene.source({ source: { verification, forward_path: true } });
    const headers = { "content-type": "application/json" };
    const inHeader = await post(url, '{"a":10}', {
      headers: { ...headers, authorization: "Bearer tok-123456" },
    });
    assert.deepEqual([inHeader.status, inHeader.headers["cache-control"]], [200, undefined]);
    const inQuery = await post(`${url}/below?x=1&access_token=tok-123456`, '{"a":11}', { headers });
    assert.deepEqual([inQuery.status, inQuery.headers["cache-control"]], [200, "private"]);
    assert.equal(scene.receiver.requests[1]?.path, "/hook/below?x=1");
    assert.doesNotMatch(JSON.stringify(await requests()), /tok-123456/);
    const refusing = { type: "bearer", secrets: ["tok-123456"] };
    const strict = await scene.source({ source: { verification: refusing } });
    const refused = await post(`${strict.url}?access_token=tok-123456`, "{}", { headers });
    assert.equal(refused.status, 401);
  });

  test("a stream reports incoming requests to callers that may see them, and only of their tenant", async () => {
    const own = await openStream(scene.admin, {
      key: await scene.admin.keyFor("read", "default"),
      query: "topics=requests",
    });
    const stranger = await openStream(scene.admin, {
      key: await scene.admin.keyFor("read", "gateway-stranger"),
      query: "topics=requests,deliveries",
    });
    const { id, url, send } = await scene.source();
    const isMine = ({ data }: StreamedEvent): boolean => JSON.stringify(data).includes(id);
    await send('{"a":1}');
    const told = await own.until("the request is told", isMine);
    const [row] = itemsOf(told.data["rows"]);
    assert.deepEqual([told.name, told.data["topic"], told.data["left_out"]], ["requests", "requests", false]);
    assert.deepEqual([row?.["source_id"], row?.["outcome"], row?.["status"]], [id, "accepted", 200]);
    assert.equal((await post(url, "{}")).status, 401);
    await own.until("and one that was rejected", ({ data }) =>
      JSON.stringify(data).includes("missing_header"),
    );
    const theirs = scene.admin.withKey(await scene.admin.keyFor("manage", "gateway-stranger"));
    const made = await theirs.post("/v1/sources", { name: "theirs", verification: { type: "none" } });
    await post(textOf(made.body["url"]), "{}");
    await stranger.until("the stranger hears of its own", ({ name }) => name === "requests");
    assert.deepEqual(stranger.events.filter(isMine), []);
    own.close();
    stranger.close();
  });

  test("a search finds sources and connections by id, and by the start of names and descriptions", async () => {
    const source = { name: "Tills of Ghent", description: "Every shop", party: "tills-of-ghent" };
    const { id, connections } = await scene.source({ source, connection: { name: "To the books" } });
    const [connection] = connections;
    const found = async (text: string) => {
      const { body } = await scene.admin.get(`/v1/search?q=${encodeURIComponent(text)}`);
      const hits = body["data"] as unknown as readonly Json[];
      return hits.map(({ type, id: hit, title, matched }) => [type, hit, title, matched]);
    };
    for (const [text, matched] of [
      [id, "id"],
      ["tills OF", "name"],
      ["tills-of-g", "name"],
      ["every", "description"],
    ] as const)
      assert.deepEqual(await found(text), [["source", id, "Tills of Ghent", matched]], text);
    for (const [text, matched] of [
      [connection ?? "", "id"],
      ["to the", "name"],
    ] as const)
      assert.deepEqual(await found(text), [["connection", connection, "To the books", matched]], text);
    assert.deepEqual(await found("of Ghent"), [], "a beginning is meant");
  });

  test("two keys, keys that are too long and control characters are 400, without any lookup", async () => {
    const { send, requests } = await scene.source();
    for (const key of [['"a"', '"b"'], "k".repeat(256), '"a', ""]) {
      const answer = await send('{"a":12}', { "idempotency-key": key });
      assert.equal(answer.status, 400);
    }
    assert.equal(scene.receiver.requests.length, 0);
    assert.ok(
      (await requests()).every(({ rejection_cause: cause }) => cause === "idempotency_key_malformed"),
    );
  });
});

test("CEW-4.2.2-2 the sender is notified by POST with its rate, and only at addresses allowed for webhooks", async () => {
  const sent: OutboundRequest[] = [];
  const transport = {
    send: async (request: OutboundRequest): Promise<TransportResult> => {
      sent.push(request);
      const observation = { kind: "response", status: 204, complete: true } as const;
      return {
        observation,
        responseSample: null,
        fields: noResponseFields,
        errorMessage: null,
        durationMs: 1,
      };
    },
  };
  const policy = { allow: () => true, judge: () => ({ kind: "ok" }) } as never;
  const urlRules = { policy, allowHttp: false, allowInternalNames: false };
  const bounds = { atOnce: 1, perMinute: 2 };
  const limits = { all: bounds, tenant: bounds, host: bounds };
  const calls = new OutsideCalls({ monotonicMs: () => 1 }, limits);
  const asking = (callback: string) => {
    const headers = new Map([
      ["webhook-request-origin", "events.example.com"],
      ["webhook-request-rate", "30"],
      ["webhook-request-callback", callback],
    ]);
    const get = (name: string) => headers.get(name) ?? null;
    return { method: "OPTIONS", url: "/in/x", body: new Uint8Array(), headers: { get } };
  };
  const handshake = { allowedOrigins: ["events.example.com"], ratePerMinuteMax: 20 };
  const source = { ...newSource, handshake, id: "s", tenantId: "t", tokens: [], createdAt: 0 };
  const message = asking("https://events.example.com/consent?id=7");
  const consent = await answerConsent(message, source);
  await giveConsent({ transport, urlRules, calls }, "t", message, consent);
  assert.deepEqual(
    [sent[0]?.method, sent[0]?.origin, sent[0]?.path, sent[0]?.headers],
    ["POST", "https://events.example.com", "/consent?id=7", ["WebHook-Allowed-Rate", "20"]],
  );
  for (const callback of ["http://events.example.com/", "https://user@events.example.com/", ""])
    await assert.rejects(giveConsent({ transport, urlRules, calls }, "t", asking(callback), consent));
  assert.equal(sent.length, 1);
  // The number of such requests per tenant is limited.
  await giveConsent({ transport, urlRules, calls }, "t", message, consent);
  const third = giveConsent({ transport, urlRules, calls }, "t", message, consent);
  await assert.rejects(third, { code: "rate_limited", retryAfterSeconds: 60 });
  assert.equal(sent.length, 2);
});

test("internal errors are reported in the server log, not to tenants", async () => {
  const rows: ReceivedRequest[] = [];
  const logged: object[] = [];
  const source = { ...newSource, id: "s", tenantId: "t", tokens: [], createdAt: 0 };
  const log = { ...silent, error: (fields: object) => void logged.push(fields) };
  const inbound = new GatewayInbound({
    directory: { sourceByParty: () => source } as never,
    box: {
      verifier: () => {
        throw new Error("no master key fits /var/lib/posthorn/master.key");
      },
    } as never,
    access: { nextId: () => "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c" },
    deliverer: {} as never,
    requests: { add: (row: ReceivedRequest) => void rows.push(row), keepsBody: () => false } as never,
    clock: { now: () => 0, monotonicMs: () => 0 } as never,
    telemetry: { log, metrics: {} } as never,
    deploymentId: "0123456789ab",
  });
  const body = new Uint8Array([1]);
  const answer = await inbound.handle({ method: "POST", url: "/_webhooks/shop", rawHeaders: [], body });
  assert.equal(answer.status, 503);
  assert.equal(rows[0]?.detail, "The server could not accept it; see the server log.");
  assert.doesNotMatch(JSON.stringify([rows, answer]), /master/);
  assert.match(JSON.stringify(logged), /master\.key/);
});

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * Receivers confirm that they want the events, with each of the methods, over real sockets and with the real name
 * resolution.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createNameLookup } from "../../src/system/host-names.ts";
import { validPair } from "../peers/certificates.ts";
import { startNameServer } from "../peers/name-server.ts";
import { type Answer, type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import {
  assertProblem,
  type Client,
  createClient,
  fieldsOf,
  itemsOf,
  type Json,
  type Reply,
  textOf,
} from "./api/client.fixture.ts";
import { openServer } from "./api/running-server.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

const origin = "events.posthorn.test";

describe("verification", () => {
  let posthorn: PosthornProcess;
  let receiver: Receiver;
  let api: Client;
  before(async () => {
    posthorn = await PosthornProcess.start({
      env: { POSTHORN_ORIGIN: origin, POSTHORN_PUBLIC_URL: "https://hooks.posthorn.test/" },
    });
    receiver = await startReceiver();
    api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
  });
  after(async () => {
    await posthorn.remove();
    await receiver.close();
  });

  /** Creates a webhook with its own event type and its own path. */
  const create = async (path: string, more: object): Promise<Json> => {
    const reply = await api.post("/v1/webhooks", {
      url: receiver.url(path),
      events: [typeOf(path)],
      ...more,
    });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  const typeOf = (path: string) => `verified.${path.replaceAll(/\W/g, "_")}`;
  const publish = async (path: string): Promise<void> => {
    const reply = await api.post("/v1/events", { event_type: typeOf(path), data: { path } });
    assert.equal(reply.status, 202, reply.text);
  };
  const requestsTo = (path: string, method: string): readonly ReceivedRequest[] =>
    receiver.requests.filter((request) => request.path === path && request.method === method);
  const answerOptions = (answer: Answer): void =>
    receiver.script((request) => (request.method === "OPTIONS" ? answer : {}));
  /** The path of the callback URL, as a proxy in front of the server forwards it. */
  const callbackOf = (path: string): string => {
    const url = new URL(String(requestsTo(path, "OPTIONS").at(-1)?.headers["webhook-request-callback"]));
    assert.equal(url.origin, "https://hooks.posthorn.test");
    return url.pathname + url.search;
  };
  const call = (path: string, init: RequestInit = {}) => fetch(posthorn.url + path, init);

  test("CEW-4-1 CEW-4.1-1 CEW-4.1.2-1 CEW-4.1.2-2 CEW-4.1.4-1 the handshake is sent to the exact URL, and deliveries name the same origin", async () => {
    answerOptions({
      status: 204,
      headers: { Allow: "POST", "WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*" },
    });
    const path = "/handshake?tenant=a&b";
    const webhook = await create(path, {
      profile: "cloudevents",
      bearer_token: "token",
      verification: { method: "cloudevents", requested_rate_per_minute: 120 },
    });
    const [asked] = requestsTo(path, "OPTIONS");
    assert.equal(asked?.headers["webhook-request-origin"], origin);
    assert.equal(asked.headers["webhook-request-rate"], "120");
    assert.equal(asked.headers["content-length"], undefined);
    assert.equal(asked.headers.authorization, undefined, "a handshake is no authentication");
    assert.deepEqual([webhook["status"], webhook["verification"]?.["state"]], ["active", "granted"]);
    assert.equal(webhook["verification"]?.["allowed_rate_per_minute"], null);
    await publish(path);
    await receiver.waitUntil(() => requestsTo(path, "POST").length === 1);
    const [delivered] = requestsTo(path, "POST");
    assert.equal(delivered?.headers["webhook-request-origin"], origin);
    assert.equal(delivered.headers.authorization, "Bearer token");
  });

  test("CEW-4-4 CEW-4.2-3 without permission nothing is sent, whatever the status", async () => {
    const unwilling: readonly Answer[] = [
      { status: 200 },
      { status: 405, headers: { Allow: "POST" } },
      { status: 200, headers: { "WebHook-Allowed-Origin": "other.example", "WebHook-Allowed-Rate": "*" } },
      { status: 200, headers: { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "0" } },
      { status: 307, headers: { Location: "/willing", "WebHook-Allowed-Origin": "*" } },
      { status: 500, headers: { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" } },
    ];
    for (const [index, answer] of unwilling.entries()) {
      answerOptions(answer);
      const path = `/unwilling-${index}`;
      const webhook = await create(path, { verification: "cloudevents" });
      assert.deepEqual([webhook["status"], webhook["active"]], ["unverified", false], JSON.stringify(answer));
      await publish(path);
      const { body } = await api.get(`/v1/webhooks/${textOf(webhook["id"])}/deliveries`);
      assert.equal(itemsOf(body["data"])[0]?.["status"], "skipped");
      assert.deepEqual(requestsTo(path, "POST"), []);
    }
    answerOptions({ status: 405, headers: { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" } });
    const willing = await create("/willing", { verification: "cloudevents" });
    assert.equal(willing["status"], "active", "the headers are the consent");
  });

  for (const method of ["GET", "POST"]) {
    test(`CEW-4.1.3-1 CEW-4.1.3-3 CEW-4.1.3-5 CEW-4.2.2-2 a ${method} of the callback URL permits, once`, async () => {
      answerOptions({ status: 200 });
      const path = `/callback-${method.toLowerCase()}`;
      const webhook = await create(path, {
        verification: { method: "cloudevents", requested_rate_per_minute: 6_000 },
      });
      const url = `/v1/webhooks/${textOf(webhook["id"])}`;
      assert.equal(webhook["status"], "unverified");
      const callback = callbackOf(path);
      assert.ok(callback.includes(textOf(webhook["id"])), "it names the webhook");
      const body =
        method === "POST" ? { body: "granted=yes", headers: { "content-type": "text/plain" } } : {};
      const wrong = await call(`${callback.slice(0, -4)}AAAA`, { method, ...body });
      assert.equal(wrong.status, 404);
      assert.equal(wrong.headers.get("content-type"), "application/problem+json");
      assert.equal((await api.get(url)).body["status"], "unverified");
      const granted = await call(callback, { method, ...body });
      assert.equal(granted.status, 200, await granted.text());
      assert.equal((await call(callback, { method, ...body })).status, 404, "a second time");
      const { body: shown } = await api.get(url);
      assert.equal(shown["status"], "active");
      assert.equal(shown["verification"]?.["allowed_rate_per_minute"], 6_000, "as it was asked for");
      await publish(path);
      await receiver.waitUntil(() => requestsTo(path, "POST").length === 1);
      assert.ok(!posthorn.output.includes(new URLSearchParams(callback.split("?")[1]).get("key") ?? "?"));
    });
  }

  test("CEW-4.1.3-4 CEW-4.2.2-4 the rate in the callback is respected in every minute", async () => {
    answerOptions({ status: 200 });
    const path = "/rate";
    const webhook = await create(path, { verification: "cloudevents" });
    const granted = await call(callbackOf(path), { headers: { "WebHook-Allowed-Rate": "300" } });
    assert.deepEqual(await granted.json(), {
      webhook_id: webhook["id"],
      state: "granted",
      allowed_rate_per_minute: 300,
    });
    const count = 10;
    const startedMs = performance.now();
    for (let sent = 0; sent < count; sent += 1) await publish(path);
    await receiver.waitUntil(() => requestsTo(path, "POST").length === count);
    const tookMs = performance.now() - startedMs;
    // 300 per minute is one every 200 ms. The first interval is excluded, because the first request may be late on a
    // busy machine.
    assert.ok(tookMs >= (count - 1) * 200 - 10, `${count} requests within ${tookMs} ms`);
  });

  test("CEW-4.1-1 a changed URL is asked for permission again before anything is sent to it", async () => {
    answerOptions({ headers: { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" } });
    const webhook = await create("/moved", { verification: "cloudevents" });
    answerOptions({ status: 405 });
    const url = `/v1/webhooks/${textOf(webhook["id"])}`;
    const moved = await api.call("PUT", url, { body: { url: receiver.url("/moved-away") } });
    assert.deepEqual([moved.status, moved.body["status"]], [200, "unverified"], moved.text);
    assert.equal(requestsTo("/moved-away", "OPTIONS").length, 1);
    await publish("/moved");
    answerOptions({ headers: { "WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*" } });
    const verified = await api.post(`${url}/verify`);
    assert.deepEqual([verified.status, verified.body["status"]], [200, "active"], verified.text);
    assert.deepEqual(requestsTo("/moved-away", "POST"), []);
    const again = await api.call("PUT", url, { body: { url: receiver.url("/moved-away") } });
    assert.equal(again.body["status"], "active");
    assert.equal(requestsTo("/moved-away", "OPTIONS").length, 2, "the same URL is not asked again");
  });

  test("WDS-102 WDS-170 the challenge is echoed before the 201 response, or the webhook is not created", async () => {
    receiver.script((request) => {
      const { challenge } = JSON.parse(request.text) as { challenge: string };
      return request.path === "/json"
        ? { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ challenge }) }
        : { body: request.path === "/plain" ? challenge : "hello" };
    });
    for (const path of ["/plain", "/json"]) {
      const webhook = await create(path, { verify_url: true });
      assert.deepEqual([webhook["status"], webhook["verification"]?.["state"]], ["active", "granted"]);
      const [challenge] = requestsTo(path, "POST");
      assert.equal((JSON.parse(challenge?.text ?? "") as Json)["type"], "posthorn.webhook.verification");
    }
    const body = { url: receiver.url("/deaf"), events: ["a.b"], verification: "challenge" };
    const refused = await api.post("/v1/webhooks", body);
    const problem = assertProblem(refused, { status: 422, code: "verification_failed" });
    assert.match(textOf(problem["detail"]), /status 200 and 5 bytes other than its echo/);
    assert.deepEqual(fieldsOf(refused), ["url"]);
    const all = await api.get("/v1/webhooks?limit=250");
    assert.ok(!all.text.includes("/deaf"));
  });

  test("TS16-124 permission is not requested at an address that is not public", async () => {
    for (const url of ["http://10.1.2.3/", "http://169.254.169.254/latest/meta-data/"]) {
      const reply = await api.post("/v1/webhooks", { url, events: ["*"], verify_url: true });
      assertProblem(reply, { status: 400, code: "invalid_request" });
    }
  });

  test("HTTP/2 and client certificates need an https URL", async () => {
    const client_certificate = { certificate_pem: validPair.cert, private_key_pem: validPair.key };
    for (const [field, more] of Object.entries({
      http2: { http2: true },
      client_certificate: { client_certificate },
    })) {
      const reply = await api.post("/v1/webhooks", { url: receiver.url("/plain"), events: ["a.b"], ...more });
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.deepEqual(fieldsOf(reply), [field, "url"]);
    }
  });

  test("TS16-81 a receiver reports an incident with a key that only publishes", async () => {
    receiver.script(() => ({}));
    const webhook = await create("/reported", {});
    await create("/watcher", { events: ["posthorn.webhook.incident_reported"] });
    const key = await api.keyFor("publish");
    const url = `/v1/webhooks/${textOf(webhook["id"])}/incidents`;
    const incident = { kind: "bad_signature", detail: "forged message", message_id: "m-1" };
    const reported = await api.withKey(key).post(url, incident);
    assert.equal(reported.status, 202, reported.text);
    await receiver.waitUntil(() => requestsTo("/watcher", "POST").length === 1);
    const event = JSON.parse(requestsTo("/watcher", "POST")[0]?.text ?? "") as Json;
    assert.equal(event["data"]?.["webhook_id"], webhook["id"]);
    assert.match(posthorn.output, /a receiver reported a security incident/);
    const reader = api.withKey(await api.keyFor("read"));
    assertProblem(await reader.post(url, incident), { status: 403, code: "forbidden" });
    assert.deepEqual(fieldsOf(await api.post(url, { kind: "boring", occurred_at: "yesterday" })).toSorted(), [
      "detail",
      "kind",
      "occurred_at",
    ]);
  });
});

test("TS16-125 a domain is verified by a TXT record from a real name server", async (t) => {
  const names = await startNameServer();
  t.after(() => names.close());
  const receiver = await startReceiver({ hostname: "localhost" });
  t.after(() => receiver.close());
  const lookup = createNameLookup([names.address]);
  const { admin: api, close } = await openServer({ dev: true }, { names: lookup });
  t.after(close);
  const created = await api.post("/v1/webhooks", {
    url: receiver.url("/in"),
    events: ["*"],
    verification: "dns",
  });
  assert.equal(created.status, 201, created.text);
  assert.equal(created.body["status"], "unverified");
  assert.deepEqual(names.questions, ["_posthorn-challenge.localhost"]);
  const record = created.body["verification"]?.["dns_record"];
  const verify = (): Promise<Reply> => api.post(`/v1/webhooks/${textOf(created.body["id"])}/verify`);
  names.records.set(textOf(record?.["name"]), ["posthorn-verification=guess"]);
  assert.equal((await verify()).body["status"], "unverified");
  names.records.set(textOf(record?.["name"]), ["other", textOf(record?.["value"])]);
  assert.equal((await verify()).body["status"], "active");
  await api.post("/v1/events", { event_type: "a.b", data: { a: 1 } });
  await receiver.waitForRequests(1);
  await eventually("the delivery", {
    ask: () => api.get(`/v1/webhooks/${textOf(created.body["id"])}/deliveries`),
    holds: ({ body }) => itemsOf(body["data"]).every((delivery) => textOf(delivery["status"]) === "success"),
  });
});

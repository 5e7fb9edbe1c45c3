import assert from "node:assert/strict";
import { test } from "node:test";
import {
  grantByCallback,
  type HandshakeOptions,
  type HandshakeRequest,
} from "../../src/receiver/handshake.ts";
import { startLocalReceiver, type ReceivedDelivery } from "../../src/cli/receiver/local-receiver.ts";
import { endpointWith } from "./endpoint.fixture.ts";

const origin = "eventemitter.example.com";

const ask = (handshake: HandshakeOptions | undefined, headers: Record<string, string | undefined> = {}) =>
  endpointWith(handshake === undefined ? {} : { handshake }).send({
    method: "OPTIONS",
    headers: { "webhook-request-origin": origin, ...headers },
  });

test("CEW-4.2-1 CEW-4.2-5 CEW-4.2.1-1 CEW-4.2.2-1 an allowed origin is echoed with a rate, and Allow names POST", async () => {
  const asked = await ask({ allow: [origin], ratePerMinuteMax: 100 }, { "webhook-request-rate": "120" });
  assert.deepEqual(asked, {
    status: 200,
    headers: { allow: "POST", "webhook-allowed-origin": origin, "webhook-allowed-rate": "100" },
    body: null,
  });
  const rateOf = async (limit: number | "*", rate: string | undefined) =>
    (await ask({ allow: "*", ratePerMinuteMax: limit }, { "webhook-request-rate": rate })).headers[
      "webhook-allowed-rate"
    ];
  assert.equal(await rateOf(100, "60"), "60");
  assert.equal(await rateOf(100, undefined), "100");
  assert.equal(await rateOf("*", "60"), "*");
  for (const rate of ["0", "-1", "abc", "1.5"]) assert.equal(await rateOf(100, rate), "100", rate);
});

test("CEW-4.2.1-1 a receiver that allows every origin responds with an asterisk, which permits no particular origin", async () => {
  assert.equal((await ask({ allow: "*" })).headers["webhook-allowed-origin"], "*");
});

test("CEW-4.2-1 other origins get no consent, whatever the status", async () => {
  for (const allow of [["other.example.com"], [], () => "deny" as const]) {
    const { headers } = await ask({ allow });
    assert.deepEqual(headers, { allow: "POST" });
  }
  assert.equal((await ask({ allow: [origin.toUpperCase()] })).headers["webhook-allowed-origin"], origin);
});

test("an origin that is not a DNS name is 400 and is not echoed", async () => {
  for (const text of [undefined, "", "a b", "evil\r\nx: y", "*", "-a.example", "x".repeat(300)]) {
    const answer = await ask({ allow: "*" }, { "webhook-request-origin": text });
    assert.equal(answer.status, 400, String(text));
    assert.equal(answer.headers["webhook-allowed-origin"], undefined);
  }
});

test("CEW-4.2-4 without the handshake OPTIONS is 405, and Allow still names POST", async () => {
  const answer = await ask(undefined);
  assert.deepEqual([answer.status, answer.headers["allow"]], [405, "POST"]);
});

test("CEW-4.2-2 deferred consent omits the headers and hands over the callback", async () => {
  const requests: HandshakeRequest[] = [];
  const allow = (request: HandshakeRequest) => {
    requests.push(request);
    return "later" as const;
  };
  const callback = "https://emitter.example.com/confirm?id=1&key=secret";
  const answer = await ask({ allow }, { "webhook-request-callback": callback, "webhook-request-rate": "60" });
  assert.deepEqual(answer.headers, { allow: "POST" });
  assert.deepEqual([requests[0]?.callbackUrl, requests[0]?.ratePerMinute], [callback, 60]);
  for (const unusable of ["http://emitter.example.com/", "javascript:alert(1)", "x", undefined]) {
    await ask({ allow }, { "webhook-request-callback": unusable });
    assert.equal(requests.at(-1)?.callbackUrl, null);
  }
});

test("CEW-4.1.3-2 CEW-4.1.3-4 CEW-4.2.2-2 the callback is a POST with the allowed rate, and only to known hosts", async (t) => {
  const calls: ReceivedDelivery[] = [];
  const emitter = await startLocalReceiver(0, async (call) => {
    calls.push(call);
    return { status: 200 };
  });
  t.after(() => emitter.close());
  // Used instead of TLS: the socket is real, but nothing is encrypted.
  const plainly: typeof fetch = (url, init) =>
    fetch((url as string).replace("https://emitter.example.com/", emitter.url), init);
  const grant = { ratePerMinute: 100, allowedHosts: ["emitter.example.com"], fetch: plainly };
  const granted = await grantByCallback({ ...grant, url: "https://emitter.example.com/confirm?key=k" });
  assert.equal(granted.status, 200);
  const [call] = calls;
  assert.deepEqual(
    [call?.method, call?.path, call?.headers["webhook-allowed-rate"]],
    ["POST", "/confirm?key=k", "100"],
  );

  for (const url of [
    "https://169.254.169.254/",
    "http://emitter.example.com/",
    "https://emitter.example.com:81/",
  ]) {
    await assert.rejects(grantByCallback({ ...grant, url }), { code: "forbidden" });
  }
  assert.equal(calls.length, 1);
});

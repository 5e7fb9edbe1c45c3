import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { suite, test } from "node:test";
import { eventOf, type RecordedEvent, type RecordedRequest, sentAtMs } from "./rules.ts";

function request(headers: IncomingHttpHeaders, body = "{}"): RecordedRequest {
  return {
    method: "POST",
    path: "/",
    headers,
    body: Buffer.from(body),
    arrivedAtMs: 0,
    receivedAt: 0,
    status: 204,
    retryAfterSeconds: null,
  };
}

function eventWith(headers: IncomingHttpHeaders, body?: string): RecordedEvent {
  return { requests: [request(headers, body)] };
}

suite("which event a request belongs to", () => {
  const one = eventWith({ "webhook-id": "a", "idempotency-key": '"k"' }, "1");

  test("the message id decides, regardless of other changes", () => {
    assert.equal(eventOf(request({ "webhook-id": "a", "idempotency-key": '"other"' }, "2"), [one]), one);
  });

  test("another message id with the same key is the same event only with the same body", () => {
    assert.equal(eventOf(request({ "webhook-id": "b", "idempotency-key": '"k"' }, "1"), [one]), one);
    assert.equal(eventOf(request({ "webhook-id": "b", "idempotency-key": '"k"' }, "2"), [one]), undefined);
  });

  test("without a message id the key decides, and without a key the body", () => {
    const keyed = eventWith({ "x-idempotency-key": "k" }, "1");
    assert.equal(eventOf(request({ "x-idempotency-key": "k" }, "2"), [keyed]), keyed);
    assert.equal(eventOf(request({ "x-idempotency-key": "l" }, "1"), [keyed]), undefined);
    const bare = eventWith({}, "1");
    assert.equal(eventOf(request({}, "1"), [bare]), bare);
    assert.equal(eventOf(request({}, "2"), [bare]), undefined);
  });

  test("a message with an id is not identified by its body", () => {
    const named = eventWith({ "ce-id": "a" }, "1");
    assert.equal(eventOf(request({ "ce-id": "b" }, "1"), [named]), undefined);
  });
});

test("the send time is found in the header of each scheme", () => {
  assert.equal(sentAtMs(request({ "webhook-timestamp": "17" })), 17_000);
  assert.equal(sentAtMs(request({ "x-webhook-signature": "t=18,v1=00" })), 18_000);
  assert.equal(sentAtMs(request({ "signature-input": 'sig1=("@method");created=19;keyid="x"' })), 19_000);
  assert.equal(sentAtMs(request({ "webhook-timestamp": "2026-01-01T00:00:00Z" })), null);
  assert.equal(sentAtMs(request({})), null);
});

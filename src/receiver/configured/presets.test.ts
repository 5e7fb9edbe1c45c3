/** Preset data that does not concern signatures: ids, event types, challenges. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { suite, test } from "node:test";
import { presetTable } from "../presets/presets.ts";
import { memberAt } from "../presets/value-source.ts";
import { messageOf } from "../providers/senders.fixture.ts";
import type { ReceivedMessage } from "../message/message.ts";
import { verifierFromConfiguration } from "./configured-verifier.ts";
import type { Received } from "./source-verifier.ts";

const now = { nowSeconds: 1_800_000_000 };

function receive(configuration: object, message: ReceivedMessage): Received {
  const made = verifierFromConfiguration(configuration);
  if (made.kind === "invalid") assert.fail(JSON.stringify(made.problems));
  return made.source.receive(message, now) as Received;
}

const get = (url: string): ReceivedMessage => ({ ...messageOf({}, "", url), method: "GET" });

test("every provider can be set up with the values in its preset", () => {
  for (const { name, steps, eventType, forwardHeaders, secret } of presetTable) {
    assert.ok(steps.length >= 2, name);
    assert.ok(steps.join().includes("{url}"), `${name}: no step says where the address goes`);
    assert.ok(steps.join().includes("{secret}"), `${name}: no step says where the secret comes from`);
    assert.ok(eventType.length > 0, name);
    assert.match(secret, /^(secrets|publicKeys): ./, name);
    const forbidden = /^(authorization|cookie|host|proxy-.*|x-forwarded-.*|webhook-signature)$/i;
    assert.deepEqual(
      forwardHeaders.filter((header) => forbidden.test(header)),
      [],
      name,
    );
  }
});

suite("challenges", () => {
  test("Meta: the example of its page on webhooks", () => {
    const meta = { type: "meta", secrets: ["app secret"], verify_token: "meatyhamhock" };
    const url = "/in/abc?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meatyhamhock";
    assert.deepEqual(receive(meta, get(url)), {
      kind: "challenge",
      answer: { status: 200, contentType: "text/plain; charset=utf-8", body: "1158201444" },
    });
    for (const other of [
      url.replace("meatyhamhock", "meatyhamhocks"),
      url.replace("subscribe", "unsubscribe"),
      url.replace("1158201444", "<script>"),
      url.replace("&hub.verify_token=meatyhamhock", ""),
      "/in/abc",
    ])
      assert.equal(receive(meta, get(other)).kind, "rejected", other);
    const { verify_token: _, ...withoutToken } = meta;
    assert.equal(receive(withoutToken, get(url.replace("meatyhamhock", ""))).kind, "rejected");
  });

  test("X: the token and the secret of its sample code; the answer was computed with openssl", () => {
    const x = { type: "x", secrets: ["z3ZX4v7mAAUGykl3EcmkqbartmuW8VFOOzCloLx9Q45P0hLrFu"] };
    const answer = receive(x, get("/in/abc?crc_token=9b4507b3-9040-4669-9ca3-6b94edb50553"));
    assert.deepEqual(answer, {
      kind: "challenge",
      answer: {
        status: 200,
        contentType: "application/json",
        body: '{"response_token":"sha256=Cytd4Sq+NvEcV3MMrXxWJGJx5A+y/lXzzU2Maartkx8="}',
      },
    });
  });

  test("X: the check cannot be used to get a body signed", () => {
    const x = { type: "x", secrets: ["hush"] };
    for (const token of ['{"for_user_id":"1"}', " {}", "[]", "a".repeat(257), ""])
      assert.equal(receive(x, get(`/in?crc_token=${encodeURIComponent(token)}`)).kind, "rejected", token);
  });

  test("Slack, Zoom and Discord send signed challenges, and an unsigned one is rejected", () => {
    const question = '{"type":"url_verification","challenge":"3eZbrw1a"}';
    const slack = { type: "slack", secrets: ["hush"] };
    const sign = (body: string) =>
      `v0=${createHmac("sha256", "hush").update(`v0:${now.nowSeconds}:${body}`).digest("hex")}`;
    const asked = (body: string) =>
      messageOf({ "X-Slack-Signature": sign(body), "X-Slack-Request-Timestamp": `${now.nowSeconds}` }, body);
    const answer = receive(slack, asked(question));
    assert.equal(answer.kind === "challenge" && answer.answer.body, "3eZbrw1a");
    assert.equal(receive(slack, messageOf({}, question)).kind, "rejected");
    assert.equal(receive(slack, asked('{"type":"event_callback","event_id":"Ev1"}')).kind, "verified");

    const validation =
      '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}';
    const headers = { "x-zm-signature": sign(validation), "x-zm-request-timestamp": `${now.nowSeconds}` };
    const validated = receive({ type: "zoom", secrets: ["hush"] }, messageOf(headers, validation));
    assert.ok(validated.kind === "challenge");
    assert.match(validated.answer.body, /"encryptedToken":"36517668f50730dfc6247803d9cc2b23/);
  });

  test("a GET request is ignored if the provider does not send GET challenges", () => {
    for (const type of ["github", "none", "bearer"])
      assert.equal(
        receive(type === "none" ? { type } : { type, secrets: ["x"] }, get("/in")).kind,
        "rejected",
      );
  });
});

suite("ids and types of events", () => {
  test("Stripe: both are in the signed body", () => {
    const body = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
    const mac = createHmac("sha256", "whsec_x").update(`${now.nowSeconds}.${body}`).digest("hex");
    const message = messageOf({ "Stripe-Signature": `t=${now.nowSeconds},v1=${mac}` }, body);
    const answer = receive({ type: "stripe", secrets: ["whsec_x"] }, message);
    assert.ok(answer.kind === "verified");
    assert.deepEqual(
      [answer.key, answer.eventType],
      [{ value: "evt_1", isVouchedFor: true }, "invoice.paid"],
    );
  });

  test("Shopify: both are in unsigned headers, and marked as such", () => {
    const mac = createHmac("sha256", "hush").update("{}").digest("base64");
    const headers = {
      "X-Shopify-Hmac-SHA256": mac,
      "X-Shopify-Topic": "customers/create",
      "X-Shopify-Webhook-Id": "w-1",
      "X-Shopify-Event-Id": "e-1",
    };
    const answer = receive({ type: "shopify", secrets: ["hush"] }, messageOf(headers, "{}"));
    assert.ok(answer.kind === "verified");
    assert.deepEqual(
      [answer.key, answer.eventType],
      [{ value: "w-1", isVouchedFor: false }, "customers/create"],
    );
  });

  test("values that are not text are ignored", () => {
    const headers = {
      "X-Hub-Signature": `sha1=${createHmac("sha1", "hush").update('{"id":{},"topic":["x"]}').digest("hex")}`,
    };
    const answer = receive(
      { type: "intercom", secrets: ["hush"] },
      messageOf(headers, '{"id":{},"topic":["x"]}'),
    );
    assert.ok(answer.kind === "verified");
    assert.deepEqual([answer.key, answer.eventType], [null, null]);
  });

  test("a JSON pointer finds only own members", () => {
    const value = { "a/b": { "~": [7] }, "": 1 };
    assert.equal(memberAt(value, "/a~1b/~0/0"), 7);
    assert.equal(memberAt(value, "/"), 1);
    assert.equal(memberAt(value, ""), value);
    for (const pointer of ["/constructor", "/a", "a", "/a~1b/~0/length/x", "/a~1b/~0/1"])
      assert.equal(memberAt(value, pointer), undefined, pointer);
  });
});

/** Examples published by the providers. Each one was recomputed independently before it was added here. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message/message.ts";
import { providers } from "../verifiers.ts";
import { discordPing, slackChallenge } from "./index.ts";
import { messageOf } from "./senders.fixture.ts";

function outcome(verifier: MessageVerifier, message: ReceivedMessage, nowSeconds = 0): string {
  const answer = verifier.verify(message, { nowSeconds }) as Verification;
  return answer.kind === "verified" ? "verified" : answer.cause;
}

suite("published examples", () => {
  test("GitHub: validating webhook deliveries", () => {
    const verifier = providers.github({ secrets: "It's a Secret to Everybody" });
    const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert.equal(
      outcome(verifier, messageOf({ "x-hub-signature-256": signature }, "Hello, World!")),
      "verified",
    );
    assert.equal(
      outcome(verifier, messageOf({ "x-hub-signature-256": signature }, "Hello, World?")),
      "no_matching_signature",
    );
  });

  test("Slack: verifying requests", () => {
    const verifier = providers.slack({ secrets: "8f742231b10e8888abcd99yyyzzz85a5" });
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V" +
      "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
      "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
      "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const headers = {
      "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      "X-Slack-Request-Timestamp": "1531420618",
    };
    assert.equal(outcome(verifier, messageOf(headers, body), 1531420618), "verified");
    assert.equal(outcome(verifier, messageOf(headers, body), 1531420618 + 301), "too_old");
  });

  test("Twilio: webhooks security, the example of the older and of the newer page", () => {
    const publicUrl = "https://mycompany.com/myapp.php?foo=1&bar=2";
    const verifier = providers.twilio({ secrets: "12345", publicUrl });
    for (const [caller, signature] of [
      ["14158675309", "RSOYDt4T1cUTdK1PDd93/VVr8B8="],
      ["12349013030", "0/KCTR6DLpKmkAf8muzZqo1nDgQ="],
    ]) {
      const body = `CallSid=CA1234567890ABCDE&Caller=%2B${caller}&Digits=1234&From=%2B${caller}&To=%2B18005551212`;
      const headers = {
        "X-Twilio-Signature": signature ?? "",
        "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
      };
      assert.equal(outcome(verifier, messageOf(headers, body, "/myapp.php?foo=1&bar=2")), "verified");
      assert.equal(outcome(verifier, messageOf(headers, body, "/myapp.php?foo=1")), "no_matching_signature");
    }
  });

  test("Square: the test notification of its libraries", () => {
    const verifier = providers.square({
      secrets: "Ibxx_5AKakO-3qeNVR61Dw",
      publicUrl: "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9",
    });
    const body =
      '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f",' +
      '"created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}';
    const headers = { "x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=" };
    assert.equal(outcome(verifier, messageOf(headers, body)), "verified");
  });

  test("SendGrid: the example of its libraries, whose last line break is signed", () => {
    const verifier = providers.sendgrid({
      publicKeys:
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
    });
    const body =
      '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",' +
      '"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",' +
      '"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",' +
      '"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n';
    const headers = {
      "X-Twilio-Email-Event-Webhook-Signature":
        "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
      "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
    };
    assert.equal(outcome(verifier, messageOf(headers, body), 1600112502), "verified");
    assert.equal(outcome(verifier, messageOf(headers, body.trim()), 1600112502), "no_matching_signature");
  });
});

suite("Twilio's notations", () => {
  /** Created with getExpectedTwilioSignature of the npm package twilio 6.2.0, with forms parsed by node:querystring. */
  const made = [
    {
      publicUrl: "https://example.com/sms",
      url: "/sms",
      form: "Body=Hello+there%21&From=%2B14158675310&MediaUrl=&To=%2B18005551212",
      signature: "E4g3B03c/Luj/seaEoKK8+YhSsU=",
    },
    {
      publicUrl: "https://example.com/sms?a=b%20c&d='e'",
      url: "/sms?a=b%20c&d='e'",
      form: "b=2&a=1&b=1&b=2&B=0",
      signature: "bIKrWpmDxkE1iMTcNvine1FSUmE=",
    },
    {
      publicUrl: "https://example.com/sms",
      url: "/sms",
      form: "Body=Z%C3%BCrich+%F0%9F%8E%B7",
      // The signed URL includes port 443.
      signature: "Ui16ohj0UPYWloorxe5Hv/zpx4U=",
    },
    {
      publicUrl: "http://example.com:8080/sms",
      url: "http://inside.example:3000/sms",
      form: "",
      signature: "3wNxw5b/A1F1l0ovt5GPjBq3YXQ=",
    },
  ];

  test("forms signed by Twilio's library, with and without a port", () => {
    for (const { publicUrl, url, form, signature } of made) {
      const verifier = providers.twilio({ secrets: "12345", publicUrl });
      const headers = {
        "X-Twilio-Signature": signature,
        "Content-Type": "application/x-www-form-urlencoded",
      };
      assert.equal(outcome(verifier, messageOf(headers, form, url)), "verified", form);
    }
  });

  test("a signature for another query of the same path is rejected", () => {
    const found = made.find(({ url }) => url.includes("a=b"));
    const { publicUrl, url, form, signature } = found ?? assert.fail();
    const headers = {
      "X-Twilio-Signature": signature,
      "Content-Type": "application/x-www-form-urlencoded",
    };
    for (const other of [publicUrl.replace("a=b", "a=c"), "https://example.com/sms", `${publicUrl}&x=1`]) {
      const verifier = providers.twilio({ secrets: "12345", publicUrl: other });
      assert.equal(outcome(verifier, messageOf(headers, form, url)), "no_matching_signature", other);
    }
  });

  test("a body that the signature does not cover is rejected", () => {
    // The signature of a URL without parameters. Anyone who observes one such message has it.
    const verifier = providers.twilio({ secrets: "12345", publicUrl: "http://example.com:8080/sms" });
    const signature = { "X-Twilio-Signature": "3wNxw5b/A1F1l0ovt5GPjBq3YXQ=" };
    const form = { ...signature, "Content-Type": "application/x-www-form-urlencoded" };
    assert.equal(outcome(verifier, messageOf(form, "&&", "/sms")), "body_altered");
    assert.equal(outcome(verifier, messageOf(signature, '{"a":1}', "/sms")), "missing_header");
    assert.equal(outcome(verifier, messageOf(form, "a=1", "/sms")), "no_matching_signature");
    assert.equal(outcome(verifier, messageOf(form, "a=1", "/sms?bodySHA256=00")), "no_matching_signature");
  });

  test("form parsing is bounded", () => {
    const verifier = providers.twilio({ secrets: "12345", publicUrl: "https://example.com/sms" });
    const headers = {
      "X-Twilio-Signature": "3wNxw5b/A1F1l0ovt5GPjBq3YXQ=",
      "Content-Type": "application/x-www-form-urlencoded",
    };
    assert.equal(outcome(verifier, messageOf(headers, "a&".repeat(1_001), "/sms")), "body_altered");
    assert.equal(outcome(verifier, messageOf(headers, "a".repeat(262_145), "/sms")), "body_altered");
    assert.equal(
      outcome(verifier, messageOf(headers, "a=1", `/sms?${"a".repeat(9_000)}`)),
      "malformed_header",
    );
  });
});

suite("checks of an address", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test("Slack's challenge is returned", () => {
    assert.equal(slackChallenge(bytes('{"type":"url_verification","challenge":"3eZbrw1a"}')), "3eZbrw1a");
    for (const body of [
      '{"type":"event_callback","challenge":"x"}',
      '{"type":"url_verification"}',
      "[]",
      "{",
      "",
    ])
      assert.equal(slackChallenge(bytes(body)), null, body);
  });

  test("Zoom gets its token hashed; the value was computed with openssl", () => {
    const body = bytes(
      '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}',
    );
    const answer = providers.zoomUrlValidation({ secret: "hush", body });
    assert.ok(typeof answer === "string");
    assert.deepEqual(JSON.parse(answer), {
      plainToken: "qgg8vlvZRS6UYooatFL8Aw",
      encryptedToken: "36517668f50730dfc6247803d9cc2b23e89a05172ec38cd1797466a23164362a",
    });
    for (const other of [
      '{"event":"meeting.started"}',
      '{"event":"endpoint.url_validation","payload":7}',
      "null",
    ])
      assert.equal(providers.zoomUrlValidation({ secret: "hush", body: bytes(other) }), null, other);
  });

  test("Discord's two kinds of ping are distinguished from events", () => {
    assert.deepEqual(discordPing(bytes('{"id":"1","type":1,"token":"t"}')), {
      status: 200,
      json: '{"type":1}',
    });
    assert.deepEqual(discordPing(bytes('{"version":1,"type":0}')), { status: 204, json: "" });
    for (const body of ['{"type":2}', '{"version":1,"type":1,"event":{}}', "{}", "", '"type"'])
      assert.equal(discordPing(bytes(body)), null, body);
  });
});

/**
 * Examples that vendors publish for the newer presets, and messages signed by their libraries. DocuSign, Intercom,
 * Mailgun, Meta, Typeform and X do not publish a signature together with its key. Zendesk publishes one only for an
 * older scheme, in which body and timestamp are in a different order.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { sign } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message/message.ts";
import { providers } from "../verifiers.ts";
import { adyenBody, adyenItem } from "./more-senders.fixture.ts";
import { messageOf } from "./senders.fixture.ts";

function outcome(verifier: MessageVerifier, message: ReceivedMessage, nowSeconds = 0): string {
  const answer = verifier.verify(message, { nowSeconds }) as Verification;
  return answer.kind === "verified" ? "verified" : answer.cause;
}

suite("published signatures", () => {
  test("Adyen: the notification of its libraries' tests (adyen-node-api-library, hmacValidator)", () => {
    const verifier = providers.adyen({
      secrets: "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
    });
    const signature = "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=";
    assert.equal(outcome(verifier, messageOf({}, adyenBody(signature))), "verified");
    for (const change of [
      { eventCode: "CAPTURE" },
      { success: "false" },
      { amount: { value: 1131, currency: "EUR" } },
      { pspReference: 7914073381342285n.toString() },
    ]) {
      const message = messageOf({}, adyenBody(signature, { ...adyenItem, ...change }));
      assert.equal(outcome(verifier, message), "no_matching_signature", JSON.stringify(change));
    }
  });

  test("Adyen: two items in one body would leave one of them unsigned", () => {
    const secret = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    const signed = JSON.parse(adyenBody("coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=")) as {
      readonly notificationItems: readonly object[];
    };
    const forged = { NotificationRequestItem: { ...adyenItem, amount: { value: 1, currency: "EUR" } } };
    const body = JSON.stringify({ notificationItems: [...signed.notificationItems, forged] });
    assert.equal(outcome(providers.adyen({ secrets: secret }), messageOf({}, body)), "body_altered");
  });

  test("Bitbucket: manage webhooks, section on securing them", () => {
    const verifier = providers.bitbucket({ secrets: "It's a Secret to Everybody" });
    const headers = {
      "X-Hub-Signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
    };
    assert.equal(outcome(verifier, messageOf(headers, "Hello World!")), "verified");
    assert.equal(outcome(verifier, messageOf(headers, "Hello World?")), "no_matching_signature");
  });

  test("HubSpot: the request of its Python library's tests (hubspot-api-python, test_get_signature__v3)", () => {
    const verifier = providers.hubspot({
      secrets: "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
      publicUrl: "https://www.example.com/webhook_uri",
    });
    const headers = {
      "X-HubSpot-Signature-v3": "K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y=",
      "X-HubSpot-Request-Timestamp": "1693657560000",
    };
    const message = messageOf(headers, "{'example_field':'example_value'}", "/webhook_uri");
    assert.equal(outcome(verifier, message, 1_693_657_560), "verified");
    assert.equal(outcome(verifier, { ...message, method: "PUT" }, 1_693_657_560), "no_matching_signature");
    assert.equal(outcome(verifier, message, 1_693_657_560 + 301), "too_old");
  });

  test("Svix, Clerk and Resend: the message of Svix's page on verifying by hand", () => {
    const headers = {
      "svix-id": "msg_loFOjxBNrRLzqYUf",
      "svix-timestamp": "1731705121",
      "svix-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
    };
    const message = messageOf(headers, '{"event_type":"ping","data":{"success":true}}');
    for (const name of ["svix", "clerk", "resend"] as const) {
      const verifier = providers[name]({ secrets: "whsec_plJ3nmyCDGBKInavdOK15jsl" });
      assert.equal(outcome(verifier, message, 1_731_705_121), "verified", name);
    }
  });

  test("OpenAI and GitLab: the message of the Standard Webhooks libraries' tests", () => {
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const message = messageOf(headers, '{"test": 2432232314}');
    for (const name of ["openai", "gitlab"] as const) {
      const verifier = providers[name]({ secrets: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
      assert.equal(outcome(verifier, message, 1_614_265_330), "verified", name);
    }
  });
});

suite("signed by the vendors' libraries", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const sentAt = new Date("2026-11-01T12:00:00Z");
  const nowSeconds = sentAt.getTime() / 1_000;
  const body = '{"type":"user.created","data":{"name":"Zoë"}}';

  test("svix signs for Clerk and Resend", () => {
    const headers = {
      "svix-id": "msg_1",
      "svix-timestamp": `${nowSeconds}`,
      "svix-signature": new SvixWebhook(secret).sign("msg_1", sentAt, body),
    };
    for (const name of ["clerk", "resend"] as const)
      assert.equal(
        outcome(providers[name]({ secrets: secret }), messageOf(headers, body), nowSeconds),
        "verified",
      );
  });

  test("standardwebhooks signs for OpenAI and GitLab", () => {
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": `${nowSeconds}`,
      "webhook-signature": new StandardWebhook(secret).sign("msg_1", sentAt, body),
    };
    for (const name of ["openai", "gitlab"] as const)
      assert.equal(
        outcome(providers[name]({ secrets: secret }), messageOf(headers, body), nowSeconds),
        "verified",
      );
  });

  test("@octokit/webhooks-methods signs as Meta and Bitbucket do, under other names", async () => {
    const signature = await sign("app secret", body);
    const meta = messageOf({ "X-Hub-Signature-256": signature }, body);
    assert.equal(outcome(providers.meta({ secrets: "app secret" }), meta), "verified");
    const bitbucket = messageOf({ "X-Hub-Signature": signature }, body);
    assert.equal(outcome(providers.bitbucket({ secrets: "app secret" }), bitbucket), "verified");
  });
});

suite("special rules of single providers", () => {
  test("DocuSign: any of the numbered signatures may be made with a known key", async () => {
    const verifier = providers.docusign({ secrets: "second key" });
    const mac = (await sign("second key", "{}")).slice("sha256=".length);
    const known = Buffer.from(mac, "hex").toString("base64");
    const other = Buffer.alloc(32).toString("base64");
    const headers = { "X-DocuSign-Signature-1": other, "X-DocuSign-Signature-2": known };
    assert.equal(outcome(verifier, messageOf(headers, "{}")), "verified");
    const unknown = { "X-DocuSign-Signature-1": other, "X-DocuSign-Signature-2": other };
    assert.equal(outcome(verifier, messageOf(unknown, "{}")), "no_matching_signature");
  });

  test("GitLab: a secret token and a signing token, each for its own messages", () => {
    const signing = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const verifier = providers.gitlab({ secrets: [signing, "shown as it is"] });
    const message = (token: string) => messageOf({ "X-Gitlab-Token": token }, "{}");
    assert.equal(outcome(verifier, message("shown as it is")), "verified");
    assert.equal(outcome(verifier, message("something else")), "bad_token");
    assert.equal(outcome(verifier, message(signing)), "bad_token");
    assert.equal(outcome(verifier, messageOf({}, "{}")), "missing_header");
  });

  test("Zendesk: other notations of a time are rejected", () => {
    const verifier = providers.zendesk({ secrets: "hush" });
    const signature = Buffer.alloc(32).toString("base64");
    for (const time of ["1627207200", "2021-07-25", "2021-13-45T10:00:00Z", "2021-07-25T10:00:00+02:00"]) {
      const headers = {
        "X-Zendesk-Webhook-Signature": signature,
        "X-Zendesk-Webhook-Signature-Timestamp": time,
      };
      assert.equal(outcome(verifier, messageOf(headers, "{}"), 1_627_207_200), "bad_timestamp", time);
    }
  });
});

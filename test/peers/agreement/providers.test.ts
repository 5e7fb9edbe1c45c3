/**
 * The providers' own libraries and ours must give the same result for the same messages: valid ones, altered ones, and
 * ones signed with a different key.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { sign as signGithub, verify as verifyGithub } from "@octokit/webhooks-methods";
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import fc from "fast-check";
import { Stripe } from "stripe";
import { Webhook } from "svix";
import type { MessageVerifier, ReceivedMessage } from "../../../src/receiver/message/message.ts";
import {
  discordKeys,
  messageOf,
  secrets,
  senders,
  sendgridKeys,
  svixSecrets,
} from "../../../src/receiver/providers/senders.fixture.ts";
import { providers } from "../../../src/receiver/verifiers.ts";

const now = (): number => Math.floor(Date.now() / 1_000);
const [secret] = secrets;

async function isVerified(verifier: MessageVerifier, message: ReceivedMessage): Promise<boolean> {
  return (await verifier.verify(message, { nowSeconds: now() })).kind === "verified";
}

/** Some libraries throw, others return false. */
async function accepts(check: () => unknown): Promise<boolean> {
  try {
    return (await check()) !== false;
  } catch {
    return false;
  }
}

function header({ headers }: ReceivedMessage, name: string): string {
  return headers.get(name) ?? "";
}

const textOf = ({ body }: ReceivedMessage): string => Buffer.from(body).toString("utf8");

/** Verifies a message with each library. */
const judges: Readonly<Record<string, (message: ReceivedMessage) => unknown>> = {
  discord: (message) =>
    verifyKey(
      message.body,
      header(message, "X-Signature-Ed25519"),
      header(message, "X-Signature-Timestamp"),
      discordKeys[0] ?? "",
    ),
  github: (message) => verifyGithub(secret, textOf(message), header(message, "X-Hub-Signature-256")),
  paddle: (message) =>
    new Paddle("key", { environment: Environment.sandbox }).webhooks.isSignatureValid(
      textOf(message),
      secret,
      header(message, "Paddle-Signature"),
    ),
  sendgrid(message) {
    const library = new EventWebhook();
    return library.verifySignature(
      library.convertPublicKeyToECDSA(sendgridKeys[0] ?? ""),
      Buffer.from(message.body),
      header(message, "X-Twilio-Email-Event-Webhook-Signature"),
      header(message, "X-Twilio-Email-Event-Webhook-Timestamp"),
    );
  },
  stripe: (message) =>
    Stripe.webhooks.constructEvent(textOf(message), header(message, "Stripe-Signature"), secret),
  svix: (message) =>
    new Webhook(svixSecrets[0]).verify(textOf(message), {
      "svix-id": header(message, "svix-id"),
      "svix-timestamp": header(message, "svix-timestamp"),
      "svix-signature": header(message, "svix-signature"),
    }),
};

for (const [name, judge] of Object.entries(judges)) {
  suite(`${name}: its library and ours agree`, () => {
    const sender = senders.find((other) => other.name === name);
    assert.ok(sender);
    const verifier = sender.verifier(providers, [0]);

    test("on bodies of every kind, signed by the right key and by another", async () => {
      const run = async (text: string, key: 0 | 1, isAltered: boolean): Promise<void> => {
        const message = sender.message({ body: JSON.stringify({ text }), timestampSeconds: now(), key });
        const received = isAltered ? { ...message, body: new TextEncoder().encode("{}") } : message;
        const expected = key === 0 && !isAltered;
        assert.equal(await isVerified(verifier, received), expected);
        assert.equal(await accepts(() => judge(received)), expected);
      };
      const key = fc.constantFrom(0 as const, 1 as const);
      await fc.assert(fc.asyncProperty(fc.string({ unit: "grapheme" }), key, fc.boolean(), run), {
        numRuns: 40,
      });
    });
  });
}

test("stripe: test signatures of its library are verified, also together with a signature of a second secret", async () => {
  const payload = '{"id":"evt_1","object":"event"}';
  const signed = Stripe.webhooks.generateTestHeaderString({ payload, secret: "whsec_one" });
  const verifier = providers.stripe({ secrets: "whsec_one" });
  assert.equal(await isVerified(verifier, messageOf({ "Stripe-Signature": signed }, payload)), true);
  const twice = signed.replace("v1=", `v1=${"0".repeat(64)},v1=`);
  assert.equal(await isVerified(verifier, messageOf({ "Stripe-Signature": twice }, payload)), true);
  assert.equal(
    await isVerified(
      providers.stripe({ secrets: "whsec_two" }),
      messageOf({ "Stripe-Signature": twice }, payload),
    ),
    false,
  );
});

test("github: signatures of its library are verified", async () => {
  const payload = '{"zen":"Ünïcödé 🎷"}';
  const signed = await signGithub(secret, payload);
  assert.equal(
    await isVerified(
      providers.github({ secrets: secret }),
      messageOf({ "X-Hub-Signature-256": signed }, payload),
    ),
    true,
  );
});

test("svix: signatures of its library are verified", async () => {
  const payload = '{"a":1}';
  const nowSeconds = now();
  const signature = new Webhook(svixSecrets[1]).sign("msg_2", new Date(nowSeconds * 1_000), payload);
  const headers = { "svix-id": "msg_2", "svix-timestamp": `${nowSeconds}`, "svix-signature": signature };
  assert.equal(await isVerified(providers.svix({ secrets: svixSecrets }), messageOf(headers, payload)), true);
});

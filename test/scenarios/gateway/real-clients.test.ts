/**
 * The providers' own libraries sign messages. The gateway verifies and forwards them, and the receiver kit accepts them
 * under the sender's key.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { sign as signGithub, verify as verifyGithub } from "@octokit/webhooks-methods";
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { CloudEvent, HTTP } from "cloudevents";
import { verifyKey } from "discord-interactions";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { receivedHeaders } from "../../../src/receiver/message/message.ts";
import {
  discordKeys,
  secrets,
  senders,
  sendgridKeys,
  svixSecrets,
} from "../../../src/receiver/providers/senders.fixture.ts";
import { createReceiver } from "../../../src/receiver/receiver.ts";
import { createMemoryDeduplicationStore } from "../../../src/receiver/stores/memory.ts";
import { httpSignatures } from "../../../src/receiver/verifiers.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import { hookOf, type Json, makeSource, modes, post, rawHeader } from "./scene.fixture.ts";

type Headers = Readonly<Record<string, string>>;

interface SigningClient {
  readonly verification: Json;
  readonly body: string;
  readonly eventType: string;
  /** Signs the body with the library. Called a second time for the repeat. */
  sign(body: string): Headers | Promise<Headers>;
  /** Verifies the message with the library at the destination, if the headers that the library needs are forwarded. */
  judge?(body: string, header: (name: string) => string): unknown;
  /** Additional fields of the source. */
  readonly source?: Json;
}

const [secret] = secrets;
const [svixSecret] = svixSecrets;
const json = { "content-type": "application/json" };
const order = '{ "type": "order.paid", "text": "Zoë", "amount": 1.0 }';

/** Signs with the kit's fixture. For providers whose library can only verify. */
function signedAs(name: string, body: string): Headers {
  const sender = senders.find((one) => one.name === name);
  assert.ok(sender !== undefined);
  const { headers } = sender.message({ body, timestampSeconds: Math.floor(Date.now() / 1_000), key: 0 });
  return { ...json, ...Object.fromEntries(headers as unknown as globalThis.Headers) };
}

const event = new CloudEvent({ type: "com.example.order", source: "/shop", id: "A-1", data: { n: 1 } });
const byBearer = { type: "bearer", secrets: ["token-of-the-sender"] };
const authorized = { authorization: "Bearer token-of-the-sender" };

const clients: Readonly<Record<string, SigningClient>> = {
  "stripe": {
    verification: { type: "stripe", secrets: [secret] },
    body: '{ "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy", "object": "event", "type": "invoice.paid" }',
    eventType: "invoice.paid",
    sign: (payload) => ({
      ...json,
      "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret }),
    }),
    judge: (body, header) => Stripe.webhooks.constructEvent(body, header("stripe-signature"), secret),
  },
  "@octokit/webhooks-methods": {
    verification: { type: "github", secrets: [secret] },
    body: '{ "action": "opened" }',
    eventType: "pull_request",
    sign: async (body) => ({
      ...json,
      "x-github-event": "pull_request",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-hub-signature-256": await signGithub(secret, body),
    }),
    judge: (body, header) => verifyGithub(secret, body, header("x-hub-signature-256")),
  },
  "svix": {
    verification: { type: "svix", secrets: [svixSecret] },
    body: order,
    eventType: "order.paid",
    sign: (body) => signedByLibrary(SvixWebhook, { prefix: "svix", body }),
    judge: (body, header) =>
      new SvixWebhook(svixSecret).verify(body, {
        "svix-id": header("svix-id"),
        "svix-timestamp": header("svix-timestamp"),
        "svix-signature": header("svix-signature"),
      }),
  },
  "standardwebhooks": {
    verification: { type: "standard_webhooks", secrets: [svixSecret] },
    body: order,
    eventType: "order.paid",
    source: { event_type: { pointer: "/type" } },
    sign: (body) => signedByLibrary(StandardWebhook, { prefix: "webhook", body }),
  },
  "cloudevents, structured": {
    verification: byBearer,
    body: String(HTTP.structured(event).body),
    eventType: "com.example.order",
    source: { event_type: { pointer: "/type" } },
    sign: () => ({ ...authorized, "content-type": "application/cloudevents+json; charset=utf-8" }),
    judge: (body) => HTTP.toEvent({ headers: { "content-type": "application/cloudevents+json" }, body }),
  },
  "cloudevents, binary": {
    verification: byBearer,
    body: String(HTTP.binary(event).body),
    eventType: "com.example.order",
    source: {
      event_type: { header: "ce-type", allow_unsigned: true },
      forward_headers: ["ce-id", "ce-type", "ce-source", "ce-specversion", "ce-time"],
    },
    sign: () => ({ ...authorized, ...(HTTP.binary(event).headers as Headers) }),
    judge: (body, header) => {
      const names = ["content-type", "ce-id", "ce-type", "ce-source", "ce-specversion", "ce-time"];
      const read = HTTP.toEvent({
        headers: Object.fromEntries(names.map((name) => [name, header(name)])),
        body,
      });
      assert.equal((read as typeof event).id, "A-1");
    },
  },
  "@paddle/paddle-node-sdk": {
    verification: { type: "paddle", secrets: [secret] },
    body: '{ "event_id": "evt_01", "event_type": "transaction.paid" }',
    eventType: "transaction.paid",
    sign: (body) => signedAs("paddle", body),
    judge: (body, header) =>
      new Paddle("key", { environment: Environment.sandbox }).webhooks.isSignatureValid(
        body,
        secret,
        header("paddle-signature"),
      ),
  },
  "@sendgrid/eventwebhook": {
    verification: { type: "sendgrid", public_keys: [sendgridKeys[0]] },
    body: '[{"email":"a@example.com","event":"open"}]\r\n',
    eventType: "open",
    sign: (body) => signedAs("sendgrid", body),
    judge(body, header) {
      const library = new EventWebhook();
      return library.verifySignature(
        library.convertPublicKeyToECDSA(sendgridKeys[0] ?? ""),
        Buffer.from(body),
        header("x-twilio-email-event-webhook-signature"),
        header("x-twilio-email-event-webhook-timestamp"),
      );
    },
  },
  "discord-interactions": {
    verification: { type: "discord", public_keys: [discordKeys[0]] },
    body: '{ "id": "8463957", "type": 2 }',
    eventType: "interaction",
    source: { event_type: { fixed: "interaction" } },
    sign: (body) => signedAs("discord", body),
    judge: (body, header) =>
      verifyKey(body, header("x-signature-ed25519"), header("x-signature-timestamp"), discordKeys[0] ?? ""),
  },
};

/** Svix and Standard Webhooks have the same interface under two names. */
function signedByLibrary(
  library: typeof SvixWebhook | typeof StandardWebhook,
  { prefix, body }: { readonly prefix: string; readonly body: string },
): Headers {
  const now = new Date();
  return {
    ...json,
    [`${prefix}-id`]: "msg_of_the_sender",
    [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1_000)),
    [`${prefix}-signature`]: new library(svixSecret).sign("msg_of_the_sender", now, body),
  };
}

suite("libraries of providers in front of the gateway, the kit behind it", () => {
  let world: RunningServer;
  let receiver: Receiver;
  before(async () => {
    [world, receiver] = await Promise.all([openGateway(), startReceiver()]);
  });
  after(async () => {
    await world.close();
    await receiver.close();
  });

  /** Installs the kit in the receiver, with the webhook's key. Returns the messages that the kit's handler received. */
  async function serveKit(webhookId: string | undefined): Promise<readonly (string | null)[]> {
    const shown = await world.admin.get(`/v1/webhooks/${webhookId}/public-key`);
    const { public_key: key } = shown.body as unknown as { readonly public_key: string };
    const handled: (string | null)[] = [];
    const kit = createReceiver({
      verifier: httpSignatures({ keys: [{ key }], publicOrigin: receiver.origin }),
      deduplication: { store: createMemoryDeduplicationStore() },
      contentTypes: "any",
      handler: ({ key }) => void handled.push(key),
    });
    receiver.script(async ({ method, path: url, rawHeaders, body }) => {
      const pairs = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as [string, string]] : [],
      );
      const answer = await kit.handle({ method, url, headers: receivedHeaders(pairs), body });
      return {
        status: answer.status,
        headers: { ...answer.headers },
        ...(answer.body === null ? {} : { body: answer.body }),
      };
    });
    return handled;
  }

  for (const [name, client] of Object.entries(clients))
    for (const mode of modes)
      test(`EDS-9.7-1 EDS-11.6-2 ${name}, ${mode}`, async () => {
        const { verification, body, eventType, sign, judge, source: more = {} } = client;
        const source = await makeSource(world.admin, {
          mode,
          more: { verification, ...more },
          webhooks: [hookOf(receiver)],
        });
        const handled = await serveKit(source.webhooks[0]);
        receiver.clear();
        const key = { "idempotency-key": `"of ${mode} \\"1\\""` };
        const send = (headers: Headers) => post(`${world.baseUrl}${source.path}`, body, { headers });
        const accepted = await send({ ...(await sign(body)), ...key });
        assert.ok(accepted.status < 300, `${accepted.status} ${accepted.text}`);
        const [got] = (await receiver.waitForRequests(1)) as [ReceivedRequest];
        assert.equal(got.text, body);
        assert.equal(rawHeader(got, "idempotency-key"), key["idempotency-key"]);
        assert.notEqual(await judge?.(body, (one) => rawHeader(got, one) ?? ""), false);
        // The gateway detects the repeat, so the destination does not receive it.
        assert.equal((await send({ ...(await sign(body)), ...key })).status, accepted.status);
        const headers = {
          ...(await sign(body)),
          ...(verification === byBearer && { authorization: "Bearer x" }),
        };
        const forged = await post(`${world.baseUrl}${source.path}`, `${body} `, { headers });
        assert.equal(forged.status, 401, forged.text);
        // In store mode, the kit may still be handling the message when the sender receives its response.
        await eventually("the kit accepts it", {
          ask: () => Promise.resolve(handled.length),
          holds: (count) => count > 0,
        });
        assert.deepEqual(handled, [`of ${mode} "1"`], "the kit accepts it once, under the sender's key");
        const { body: listed } = await world.admin.get(
          `/v1/requests?source_id=${source.id}&outcome=accepted`,
        );
        const [row] = listed["data"] as unknown as readonly Json[];
        assert.equal(row?.["event_type"], eventType);
      });

  test("EDS-9.7-1 a verified Webhook-ID reaches destinations that have one, time and signature are new", async () => {
    const { verification, sign } = clients["standardwebhooks"] as SigningClient;
    const source = await makeSource(world.admin, {
      mode: "store_and_forward",
      more: { verification },
      webhooks: [hookOf(receiver, { profile: "standard", bearer_token: undefined })],
    });
    receiver.clear();
    receiver.script(() => ({}));
    const headers = await sign(order);
    assert.equal((await post(`${world.baseUrl}${source.path}`, order, { headers })).status, 202);
    const [got] = (await receiver.waitForRequests(1)) as [ReceivedRequest];
    assert.equal(rawHeader(got, "webhook-id"), "msg_of_the_sender");
    assert.notEqual(rawHeader(got, "webhook-signature"), headers["webhook-signature"]);
    const shown = await world.admin.get(`/v1/webhooks/${source.webhooks[0]}/secret`);
    const { secret: own } = shown.body as unknown as { readonly secret: string };
    new StandardWebhook(own).verify(got.text, got.headers as Record<string, string>);
  });
});

/** The wire format of each profile, parsed by a receiver that shares only the keys with the sender, and no code. */
import assert from "node:assert/strict";
import { createHash, createHmac, createPublicKey, verify } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { Webhook as StandardWebhooks } from "standardwebhooks";
import type { Webhook } from "../../src/domain/webhook.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

const eventType = "order.created";
const data = { id: "ord_12345", total: { amount: 42.5, currency: "EUR" }, note: "Zürich" };

let world: EngineWorld;
let receiver: Receiver;

before(async () => {
  world = await openEngineWorld();
});
after(async () => {
  await world.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
});

/** Rejects the first request, so that one event has two attempts. */
async function twoAttempts(
  given: Partial<Webhook>,
  more: { readonly path?: string; readonly credentials?: Partial<Record<SecretKind, string>> } = {},
): Promise<Sent> {
  receiver.script((_, index) => ({ status: index === 0 ? 500 : 200 }));
  const tenantId = `t${receiver.port}`;
  const webhook = await world.addWebhook(
    { url: receiver.url(more.path ?? "/hook"), events: ["*"], tenantId, schemes: null, ...quickly, ...given },
    more.credentials,
  );
  const eventId = await world.publish(tenantId, {
    eventType,
    data,
    source: "shop",
    idempotencyKey: "order.1234 by hand",
    timestamp: "2026-03-15T12:34:56.000Z",
  });
  const [first, second] = await receiver.waitForRequests(2);
  assert.ok(first !== undefined && second !== undefined);
  return { webhook, eventId, attempts: [first, second] };
}

interface Sent {
  readonly webhook: Webhook;
  readonly eventId: string;
  readonly attempts: readonly [ReceivedRequest, ReceivedRequest];
}

const quickly = {
  retry: {
    schedule: { kind: "list", delaysMs: [20, 20], jitter: { from: 1, to: 1 } },
    ageMsMax: null,
    timeoutMs: null,
    timeoutGrowthFactor: null,
  },
} as const;

function header(request: ReceivedRequest, name: string): string {
  const value = request.headers[name.toLowerCase()];
  assert.ok(typeof value === "string", `${name} is missing`);
  return value;
}

/** Header names as received. */
function namesOf(request: ReceivedRequest): string[] {
  return request.rawHeaders.filter((_, index) => index % 2 === 0);
}

function json(request: ReceivedRequest): Record<string, unknown> {
  return JSON.parse(request.text) as Record<string, unknown>;
}

function assertNow(seconds: number): void {
  assert.ok(Math.abs(seconds - Date.now() / 1_000) <= 5, `${seconds} is not now`);
}

/** The public half of a `whsk_` key, derived only with Node's modules. */
function ed25519PublicKey(webhook: Webhook) {
  const bytes = Buffer.from(world.secretOf(webhook.id, "ed25519").slice("whsk_".length), "base64");
  const x = bytes.subarray(32).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

function verifiesV1a(webhook: Webhook, request: ReceivedRequest): boolean {
  const [entry = ""] = header(request, "Webhook-Signature").split(" ");
  const signed = `${header(request, "Webhook-ID")}.${header(request, "Webhook-Timestamp")}.${request.text}`;
  const signature = Buffer.from(entry.replace(/^v1a,/, ""), "base64");
  return verify(null, Buffer.from(signed), ed25519PublicKey(webhook), signature);
}

function assertXWebhookSignature(webhook: Webhook, request: ReceivedRequest): void {
  const match = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header(request, "X-Webhook-Signature"));
  assert.ok(match !== null, header(request, "X-Webhook-Signature"));
  const [, time = "", digest = ""] = match;
  const hmac = createHmac("sha256", world.secretOf(webhook.id, "symmetric"));
  assert.equal(digest, hmac.update(`${time}.`).update(request.body).digest("hex"));
  assertNow(Number(time));
}

/**
 * Verifies an RFC 9421 signature without a library. The signature base consists of the five components, followed by the
 * parameters.
 */
function signatureBase(request: ReceivedRequest): string {
  const parameters = header(request, "Signature-Input").replace(/^sig1=/, "");
  return [
    `"@method": ${request.method}`,
    `"@target-uri": ${receiver.origin}${request.path}`,
    `"content-type": ${header(request, "Content-Type")}`,
    `"content-digest": ${header(request, "Content-Digest")}`,
    `"idempotency-key": ${header(request, "Idempotency-Key")}`,
    `"@signature-params": ${parameters}`,
  ].join("\n");
}

function httpSignature(request: ReceivedRequest): Buffer {
  const match = /^sig1=:([^:]+):$/.exec(header(request, "Signature"));
  assert.ok(match?.[1] !== undefined, header(request, "Signature"));
  return Buffer.from(match[1], "base64");
}

describe("every profile", () => {
  const profiles = ["standard", "event-delivery", "ts-16a", "cloudevents", "x-webhook"] as const;
  for (const profile of profiles) {
    test(`EDS-9.4-1 EDS-9.4-2 EDS-9.4-3 EDS-2-6 EDS-7.1-1 IDK-2 ${profile}: both attempts carry the event's id as a quoted string`, async () => {
      const { eventId, attempts } = await twoAttempts({ profile });
      for (const attempt of attempts) assert.equal(header(attempt, "Idempotency-Key"), `"${eventId}"`);
    });

    test(`TS16-26 EDS-9.1-1 EDS-9.1-3 EDS-9.1-4 CEW-2.1-2 CEW-2.1-3 WDS-156 WDS-13 ${profile}: POST, the true content type, the same bytes twice`, async () => {
      const { attempts } = await twoAttempts({ profile });
      const type = profile === "cloudevents" ? "application/cloudevents+json" : "application/json";
      for (const attempt of attempts) {
        assert.equal(attempt.method, "POST");
        assert.equal(header(attempt, "Content-Type"), type);
        assert.equal(typeof json(attempt), "object");
        assert.equal(header(attempt, "Content-Length"), String(attempt.body.length));
        assert.deepEqual(attempt.body, attempts[0].body);
      }
    });
  }
});

describe("ts-16a", () => {
  const both = { profile: "ts-16a", schemes: ["v1a", "v1"] } as const;

  test("TS16-27 TS16-28 TS16-29 TS16-30 each attempt has the three headers, in Pascal-Case", async () => {
    const { attempts } = await twoAttempts(both);
    for (const attempt of attempts) {
      const names = namesOf(attempt).filter((name) => /^webhook-/i.test(name));
      assert.deepEqual(names, ["Webhook-ID", "Webhook-Timestamp", "Webhook-Signature"]);
      assert.ok(!namesOf(attempt).some((name) => /^x-/i.test(name)));
    }
  });

  test("TS16-31 TS16-32 TS16-62 the id is the event's UUID, the same on retries, and different for other events", async () => {
    const { eventId, attempts, webhook } = await twoAttempts(both);
    assert.match(eventId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const attempt of attempts) assert.equal(header(attempt, "Webhook-ID"), eventId);
    await world.publish(webhook.tenantId, { eventType, data });
    const third = (await receiver.waitForRequests(3))[2];
    assert.ok(third !== undefined);
    assert.notEqual(header(third, "Webhook-ID"), eventId);
  });

  test("TS16-34 TS16-35 TS16-47 the message's time is the sending time, and the event's time stays in the body", async () => {
    const { attempts } = await twoAttempts(both);
    for (const attempt of attempts) {
      assert.match(header(attempt, "Webhook-Timestamp"), /^\d+$/);
      assertNow(Number(header(attempt, "Webhook-Timestamp")));
      assert.equal(json(attempt)["timestamp"], "2026-03-15T12:34:56.000Z");
    }
  });

  test("TS16-24 TS16-36 TS16-57 TS16-59 TS16-60 TS16-67 two signatures cover id, time and the sent bytes, separated by a space", async () => {
    const { webhook, attempts } = await twoAttempts(both);
    for (const attempt of attempts) {
      const text = header(attempt, "Webhook-Signature");
      assert.match(text, /^v1a,[A-Za-z0-9+/]{86}== v1,[A-Za-z0-9+/]{43}=$/);
      assert.ok(verifiesV1a(webhook, attempt));
    }
    const [first] = attempts;
    const library = new StandardWebhooks(world.secretOf(webhook.id, "symmetric"));
    const verified = library.verify(first.text, first.headers as Record<string, string>);
    assert.deepEqual(verified, json(first));
    assert.throws(() => library.verify(`${first.text} `, first.headers as Record<string, string>));
  });

  test("TS16-58 by default only v1a is used for signing", async () => {
    const { webhook, attempts } = await twoAttempts({ profile: "ts-16a" });
    assert.match(header(attempts[1], "Webhook-Signature"), /^v1a,\S+$/);
    assert.ok(verifiesV1a(webhook, attempts[1]));
  });

  test("TS16-38 TS16-39 TS16-40 TS16-42 TS16-50 the payload is only in the body: type, timestamp and data, minified", async () => {
    const { attempts } = await twoAttempts(both);
    const [first] = attempts;
    const timestamp = "2026-03-15T12:34:56.000Z";
    assert.equal(first.text, JSON.stringify({ type: eventType, timestamp, data }));
    const values = first.rawHeaders.filter((_, index) => index % 2 === 1).join("\n");
    for (const part of [eventType, timestamp, "ord_12345", "EUR"]) assert.ok(!values.includes(part), part);
  });
});

describe("event-delivery", () => {
  test("EDS-2-1 the body is exactly the published data", async () => {
    const { attempts } = await twoAttempts({ profile: "event-delivery" });
    assert.equal(attempts[0].text, JSON.stringify(data));
    assert.ok(!namesOf(attempts[0]).some((name) => /^(?:x-)?webhook-/i.test(name)));
  });

  test("EDS-11.3-2 EDS-11.4-1 an Ed25519 signature by RFC 9421 covers method, target, type, digest and key", async () => {
    const { webhook, attempts } = await twoAttempts({ profile: "event-delivery" }, { path: "/a/b?c=d&e" });
    for (const attempt of attempts) {
      const digest = createHash("sha256").update(attempt.body).digest("base64");
      assert.equal(header(attempt, "Content-Digest"), `sha-256=:${digest}:`);
      const input = header(attempt, "Signature-Input");
      assert.match(input, /;alg="ed25519"/);
      assert.match(input, /;tag="posthorn"/);
      assertNow(Number(/;created=(\d+)/.exec(input)?.[1]));
      const base = signatureBase(attempt);
      const key = ed25519PublicKey(webhook);
      assert.ok(verify(null, Buffer.from(base), key, httpSignature(attempt)));
      assert.ok(!verify(null, Buffer.from(base.replace("POST", "PUT")), key, httpSignature(attempt)));
    }
  });

  test("EDS-11.3-2 with a shared secret the signature is an HMAC, found by the webhook's id", async () => {
    const { webhook, attempts } = await twoAttempts({
      profile: "event-delivery",
      schemes: ["rfc9421-hmac-sha256"],
    });
    const secret = Buffer.from(world.secretOf(webhook.id, "symmetric").slice("whsec_".length), "base64");
    for (const attempt of attempts) {
      assert.match(header(attempt, "Signature-Input"), new RegExp(`;keyid="${webhook.id}"`));
      const expected = createHmac("sha256", secret).update(signatureBase(attempt)).digest();
      assert.deepEqual(httpSignature(attempt), expected);
    }
  });
});

describe("cloudevents", () => {
  const withToken = { credentials: { bearer: "token-4711" } } as const;

  test("CEW-3-1 CEW-3.1-1 CEW-3-3 each delivery carries the token as an OAuth 2.0 bearer token", async () => {
    const { attempts } = await twoAttempts({ profile: "cloudevents" }, withToken);
    for (const attempt of attempts) assert.equal(header(attempt, "Authorization"), "Bearer token-4711");
  });

  test("CEW-3.2-1 CEW-3.2-2 CEW-3.2-3 in the query the token follows the URL's own parameters, and the response must not be cached", async () => {
    const { attempts } = await twoAttempts(
      { profile: "cloudevents", bearerTokenIn: "query" },
      { ...withToken, path: "/hook?p=q&r=%20" },
    );
    for (const attempt of attempts) {
      assert.equal(attempt.path, "/hook?access_token=token-4711&p=q&r=%20");
      assert.equal(header(attempt, "Cache-Control"), "no-store");
      assert.equal(attempt.headers.authorization, undefined);
    }
  });

  test("CEW-2.1-6 CEW-4.1.2-1 CEW-4.1.2-2 every delivery names the sending system", async () => {
    const { attempts } = await twoAttempts({ profile: "cloudevents" }, withToken);
    for (const attempt of attempts) {
      assert.equal(header(attempt, "WebHook-Request-Origin"), "posthorn.test");
      assert.ok(namesOf(attempt).includes("WebHook-Request-Origin"));
    }
  });

  test("CEW-2.1-4 a structured CloudEvent is the body", async () => {
    const { eventId, attempts } = await twoAttempts({ profile: "cloudevents" }, withToken);
    assert.deepEqual(json(attempts[0]), {
      specversion: "1.0",
      id: eventId,
      source: "shop",
      type: eventType,
      time: "2026-03-15T12:34:56.000Z",
      datacontenttype: "application/json",
      data,
    });
  });

  test("in binary mode the attributes are headers, and the body is the data", async () => {
    const { eventId, attempts } = await twoAttempts(
      { profile: "cloudevents", payloadFormat: "cloudevents-binary" },
      withToken,
    );
    const [first] = attempts;
    assert.equal(header(first, "Content-Type"), "application/json");
    assert.equal(header(first, "ce-id"), eventId);
    assert.equal(header(first, "ce-type"), eventType);
    assert.equal(header(first, "ce-source"), "shop");
    assert.equal(first.text, JSON.stringify(data));
  });
});

describe("x-webhook", () => {
  test("WDS-157 WDS-158 WDS-159 WDS-160 WDS-161 WDS-163 WDS-187 its headers name webhook, type, delivery, attempt, time and service", async () => {
    const { webhook, eventId, attempts } = await twoAttempts({ profile: "x-webhook" });
    const { tenantId } = webhook;
    const { rows } = await listDeliveries(world.store.history, { tenantId, eventId });
    for (const [index, attempt] of attempts.entries()) {
      assert.equal(header(attempt, "X-Webhook-ID"), webhook.id);
      assert.equal(header(attempt, "X-Webhook-Event"), eventType);
      assert.equal(header(attempt, "X-Webhook-Delivery"), rows[0]?.id);
      assert.equal(header(attempt, "X-Webhook-Attempt"), String(index + 1));
      const time = header(attempt, "X-Webhook-Timestamp");
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assertNow(Date.parse(time) / 1_000);
      assert.equal(header(attempt, "User-Agent"), "WebhookService/1.0");
    }
  });

  test("WDS-162 WDS-173 WDS-175 WDS-85 the publisher's own key is in every attempt", async () => {
    const { attempts } = await twoAttempts({ profile: "x-webhook" });
    for (const attempt of attempts) assert.equal(header(attempt, "X-Idempotency-Key"), "order.1234 by hand");
  });

  test("WDS-172 an event without a publisher's key gets a UUID", async () => {
    const tenantId = `t${receiver.port}`;
    await world.addWebhook({
      url: receiver.url(),
      events: ["*"],
      tenantId,
      profile: "x-webhook",
      schemes: null,
    });
    const eventId = await world.publish(tenantId, { eventType, data });
    const [request] = await receiver.waitForRequests(1);
    assert.ok(request !== undefined);
    assert.equal(header(request, "X-Idempotency-Key"), eventId);
    assert.match(eventId, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test("WDS-153 WDS-154 WDS-155 the signature is the HMAC of time and body under the webhook's secret", async () => {
    const { webhook, attempts } = await twoAttempts({ profile: "x-webhook" });
    for (const attempt of attempts) assertXWebhookSignature(webhook, attempt);
  });

  test("WDS-81 WDS-82 WDS-83 WDS-84 WDS-85 WDS-86 WDS-87 WDS-88 the body has the eight fields", async () => {
    const { eventId, attempts } = await twoAttempts({ profile: "x-webhook" });
    assert.deepEqual(json(attempts[0]), {
      id: eventId,
      event_type: eventType,
      data,
      timestamp: "2026-03-15T12:34:56.000Z",
      idempotency_key: "order.1234 by hand",
      source: "shop",
      priority: "normal",
      sequence_number: 1,
    });
  });

  test("WDS-88 events of a tenant are numbered consecutively, and each tenant has its own numbers", async () => {
    const { webhook } = await twoAttempts({ profile: "x-webhook" });
    for (const number of [2, 3]) {
      await world.publish(webhook.tenantId, { eventType, data });
      const sent = (await receiver.waitForRequests(number + 1)).at(-1);
      assert.ok(sent !== undefined);
      assert.equal(json(sent)["sequence_number"], number);
    }
  });
});

describe("while a webhook migrates", () => {
  test("standard sends the X-Webhook headers too, and both signatures verify over one body", async () => {
    const { webhook, eventId, attempts } = await twoAttempts({ migrationHeaders: true });
    const library = new StandardWebhooks(world.secretOf(webhook.id, "symmetric"));
    for (const attempt of attempts) {
      assert.equal(header(attempt, "Webhook-ID"), eventId);
      assert.equal(header(attempt, "X-Webhook-ID"), webhook.id);
      assert.equal(header(attempt, "X-Idempotency-Key"), "order.1234 by hand");
      assert.ok(verifiesV1a(webhook, attempt));
      library.verify(attempt.text, attempt.headers as Record<string, string>);
      assertXWebhookSignature(webhook, attempt);
    }
  });

  test("x-webhook sends the Standard Webhooks headers too, over its own body", async () => {
    const { webhook, eventId, attempts } = await twoAttempts({
      profile: "x-webhook",
      migrationHeaders: true,
    });
    const library = new StandardWebhooks(world.secretOf(webhook.id, "symmetric"));
    for (const attempt of attempts) {
      assert.equal(header(attempt, "Webhook-ID"), eventId);
      assert.equal(json(attempt)["event_type"], eventType);
      library.verify(attempt.text, attempt.headers as Record<string, string>);
      assertXWebhookSignature(webhook, attempt);
    }
  });
});

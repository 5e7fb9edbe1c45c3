import assert from "node:assert/strict";
import { test } from "node:test";
import { createAddressPolicy } from "../../domain/egress/address-policy.ts";
import type { UrlRules } from "../../domain/egress/url-policy.ts";
import { verificationMethods, type Webhook } from "../../domain/webhook.ts";
import { webhookFields, type WebhookInput } from "../../resources/webhook.ts";
import { ProblemList, readFields } from "../input.ts";
import * as old from "./old-merge.fixture.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";
import { blankWebhook, mergeWebhook } from "./webhook-input.ts";

const seed = Number(process.env["SEED"] ?? 20261127);

test(`random changes of random webhooks merge as before, seed ${seed}`, () => {
  const random = randomFrom(seed);
  const policy = createAddressPolicy({ allow: [], allowLoopback: false });
  const urlRules: UrlRules = { policy, allowHttp: true };
  let changes = 0;
  for (let index = 0; index < 4_000; index += 1) {
    let webhook: Webhook = blankWebhook("0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c", "default", 1_000);
    for (let step = 0; step < 5; step += 1) {
      const input = randomInput(random);
      const held: HeldCredentials = {
        bearerToken: random(2) === 0,
        clientCertificate: random(3) === 0,
        credentialHeaderNames: random(2) === 0 ? [] : ["X-Key"],
      };
      const now = 1_000 + step * 10;
      const [one, other] = [new ProblemList(), new ProblemList()];
      const read = readFields(webhookFields, input, new ProblemList(), step === 0 ? "create" : "update");
      const expected = old.mergeWebhook(webhook, read, { urlRules, now, held, problems: one });
      const merged = mergeWebhook(webhook, read, { urlRules, now, held, problems: other });
      assert.deepEqual(merged, expected);
      assert.equal(JSON.stringify(merged), JSON.stringify(expected));
      assert.deepEqual(problemsOf(other), problemsOf(one));
      webhook = expected;
      changes += Object.keys(read).length;
    }
  }
  assert.ok(changes > 50_000);
});

function problemsOf(list: ProblemList): unknown {
  try {
    list.throwIfAny("the webhook");
    return [];
  } catch (error) {
    const { fields } = error as { readonly fields: readonly unknown[] };
    return fields.map((field) => JSON.stringify(field)).toSorted();
  }
}

type Random = (bound: number) => number;

/** xorshift32. */
function randomFrom(start: number): Random {
  let state = start | 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

const values: { readonly [Name in keyof WebhookInput]-?: readonly WebhookInput[Name][] } = {
  url: ["https://example.com/a", "https://example.org/b?access_token=1", "http://example.com/", "not a url"],
  events: [["order.*"], ["a.b", "c"], ["*"]],
  secret: [undefined],
  tenantId: [undefined, "default"],
  description: ["", "text", "more\ntext"],
  ownerId: [null, "owner-1"],
  active: [true, false],
  profile: ["standard", "event-delivery", "cloudevents", "x-webhook", "ts-16a"],
  schemes: [null, ["v1"], ["v1a"], ["v1", "v1a"]],
  payloadFormat: [null, "standard"] as never,
  bearerToken: [null, "abc"],
  bearerTokenIn: [null, "header", "query"],
  credentialHeaders: [null, { "X-Key": "1" }, { Authorization: "a" }],
  clientCertificate: [null],
  oauth2: [
    null,
    { tokenUrl: "https://auth.example.com/t", clientId: "a", clientSecret: "b" },
    { scope: "x" },
    { clientId: "c", audience: null },
  ],
  http2: [null, true, false],
  migrationHeaders: [null, true, false],
  traceContext: [null, "off", "always"],
  agreements: [null, { acceptMultiStatus: true }, { followPermanentRedirect: true }],
  retry: [null, { maxAttempts: 3 }, { scheduleMs: [1_000] }, { timeoutMs: 5_000, maxAgeMs: 60_000 }],
  timeoutMs: [null, 1_000],
  circuitBreaker: [null, { enabled: false }, { windowSizeMs: 60_000 }],
  rateLimit: [null, { requestsPerMinute: 60 }, { requestsPerMinute: 5, burst: 2 }],
  ordering: ["none", "strict", "per_event_type"],
  headers: [{}, { "X-Shop": "berlin" }, { "X-Key": "2" }, { Host: "no" }],
  metadata: [{}, { a: [1, { b: null }] }],
  verification: [null, ...verificationMethods, { method: "cloudevents", requestedRatePerMinute: 120 }],
  verifyUrl: [true, false],
};

function randomInput(random: Random): WebhookInput {
  const input: Record<string, unknown> = {};
  for (const [name, pool] of Object.entries(values))
    if (random(3) === 0) input[name] = pool[random(pool.length)];
  return input as WebhookInput;
}

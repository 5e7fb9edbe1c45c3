import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Outcome, classify } from "./classify.ts";
import { attemptTimeoutMs, attemptTimeoutMsMax, resolvePolicy } from "./delivery-policy.ts";
import { cloudEvents } from "./profiles/cloudevents.ts";
import { eventDelivery } from "./profiles/event-delivery.ts";
import { profiles } from "./profiles/index.ts";
import { standard } from "./profiles/standard.ts";
import { ts16a } from "./profiles/ts-16a.ts";
import { xWebhook } from "./profiles/x-webhook.ts";
import { webhookAt } from "./webhook.fixture.ts";
import { type Webhook, type WebhookAgreements, webhookDefaults } from "./webhook.ts";

const webhook = webhookAt(0, { url: "https://example.com/" });

test("EDS-9.2-1 without overrides the policy is the profile", () => {
  const policy = resolvePolicy(webhook, standard);
  assert.deepEqual(policy.classification, standard.classification);
  assert.deepEqual(policy.pauses, standard.pauses);
  assert.deepEqual(policy.disable, standard.disable);
  assert.equal(policy.schedule, standard.schedule);
  assert.equal(policy.attemptsMax, 10);
  assert.equal(policy.ageMsMax, standard.ageMsMax);
  assert.equal(policy.timeoutMs, 30_000);
  assert.deepEqual(policy.circuitBreaker, standard.circuitBreaker);
  assert.equal(policy.rateLimit, null);
  assert.deepEqual(policy.signatureSchemes, ["v1a", "v1"]);
});

test("TS16-108 TS16-100 each override replaces only its own field", () => {
  const schedule = { kind: "list", delaysMs: [1], jitter: { from: 1, to: 1 } } as const;
  const policy = resolvePolicy(
    {
      ...webhook,
      schemes: ["v1"],
      retry: { schedule, ageMsMax: 1_000, timeoutMs: 15_000, timeoutGrowthFactor: 2 },
      circuitBreaker: { minimumThroughput: 3 },
      rateLimit: { requestsPerMinute: 5, burst: 1 },
    },
    standard,
  );
  assert.deepEqual(
    [policy.attemptsMax, policy.ageMsMax, policy.timeoutMs, policy.timeoutGrowthFactor],
    [2, 1_000, 15_000, 2],
  );
  assert.deepEqual(policy.circuitBreaker, { ...standard.circuitBreaker, minimumThroughput: 3 });
  assert.deepEqual(policy.rateLimit, { requestsPerMinute: 5, burst: 1 });
  assert.deepEqual(policy.signatureSchemes, ["v1"]);
  assert.equal(policy.classification, standard.classification);
});

// ---- delivery agreements ----------------------------------------------------------------------------------------

function agreeing(agreements: Partial<WebhookAgreements>): Webhook {
  return { ...webhook, agreements: { ...webhookDefaults.agreements, ...agreements } };
}

function outcomeOf(status: number, policy: ReturnType<typeof resolvePolicy>): Outcome {
  return classify({ kind: "response", status, complete: true }, policy).outcome;
}

test("EDS-9.2.1-3 EDS-9.2.1-4 207 is accepted only if owner and receiver agreed on it", () => {
  for (const profile of [standard, eventDelivery]) {
    assert.equal(outcomeOf(207, resolvePolicy(webhook, profile)), "transient");
    const agreed = resolvePolicy(agreeing({ acceptMultiStatus: true }), profile);
    assert.equal(outcomeOf(207, agreed), "accepted");
    for (const status of [302, 400, 422, 451, 503]) {
      const without = outcomeOf(status, resolvePolicy(webhook, profile));
      assert.equal(outcomeOf(status, agreed), without, `${status} means what it meant`);
    }
  }
});

test("EDS-9.2-2 IDK-26 409 is transient under the draft if the receiver enforces Idempotency-Key", () => {
  assert.equal(outcomeOf(409, resolvePolicy(webhook, eventDelivery)), "terminal");
  const agreed = resolvePolicy(agreeing({ idempotencyEnforced: true }), eventDelivery);
  assert.equal(outcomeOf(409, agreed), "transient");
  assert.equal(outcomeOf(207, agreed), "transient", "the other agreement was not made");
});

test("a permanent redirect is adopted only if profile and owner both allow it", () => {
  for (const profile of profiles) {
    const { followPermanentRedirect } = resolvePolicy(agreeing({ followPermanentRedirect: true }), profile);
    assert.equal(followPermanentRedirect, profile === eventDelivery, profile.name);
    assert.equal(resolvePolicy(webhook, profile).followPermanentRedirect, false);
  }
});

// ---- rate limits ------------------------------------------------------------------------------------------------

function granted(allowedRatePerMinute: number | null, rateLimit: Webhook["rateLimit"] = null): Webhook {
  return { ...webhook, rateLimit, verification: { ...webhook.verification, allowedRatePerMinute } };
}

test("CEW-4.2.2-4 the granted rate is stored, and the lower of two rates applies", () => {
  const rateOf = (given: Webhook, profile = cloudEvents) => resolvePolicy(given, profile).rateLimit;
  assert.deepEqual(rateOf(granted(60)), { requestsPerMinute: 60, burst: 1 });
  assert.deepEqual(rateOf(granted(60, { requestsPerMinute: 30, burst: 20 })), {
    requestsPerMinute: 30,
    burst: 1,
  });
  assert.equal(rateOf(granted(60, { requestsPerMinute: 600, burst: 9 }))?.requestsPerMinute, 60);
  assert.equal(rateOf(granted(60), xWebhook)?.requestsPerMinute, 60);
});

test("WDS-59 WDS-60 the webhook's rate replaces the profile's rate", () => {
  assert.equal(resolvePolicy(granted(null), cloudEvents).rateLimit, null);
  assert.deepEqual(resolvePolicy(webhook, xWebhook).rateLimit, { requestsPerMinute: 100, burst: 20 });
  const own = { requestsPerMinute: 6_000, burst: 50 };
  assert.deepEqual(resolvePolicy({ ...webhook, rateLimit: own }, xWebhook).rateLimit, own);
});

// ---- headers and schemes ----------------------------------------------------------------------------------------

function headerNames(given: Webhook, profile = standard): string[] {
  return resolvePolicy(given, profile).headers.map(({ name }) => name);
}

test("CEW-2.1-6 every profile names the sender once to a receiver that requested the handshake", () => {
  const method = "cloudevents" as const;
  const shaken: Webhook = { ...webhook, verification: { ...webhook.verification, method } };
  for (const profile of profiles) {
    const origins = headerNames(shaken, profile).filter((name) => name === "WebHook-Request-Origin");
    assert.equal(origins.length, 1, profile.name);
  }
  assert.ok(!headerNames(webhook, standard).includes("WebHook-Request-Origin"));
});

test("both header families are sent only while a webhook migrates, and both are signed then", () => {
  const migrating: Webhook = { ...webhook, migrationHeaders: true };
  for (const profile of [standard, ts16a, xWebhook]) {
    const has = (given: Webhook) => {
      const names = headerNames(given, profile);
      return [names.includes("Webhook-ID"), names.includes("X-Webhook-ID")];
    };
    assert.deepEqual(has(webhook), [profile !== xWebhook, profile === xWebhook], profile.name);
    assert.deepEqual(has(migrating), [true, true], profile.name);
  }
  assert.deepEqual(resolvePolicy(migrating, standard).signatureSchemes, ["v1a", "v1", "x-webhook-v1"]);
  assert.deepEqual(resolvePolicy(migrating, xWebhook).signatureSchemes, ["x-webhook-v1", "v1a", "v1"]);
});

test("WDS-51 WDS-123 the timeout grows per attempt, up to three times the first", () => {
  const growing = { timeoutMs: 10_000, timeoutGrowthFactor: 2 };
  assert.deepEqual(
    [1, 2, 3, 9].map((number) => attemptTimeoutMs(growing, number)),
    [10_000, 20_000, 30_000, 30_000],
  );
});

test("WDS-124 property: timeouts are whole milliseconds, at most 90 s and at most three times the first one", () => {
  const factor = fc.double({ min: 1, max: 100, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e6 }),
      factor,
      fc.integer({ min: 1, max: 500 }),
      (timeoutMs, growth, number) => {
        const result = attemptTimeoutMs({ timeoutMs, timeoutGrowthFactor: growth }, number);
        assert.ok(
          result <= attemptTimeoutMsMax &&
            result <= 3 * timeoutMs &&
            result >= Math.min(timeoutMs, attemptTimeoutMsMax) &&
            Number.isInteger(result),
        );
      },
    ),
  );
});

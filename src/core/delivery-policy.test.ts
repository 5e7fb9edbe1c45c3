import { webhookDefaults } from "./webhook.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attemptTimeoutMs, attemptTimeoutMsMax, resolvePolicy } from "./delivery-policy.ts";
import { standard } from "./profiles/standard.ts";
import type { Webhook } from "./webhook.ts";

const webhook: Webhook = {
  id: "w",
  tenantId: "default",
  ownerId: null,
  url: "https://example.com/",
  events: ["*"],
  description: "",
  status: "active",
  statusReason: null,
  statusChangedAt: 0,
  profile: "standard",
  schemes: null,
  ...webhookDefaults,
  retry: { schedule: null, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null },
  circuitBreaker: {},
  rateLimit: null,
  ordering: "none",
  headers: {},
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
};

test("without overrides the policy is the profile", () => {
  const policy = resolvePolicy(webhook, standard);
  assert.equal(policy.schedule, standard.schedule);
  assert.equal(policy.attemptsMax, 10);
  assert.equal(policy.ageMsMax, standard.ageMsMax);
  assert.equal(policy.timeoutMs, 30_000);
  assert.deepEqual(policy.circuitBreaker, standard.circuitBreaker);
  assert.equal(policy.rateLimit, null);
  assert.deepEqual(policy.signatureSchemes, ["v1a", "v1"]);
});

test("each override replaces its field alone", () => {
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

test("the timeout grows per attempt to three times the first (WDS-123)", () => {
  const growing = { timeoutMs: 10_000, timeoutGrowthFactor: 2 };
  assert.deepEqual(
    [1, 2, 3, 9].map((number) => attemptTimeoutMs(growing, number)),
    [10_000, 20_000, 30_000, 30_000],
  );
});

test("property: no timeout exceeds 90 s or three times the first one", () => {
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
            result >= Math.min(timeoutMs, attemptTimeoutMsMax),
        );
      },
    ),
  );
});

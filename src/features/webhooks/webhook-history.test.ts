import assert from "node:assert/strict";
import { test } from "node:test";
import { apiName, apiPath, type Field } from "../../resources/field.ts";
import { webhookFields } from "../../resources/webhook.ts";
import { type Webhook, webhookDefaults } from "../../domain/webhook.ts";
import { configurationChanges } from "../../domain/webhook-history.ts";
import { revisionJson } from "./views.ts";

const webhook = {
  ...webhookDefaults,
  id: "w",
  tenantId: "t",
  status: "active",
  url: "https://example.com/",
  profile: "standard",
  schemes: null,
  oauth2: {
    tokenUrl: "https://example.com/token",
    clientId: "c",
    scope: null,
    audience: null,
    authentication: "basic",
  },
  retry: {
    schedule: {
      kind: "exponential",
      attemptsMax: 5,
      baseDelayMs: 1_000,
      multiplier: 2,
      delayMsMax: 60_000,
      jitter: { from: 0.75, to: 1.25 },
    },
    ageMsMax: 3_600_000,
    timeoutMs: 5_000,
    timeoutGrowthFactor: 1.5,
  },
  circuitBreaker: { enabled: true, errorThresholdPercentage: 50, sleepWindowMs: 1_000, windowSizeMs: 1_000 },
  rateLimit: { requestsPerMinute: 60, burst: 10 },
  headers: { "X-Shop": "berlin" },
  metadata: { accountId: 1 },
} as unknown as Webhook;

function changesOf(before: Webhook | null, after: Webhook) {
  const entry = { at: 0, kind: "changed", by: null, reason: null, revision: 2, position: 1 } as const;
  const { changes } = revisionJson({ ...entry, changes: configurationChanges(before, after) });
  return changes as Readonly<Record<string, { readonly from?: unknown; readonly to: unknown }>>;
}

test("a revision has the names and values of fields as callers set them", () => {
  const changes = changesOf(null, webhook);
  for (const [name, field] of Object.entries(webhookFields as Record<string, Field>)) {
    if (field.kind.is !== "object") continue;
    const { [apiPath(name, field)]: change } = changes;
    if (change === undefined || change.to === null) continue;
    const known = Object.entries(field.kind.fields).map(([inner, one]) => apiName(inner, one));
    for (const inner of Object.keys(change.to as object))
      assert.ok(known.includes(inner), `${name}: ${inner}`);
  }
  assert.deepEqual(changes["headers"]?.to, webhook.headers);
  assert.deepEqual(changes["metadata"]?.to, webhook.metadata);
  assert.ok("retry_config" in changes && "circuit_breaker_config" in changes && "signing.schemes" in changes);
});

test("a revision of retries has the configured values, and null for defaults of the profile", () => {
  const delaysMs = [5_000, 60_000];
  const schedule = { kind: "list", delaysMs, jitter: { from: 1, to: 1 } } as const;
  const after = { ...webhook, retry: { ...webhook.retry, schedule, ageMsMax: null } };
  const { retry_config: change } = changesOf(webhook, after);
  const same = { timeout_ms: 5_000, timeout_growth_factor: 1.5 };
  assert.deepEqual(change, {
    from: {
      max_attempts: 5,
      base_delay_ms: 1_000,
      max_delay_ms: 60_000,
      backoff_multiplier: 2,
      ...same,
      schedule_ms: null,
      max_age_ms: 3_600_000,
    },
    to: {
      max_attempts: 3,
      base_delay_ms: null,
      max_delay_ms: null,
      backoff_multiplier: null,
      ...same,
      schedule_ms: delaysMs,
      max_age_ms: null,
    },
  });
});

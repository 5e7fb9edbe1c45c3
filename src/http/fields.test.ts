import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookFields } from "../resources/webhook.ts";
import { inputOf } from "./mapping.ts";

const toWebhookInput = (body: object) => inputOf(webhookFields, body);

test("absent stays absent, null stays null", () => {
  assert.deepEqual(toWebhookInput({}), {});
  const nulls = {
    owner_id: null,
    retry_config: null,
    timeout_ms: null,
    circuit_breaker_config: null,
    rate_limit: null,
    bearer_token: null,
    bearer_token_in: null,
    payload_format: null,
    credential_headers: null,
    client_certificate: null,
    oauth2: null,
    http2: null,
    migration_headers: null,
    agreements: null,
    verification: null,
    signing: { schemes: null },
  };
  assert.deepEqual(toWebhookInput(nulls), {
    ownerId: null,
    retry: null,
    timeoutMs: null,
    circuitBreaker: null,
    rateLimit: null,
    bearerToken: null,
    bearerTokenIn: null,
    payloadFormat: null,
    credentialHeaders: null,
    clientCertificate: null,
    oauth2: null,
    http2: null,
    migrationHeaders: null,
    agreements: null,
    verification: null,
    schemes: null,
  });
});

test("every name is translated", () => {
  const body = {
    url: "https://example.com/",
    events: ["a.*"],
    secret: "whsec_x",
    tenant_id: "t",
    active: false,
    ordering_guarantee: "strict",
    retry_config: {
      max_attempts: 1,
      base_delay_ms: 2,
      max_delay_ms: 3,
      backoff_multiplier: 4,
      timeout_ms: 5,
      timeout_growth_factor: 6,
      max_age_ms: 7,
    },
    circuit_breaker_config: {
      enabled: true,
      error_threshold_percentage: 1,
      minimum_throughput: 2,
      window_size_ms: 3,
      sleep_window_ms: 4,
      half_open_max_calls: 5,
    },
    rate_limit: { requests_per_minute: 1, burst: 2 },
    payload_format: "standard",
    bearer_token_in: "query",
    credential_headers: { "X-Key": "k" },
    client_certificate: { certificate_pem: "c", private_key_pem: "k" },
    oauth2: {
      token_url: "https://example.com/token",
      client_id: "i",
      client_secret: "s",
      scope: "a b",
      audience: null,
      authentication: "body",
    },
    http2: true,
    migration_headers: false,
    agreements: { accept_multi_status: true, follow_permanent_redirect: false, idempotency_enforced: true },
    verification: { method: "cloudevents", requested_rate_per_minute: 5, when_unsupported: "slow" },
    verify_url: false,
  } as const;
  assert.deepEqual(toWebhookInput({ ...body, events: [...body.events] }), {
    url: "https://example.com/",
    events: ["a.*"],
    secret: "whsec_x",
    tenantId: "t",
    active: false,
    ordering: "strict",
    retry: {
      maxAttempts: 1,
      baseDelayMs: 2,
      maxDelayMs: 3,
      backoffMultiplier: 4,
      timeoutMs: 5,
      timeoutGrowthFactor: 6,
      maxAgeMs: 7,
    },
    circuitBreaker: {
      enabled: true,
      errorThresholdPercentage: 1,
      minimumThroughput: 2,
      windowSizeMs: 3,
      sleepWindowMs: 4,
      halfOpenMaxCalls: 5,
    },
    rateLimit: { requestsPerMinute: 1, burst: 2 },
    payloadFormat: "standard",
    bearerTokenIn: "query",
    credentialHeaders: { "X-Key": "k" },
    clientCertificate: { certificatePem: "c", privateKeyPem: "k" },
    oauth2: {
      tokenUrl: "https://example.com/token",
      clientId: "i",
      clientSecret: "s",
      scope: "a b",
      audience: null,
      authentication: "body",
    },
    http2: true,
    migrationHeaders: false,
    agreements: { acceptMultiStatus: true, followPermanentRedirect: false, idempotencyEnforced: true },
    verification: { method: "cloudevents", requestedRatePerMinute: 5, whenUnsupported: "slow" },
    verifyUrl: false,
  });
  assert.deepEqual(toWebhookInput({ verification: "dns" }), { verification: "dns" });
});

import { readRows } from "./row.ts";

/**
 * "Webhook Delivery System with Retries": the requirements for the `x-webhook` profile. They cover the subscription and
 * event fields that the profile reads, retry rules, signatures and headers.
 */
export const wdsRows = readRows(`
WDS-43 | API | design | events: array of event types, e.g. ["user.created","order.completed"]
WDS-44 | API | design | secret: signing secret for HMAC
WDS-45 | API | design | active: boolean, true in the example
WDS-46 | API | design | retry_config.max_attempts: 5
WDS-47 | API | design | retry_config.base_delay_ms: 1000
WDS-48 | API | design | retry_config.max_delay_ms: 300000
WDS-49 | API | design | retry_config.backoff_multiplier: 2.0
WDS-50 | API | design | retry_config.timeout_ms: 30000
WDS-51 | API | design | retry_config.timeout_growth_factor: 1.0
WDS-52 | API | design | circuit_breaker_config.enabled: true
WDS-53 | API | design | circuit_breaker_config.error_threshold_percentage: 50
WDS-54 | API | design | circuit_breaker_config.minimum_throughput: 10
WDS-55 | API | design | circuit_breaker_config.window_size_ms: 60000
WDS-56 | API | design | circuit_breaker_config.sleep_window_ms: 30000
WDS-57 | API | design | circuit_breaker_config.half_open_max_calls: 3
WDS-58 | API | design | circuit_breaker_config.force_open_until: null or timestamp
WDS-59 | API | design | rate_limit.requests_per_minute: 100
WDS-60 | API | design | rate_limit.burst: 20
WDS-61 | API | design | ordering_guarantee: "none" default; "none" / "per_event_type" / "strict"
WDS-62 | API | design | headers: custom request headers, e.g. {"X-Custom-Header":"value"}
WDS-81 | P | design | Event id: uuid
WDS-82 | P | design | Event event_type, e.g. user.created
WDS-83 | P | design | Event data: object
WDS-84 | P | design | Event timestamp: ISO8601
WDS-85 | P | design | Event idempotency_key: unique per event
WDS-86 | P | design | Event source, e.g. api-service
WDS-87 | P | design | Event priority: high / normal / low
WDS-88 | P | design | Event sequence_number: integer
WDS-117 | P | design | delay_ms = min(base_delay_ms · backoff_multiplier^attempt, max_delay_ms)
WDS-118 | P | design | Category minimum: rate_limit 60000 ms
WDS-119 | P | design | Category minimum: dns 5000 ms
WDS-120 | P | design | Category minimum: timeout 2000 ms
WDS-121 | P | design | delay = max(delay, category minimum)
WDS-122 | P | design | Jitter uniform ±25 % of the delay, applied last, result ≥ 0
WDS-123 | P | design | timeout_ms = timeout_ms · timeout_growth_factor^attempt, capped at 3 × timeout_ms
WDS-124 | P | design | returns (next_retry_timestamp, timeout_ms as int)
WDS-125 | P | design | Permanent HTTP statuses: 400, 401, 403, 404, 410, 413, 414, 415, 451 → no retry, reason permanent_client_error_{status}
WDS-126 | P | design | attempt ≥ max_attempts → no retry, reason max_attempts_exceeded (checked first)
WDS-127 | P | design | dns_failure, connection_refused, connection_timeout, network_unreachable → always retry, reason retryable_network_{error_type}
WDS-128 | P | design | ssl_error → retry while attempt < 3 (ssl_error), then stop (ssl_error_retry_limit)
WDS-129 | P | design | 429 → retry, rate_limited
WDS-130 | P | design | status ≥ 500 → retry, server_error_{status}
WDS-131 | P | design | 200-299 → no retry, success
WDS-132 | P | design | read_timeout, request_timeout → retry, timeout
WDS-133 | P | design | Everything else (incl. 1xx/3xx and the 4xx not listed, e.g. 402, 405, 406, 408, 409, 421, 422, 425) → retry cautiously, unknown_error
WDS-153 | P | design | Sign the payload with the webhook secret, HMAC-SHA256 (string-to-sign and encoding are not defined)
WDS-154 | P,C | design | Timestamp is part of the signature; signature valid 5 minutes
WDS-155 | P | design | Format t={timestamp},v1={signature}; header X-Webhook-Signature: t=1234567890,v1={hmac_sha256}
WDS-156 | P | design | Content-Type: application/json
WDS-157 | P | design | X-Webhook-ID: {webhook_id} - the *subscription* id
WDS-158 | P | design | X-Webhook-Event: user.created - event type
WDS-159 | P | design | X-Webhook-Delivery: {delivery_id}
WDS-160 | P | design | X-Webhook-Attempt: 2 - attempt number
WDS-161 | P | design | X-Webhook-Timestamp: 2024-01-15T10:30:00Z - ISO 8601
WDS-162 | P | design | X-Idempotency-Key: {event_idempotency_key}
WDS-163 | P | design | User-Agent: WebhookService/1.0
WDS-164 | P | design | HTTP request timeout 30s default, grows by timeout_growth_factor per retry
WDS-165 | P | design | Per-webhook rate limit, requests/minute, token bucket
WDS-166 | P | design | Per-tenant global rate limit, default 1000 req/min
WDS-167 | P | design | Connection pooling, max 5 concurrent connections per webhook
WDS-168 | P,API | design | Block private IP ranges (RFC 1918, loopback, link-local)
WDS-169 | P,API | design | Require HTTPS in production
WDS-170 | P,API | design | Optional verification request at registration: the webhook must echo a challenge (request format not defined:)
WDS-171 | API | design | Max URL length 2048 characters
WDS-172 | P | design | Each event has a unique idempotency_key, UUID v4 if not provided
WDS-173 | P | design | Key is in the delivery headers for consumer dedup
WDS-174 | P | design | Publisher dedups within a 24h window (Redis cache)
WDS-175 | P | design | Retries preserve the key
WDS-176 | C | design | Consumers are responsible for dedup handling
`);

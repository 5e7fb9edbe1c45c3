import { readRows } from "./row.ts";

/** "Webhook Delivery System with Retries": response fields, API calls, and the circuit breaker. */
export const wdsApiRows = readRows(`
WDS-63 | API | design | Webhook created_at: timestamp
WDS-64 | API | design | Webhook updated_at: timestamp
WDS-65 | API | design | Webhook last_success_at: timestamp
WDS-66 | API | design | Webhook metadata: object, {} at first
WDS-67 | API | design | Attempt id: uuid
WDS-68 | API | design | Attempt webhook_id: uuid
WDS-69 | API | design | Attempt event_id: uuid
WDS-70 | API | design | Attempt attempt_number: 1, 2, 3 …
WDS-71 | API | design | Attempt status: pending, success, failed, exhausted, circuit_blocked
WDS-72 | API | design | Attempt failure_category: timeout, server_error, client_error, network, dns, ssl, rate_limit, payload_too_large
WDS-73 | API | design | Attempt http_status_code
WDS-74 | API | design | Attempt response_body_sample, at most 1 KB
WDS-75 | API | design | Attempt error_message: string
WDS-76 | API | design | Attempt duration_ms
WDS-77 | API | design | Attempt scheduled_at
WDS-78 | API | design | Attempt executed_at
WDS-79 | API | design | Attempt next_retry_at, which is scheduled_at of the next one
WDS-80 | API | design | Attempt circuit_breaker_prevented: true where the circuit held it back
WDS-89 | API | design | Circuit webhook_id
WDS-90 | API | design | Circuit state: closed, open, half_open
WDS-91 | API | design | Circuit failure_count_in_window
WDS-92 | API | design | Circuit success_count_in_window
WDS-93 | API | design | Circuit total_calls_in_window
WDS-94 | API | design | Circuit error_percentage, e.g. 80.0
WDS-95 | API | design | Circuit window_start
WDS-96 | API | design | Circuit state_transition_at
WDS-97 | API | design | Circuit next_half_open_at: when it opened, and its sleep window
WDS-98 | API | design | Circuit half_open_attempts
WDS-99 | API | design | Circuit half_open_successes
WDS-100 | API | design | POST /v1/webhooks with url, events, secret, retry_config, circuit_breaker_config, ordering_guarantee, verify_url: 201 and the webhook
WDS-101 | API | design | POST /v1/webhooks without a secret: the server generates one
WDS-102 | API | design | verify_url: true asks the endpoint to echo a challenge
WDS-103 | API | design | GET /v1/webhooks by active, event_type, tenant_id
WDS-104 | API | design | GET /v1/webhooks/{id}: the webhook
WDS-105 | API | design | GET /v1/webhooks/{id}/health: circuit, recent deliveries, errors by kind
WDS-106 | API | design | PUT /v1/webhooks/{id} with some fields: the others stay
WDS-107 | API | design | PATCH /v1/webhooks/{id}/circuit-breaker: reset, force_open, force_close, for duration_seconds
WDS-108 | API | design | DELETE /v1/webhooks/{id}: 204, and nothing is delivered any more
WDS-109 | API | design | GET /v1/webhooks/{id}/deliveries by limit, offset, status, from
WDS-110 | API | design | GET /v1/deliveries/{id}: all details of its attempts
WDS-111 | API | design | POST /v1/webhooks/{id}/deliveries/{id}/retry with priority: 202 and a new delivery
WDS-112 | API | design | POST /v1/dlq/retry-batch with webhook_ids, event_types, failure_categories, requests_per_second, priority: 202 and an operation
WDS-113 | API | design | GET /v1/dlq/batch-operations/{id}: status and progress
WDS-114 | P | design | publish_event(event_type, data, source, idempotency_key, priority, tenant_id): the event's id
WDS-115 | P | design | A key that was used within 24 h: DuplicateEventError
WDS-116 | P | design | A payload above 256 KB: PayloadTooLargeError
WDS-134 | P | design | A rolling window, one set of counts for all kinds of failure; closed at first
WDS-135 | P | design | The window is a sorted set in Redis, cb:{webhook_id}:window
WDS-136 | P | design | Results older than the window are dropped
WDS-137 | P | design | The state is judged after each attempt
WDS-138 | P | design | Opens at minimum_throughput results and error_threshold_percentage failures
WDS-139 | P | design | Half-opens when the sleep window is over, at the next request at the latest
WDS-140 | P | design | Closes after half_open_max_calls probes when half of them succeeded
WDS-141 | P | design | Opens again otherwise
WDS-142 | P | design | Forced open: requests are refused until then
WDS-143 | P | design | Closed: requests are allowed
WDS-144 | P | design | Open: requests are refused
WDS-145 | P | design | Half-open: half_open_max_calls probes are allowed, more are refused
WDS-146 | P,Ops | design | On opening: time, counts of probes at 0, metric, and the owner is notified
WDS-147 | P,Ops | design | On half-opening: time, counts of probes at 0, metric
WDS-148 | P,Ops | design | On closing: time, empty window, metric, and the owner is notified
WDS-149 | P | design | Closed: a failure is counted and its retry scheduled; retries go their own way
WDS-150 | P | design | Open: no request, an entry circuit_blocked in the history, no attempt used up; tried again when it half-opens
WDS-151 | P | design | Half-open: as many probes as configured, everything else waits as if it were open
WDS-152 | P | design | The number of attempts outlasts an open circuit
`);

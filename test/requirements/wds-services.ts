import { readRows } from "./row.ts";

/** "Webhook Delivery System with Retries": the tasks and components of its services, and their metrics and alerts. */
export const wdsServiceRows = readRows(`
WDS-1 | P,API | design | The API accepts registrations and validates their URL
WDS-2 | API | design | The configuration of a webhook is validated
WDS-3 | API | design | Subscriptions are stored in the database
WDS-4 | API | design | Webhooks are created, read, updated and deleted
WDS-5 | API | design | Quotas and rate limits for each tenant (429)
WDS-6 | P | design | The publisher accepts events from components of the application
WDS-7 | P | design | An event's payload is validated against its schema
WDS-8 | P | design | Duplicates are found by idempotency key
WDS-9 | P | design | Published events are queued and delivered later
WDS-10 | P | design | Publishing answers at once and never blocks the source of an event
WDS-11 | P | design | Workers deliver by priority
WDS-12 | P | design | Circuit and rate limit are asked before each request
WDS-13 | P | design | Events are sent with HTTP POST to the registered URL
WDS-14 | P | design | Retries follow with exponential backoff
WDS-15 | P | design | Attempts are recorded with their outcome and a detailed class of failure
WDS-16 | P | design | Outcomes feed the counts of the circuit
WDS-17 | P | design | When a part fails the rest continues
WDS-18 | P,Ops | design | An event that used up its attempts becomes a dead letter
WDS-19 | P,Ops | design | A dead letter says whether its failure is permanent or recoverable
WDS-20 | Ops | design | Each dead letter is logged for inspection
WDS-21 | API | design | Failed deliveries are retried by call, one or many
WDS-22 | Ops | design | Owners are notified of permanent failures by mail or notification
WDS-23 | Ops,API | design | Scheduled batch retries of dead letters, limited in rate
WDS-24 | P | design | Each webhook has its own circuit
WDS-25 | P | design | Thresholds count over a window of time
WDS-26 | P | design | Recovery is gradual, with probes
WDS-27 | P | design | Failures do not cascade from one tenant to another
WDS-28 | Ops | design | Success and failure are counted by kind of failure
WDS-29 | Ops | design | Depth of queues and health of workers are watched
WDS-30 | Ops | design | Latency and throughput are measured, latency by percentile
WDS-31 | API | design | The history of deliveries is an API with filters
WDS-32 | Ops | design | Changes of circuits are counted
WDS-33 | Ops | design | Alerts on unusual patterns of failure
WDS-37 | Ops | design | Workers are a Go program that controls its concurrency
WDS-38 | Ops | design | The API is an asynchronous FastAPI program
WDS-39 | API | design | Webhook id: uuid
WDS-40 | API | design | Webhook owner_id: string
WDS-41 | API | design | Webhook tenant_id: string
WDS-42 | API | design | Webhook url: string, https
WDS-227 | Ops | design | webhook_deliveries_total{status, event_type, failure_category, tenant_id}: counter
WDS-228 | Ops | design | webhook_delivery_duration_seconds{percentile}: p50, p95, p99
WDS-229 | Ops | design | webhook_retry_attempt_number{outcome}: histogram
WDS-230 | Ops | design | webhook_queue_depth{priority}: gauge
WDS-231 | Ops | design | webhook_circuit_breaker_state{webhook_id, state}: gauge
WDS-232 | Ops | design | webhook_circuit_breaker_transitions_total{from_state, to_state}: counter
WDS-233 | Ops | design | webhook_dlq_size{tenant_id}: gauge
WDS-234 | Ops | design | webhook_rate_limit_hits_total{webhook_id}: counter
WDS-235 | Ops | design | webhook_worker_pool_utilization{pool_id}: gauge
WDS-236 | Ops | design | Alert: a circuit opened (warning)
WDS-237 | Ops | design | Alert: a circuit is open for more than an hour (critical)
WDS-238 | Ops | design | Alert: more than 1,000 dead letters of a tenant (warning)
WDS-239 | Ops | design | Alert: less than 90 % of a webhook's requests succeed over 5 min (warning)
WDS-240 | Ops | design | Alert: workers are used to more than 80 % (warning)
WDS-241 | Ops | design | Alert: more than 10,000 deliveries wait (critical)
`);

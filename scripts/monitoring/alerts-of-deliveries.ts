// Alerts about events and their deliveries.

import type { Alert } from "./alert.ts";

/** Every process exports the figures of the whole deployment, so take their maximum and never their sum. */
const waiting = "sum(max by (priority) (webhook_queue_depth))";
const open = 'max by (webhook_id) (webhook_circuit_breaker_state{state="open"})';
const attempts = "sum(increase(webhook_deliveries_total[5m]))";
const accepted = 'sum(increase(webhook_deliveries_total{status="success"}[5m]))';

export const alertsOfDeliveries: readonly Alert[] = [
  {
    name: "CircuitOpened",
    runbook: "circuit-opened",
    expr: `${open} > 0`,
    severity: "warning",
    requirement: "WDS-236",
    summary: "The circuit of webhook {{ $labels.webhook_id }} is open",
    description: "Its receiver failed so often that Posthorn pauses requests to it. Its deliveries wait.",
    story: {
      series: { 'webhook_circuit_breaker_state{webhook_id="w1",state="open"}': "0x3 1x5 0x20" },
      at: "5m",
      labels: { webhook_id: "w1" },
      after: "15m",
    },
  },
  {
    name: "CircuitOpenLong",
    runbook: "circuit-open-long",
    expr: 'max by (webhook_id) (webhook_circuit_breaker_state{state=~"open|half_open"}) > 0',
    lasts: "1h",
    severity: "critical",
    requirement: "WDS-237",
    summary: "The circuit of webhook {{ $labels.webhook_id }} has not closed for an hour",
    description: "Its receiver is broken, and its owner may not know. Deliveries wait and may expire.",
    story: {
      series: {
        'webhook_circuit_breaker_state{webhook_id="w1",state="open"}': "1x30 0x5 1x40 _x60",
        'webhook_circuit_breaker_state{webhook_id="w1",state="half_open"}': "0x30 1x5 0x40 _x60",
      },
      at: "70m",
      labels: { webhook_id: "w1" },
      after: "90m",
    },
  },
  {
    name: "DeadLettersMany",
    runbook: "dead-letters",
    expr: "max by (tenant_id) (webhook_dlq_size) > 1000",
    lasts: "5m",
    severity: "warning",
    requirement: "WDS-238",
    summary: "Tenant {{ $labels.tenant_id }} has {{ $value }} dead letters",
    description: "Posthorn stopped retrying these deliveries. They are stored and can be retried.",
    story: {
      series: {
        'webhook_dlq_size{tenant_id="acme",instance="a"}': "1001x20 900x20",
        'webhook_dlq_size{tenant_id="acme",instance="b"}': "1001x20 900x20",
        'webhook_dlq_size{tenant_id="other",instance="a"}': "1000x40",
      },
      at: "10m",
      labels: { tenant_id: "acme" },
      value: "1001",
      after: "35m",
    },
  },
  {
    name: "DeadLettersGrow",
    runbook: "dead-letters",
    expr: "max by (tenant_id) (webhook_dlq_size) > max by (tenant_id) (webhook_dlq_size offset 1h)",
    lasts: "1h",
    severity: "info",
    summary: "Tenant {{ $labels.tenant_id }} gets more and more dead letters",
    description: "Deliveries have become dead letters for two hours.",
    story: {
      series: { 'webhook_dlq_size{tenant_id="acme"}': "0+1x150 150x100" },
      at: "130m",
      labels: { tenant_id: "acme" },
      after: "240m",
    },
  },
  {
    name: "SuccessRateLow",
    runbook: "success-rate",
    expr: `(${accepted} or vector(0)) / ${attempts} < 0.9 and ${attempts} >= 50`,
    severity: "warning",
    requirement: "WDS-239",
    summary: "Receivers accepted {{ $value | humanizePercentage }} of the attempts of the last five minutes",
    description: "Many receivers fail at the same time, or one that gets most of the events.",
    story: {
      series: {
        'webhook_deliveries_total{status="failed"}': "0+20x10 200x20",
        'webhook_deliveries_total{status="success"}': "0+50x40",
      },
      at: "8m",
      value: "71.43%",
      after: "20m",
    },
  },
  {
    name: "WorkersBusy",
    runbook: "workers-busy",
    expr: "avg by (pool_id) (webhook_worker_pool_utilization) > 0.8",
    lasts: "10m",
    severity: "warning",
    requirement: "WDS-240",
    summary:
      "The workers of pool {{ $labels.pool_id }} use {{ $value | humanizePercentage }} of their request slots",
    description: "When all request slots are in use, deliveries wait for a free one.",
    story: {
      series: {
        'webhook_worker_pool_utilization{pool_id="default",instance="a"}': "0.95x20 0.1x20",
        'webhook_worker_pool_utilization{pool_id="default",instance="b"}': "0.85x20 0.1x20",
        'webhook_worker_pool_utilization{pool_id="bulk",instance="c"}': "0.8x40",
      },
      at: "15m",
      labels: { pool_id: "default" },
      value: "90%",
      after: "25m",
    },
  },
  {
    name: "WaitingRequestsFull",
    runbook: "workers-busy",
    expr: 'max by (instance) (posthorn_request_slots_used{slots="waiting"} / posthorn_request_slots{slots="waiting"}) > 0.8',
    lasts: "10m",
    severity: "warning",
    requirement: "WDS-240",
    summary:
      "{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its slots for waiting requests",
    description:
      "Many receivers hang. When all of these slots are in use, requests that hang take slots of active requests.",
    story: {
      series: {
        'posthorn_request_slots{slots="waiting",instance="a"}': "1000x40",
        'posthorn_request_slots_used{slots="waiting",instance="a"}': "900x20 100x20",
      },
      at: "15m",
      labels: { instance: "a" },
      value: "90%",
      after: "25m",
    },
  },
  {
    name: "QueueDeep",
    runbook: "queue-deep",
    expr: `${waiting} > 10000`,
    lasts: "5m",
    severity: "critical",
    requirement: "WDS-241",
    summary: "{{ $value }} deliveries are waiting",
    description: "Publishers are faster than deliveries, or large receivers are unavailable.",
    story: {
      series: {
        'webhook_queue_depth{priority="normal",instance="a"}': "9000x20 100x20",
        'webhook_queue_depth{priority="normal",instance="b"}': "9000x20 100x20",
        'webhook_queue_depth{priority="low",instance="a"}': "1001x40",
      },
      at: "10m",
      value: "10001",
      after: "30m",
    },
  },
  {
    name: "DeliveriesLate",
    runbook: "deliveries-late",
    // At least two samples in a row: one may catch a moment between two requests.
    expr: "max(min_over_time(posthorn_oldest_due_seconds[90s])) > 60",
    lasts: "1m",
    severity: "critical",
    requirement: "WDS-241",
    summary: "A delivery without a reason to wait has been due for {{ $value | humanizeDuration }}",
    description:
      "There are too few workers or request slots, or the database is slow. A single broken receiver does not cause this.",
    story: {
      series: {
        'posthorn_oldest_due_seconds{instance="a"}': "0x5 30+30x10 0x20",
        'posthorn_oldest_due_seconds{instance="b"}': "0x24 300 0x15",
      },
      at: "12m",
      value: "3m 0s",
      after: "25m",
    },
  },
  {
    name: "NoWorkers",
    runbook: "no-workers",
    expr: "max by (pool) (posthorn_workers) == 0",
    lasts: "1m",
    severity: "critical",
    summary: "No worker serves pool {{ $labels.pool }}",
    description: "Events for tenants of that pool are stored and not sent.",
    story: {
      series: { 'posthorn_workers{pool="bulk"}': "0x5 2x20" },
      at: "3m",
      labels: { pool: "bulk" },
      after: "10m",
    },
  },
  {
    name: "DeliveriesStopped",
    runbook: "deliveries-stopped",
    expr: "sum(increase(posthorn_deliveries_stopped_total[1h])) > 0",
    severity: "critical",
    summary: "A delivery was stopped because its event and its webhook belong to different tenants",
    description: "The database, or the cache of a process, is wrong. Nothing was sent.",
    story: {
      series: { posthorn_deliveries_stopped_total: "0x3 1x100" },
      at: "5m",
      after: "80m",
    },
  },
  {
    name: "UnexpectedErrors",
    runbook: "unexpected-errors",
    expr: "sum(increase(posthorn_unexpected_errors_total[10m])) > 0",
    severity: "warning",
    requirement: "WDS-195",
    summary: "An attempt ended with an unexpected exception",
    description: "This is a bug in Posthorn. The delivery is retried on its usual schedule.",
    story: {
      series: { posthorn_unexpected_errors_total: "0x3 1x40" },
      at: "5m",
      after: "30m",
    },
  },
  {
    name: "LanesStalled",
    runbook: "lanes-stalled",
    expr: "sum(increase(posthorn_lanes_stalled_total[10m])) > 0 unless sum(increase(posthorn_store_restarts_total[15m])) > 0",
    severity: "warning",
    summary: "Deliveries were due and no worker claimed them",
    description:
      "This is a bug in Posthorn, unless PostgreSQL was restarted. Such deliveries start about 45 s late.",
    story: {
      series: { posthorn_lanes_stalled_total: "0x3 1x10 2x30", posthorn_store_restarts_total: "0x12 1x30" },
      at: "5m",
      after: "15m",
    },
  },
  {
    name: "PublishersSilent",
    runbook: "publishers-silent",
    expr: "sum(rate(posthorn_events_published_total[30m])) == 0 and sum(rate(posthorn_events_published_total[30m] offset 1w)) > 0",
    lasts: "15m",
    severity: "info",
    summary: "No events are published, although there were some at this time a week ago",
    description: "Publishers may be broken, or cannot reach Posthorn.",
    story: {
      isLong: true,
      series: { posthorn_events_published_total: "0+10x10140 101400x120 101410+10x60" },
      at: "10200m",
      after: "10290m",
    },
  },
  {
    name: "CallsRefused",
    runbook: "calls-refused",
    expr: "sum by (scope) (rate(posthorn_api_calls_limited_total[5m])) > 1",
    lasts: "15m",
    severity: "info",
    summary: "API calls are rejected with 429 by the limit {{ $labels.scope }}",
    description: "A client calls too often, or its limit is too low.",
    story: {
      series: { 'posthorn_api_calls_limited_total{scope="key"}': "0+120x30 3600x30" },
      at: "25m",
      labels: { scope: "key" },
      after: "45m",
    },
  },
];

// What becomes of events.

import type { Alert } from "./alert.ts";

/** Numbers of the whole deployment are told by every process: the maximum, never the sum. */
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
    description: "Its receiver failed so often that it is left alone for a while. What is for it waits.",
    story: {
      series: [
        { series: 'webhook_circuit_breaker_state{webhook_id="w1",state="open"}', values: "0x3 1x5 0x20" },
      ],
      at: "5m",
      labels: { webhook_id: "w1" },
      summary: "The circuit of webhook w1 is open",
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
    description: "Its receiver is broken, and its owner may not know. Deliveries wait and become too old.",
    story: {
      series: [
        {
          series: 'webhook_circuit_breaker_state{webhook_id="w1",state="open"}',
          values: "1x30 0x5 1x40 _x60",
        },
        {
          series: 'webhook_circuit_breaker_state{webhook_id="w1",state="half_open"}',
          values: "0x30 1x5 0x40 _x60",
        },
      ],
      at: "70m",
      labels: { webhook_id: "w1" },
      summary: "The circuit of webhook w1 has not closed for an hour",
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
    description: "Deliveries were given up. They are kept, and can be delivered again.",
    story: {
      series: [
        { series: 'webhook_dlq_size{tenant_id="acme",instance="a"}', values: "1001x20 900x20" },
        { series: 'webhook_dlq_size{tenant_id="acme",instance="b"}', values: "1001x20 900x20" },
        { series: 'webhook_dlq_size{tenant_id="other",instance="a"}', values: "1000x40" },
      ],
      at: "10m",
      labels: { tenant_id: "acme" },
      summary: "Tenant acme has 1001 dead letters",
      after: "35m",
    },
  },
  {
    name: "DeadLettersGrow",
    runbook: "dead-letters",
    expr: "max by (tenant_id) (webhook_dlq_size) > max by (tenant_id) (webhook_dlq_size offset 1h)",
    lasts: "1h",
    severity: "info",
    summary: "The dead letters of tenant {{ $labels.tenant_id }} grow",
    description: "For two hours deliveries have been given up.",
    story: {
      series: [{ series: 'webhook_dlq_size{tenant_id="acme"}', values: "0+1x150 150x100" }],
      at: "130m",
      labels: { tenant_id: "acme" },
      summary: "The dead letters of tenant acme grow",
      after: "240m",
    },
  },
  {
    name: "SuccessRateLow",
    runbook: "success-rate",
    expr: `(${accepted} or vector(0)) / ${attempts} < 0.9 and ${attempts} >= 50`,
    severity: "warning",
    requirement: "WDS-239",
    summary: "{{ $value | humanizePercentage }} of the attempts of the last five minutes were accepted",
    description: "Many receivers fail at once, or one that gets most of the events.",
    story: {
      series: [
        { series: 'webhook_deliveries_total{status="failed"}', values: "0+20x10 200x20" },
        { series: 'webhook_deliveries_total{status="success"}', values: "0+50x40" },
      ],
      at: "8m",
      labels: {},
      summary: "71.43% of the attempts of the last five minutes were accepted",
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
      "The workers of pool {{ $labels.pool_id }} use {{ $value | humanizePercentage }} of their places",
    description: "When all places are taken, deliveries wait for each other.",
    story: {
      series: [
        {
          series: 'webhook_worker_pool_utilization{pool_id="default",instance="a"}',
          values: "0.95x20 0.1x20",
        },
        {
          series: 'webhook_worker_pool_utilization{pool_id="default",instance="b"}',
          values: "0.85x20 0.1x20",
        },
        { series: 'webhook_worker_pool_utilization{pool_id="bulk",instance="c"}', values: "0.8x40" },
      ],
      at: "15m",
      labels: { pool_id: "default" },
      summary: "The workers of pool default use 90% of their places",
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
      "Many receivers hang. When all of these slots are taken, requests to them take those of active requests.",
    story: {
      series: [
        { series: 'posthorn_request_slots{slots="waiting",instance="a"}', values: "1000x40" },
        {
          series: 'posthorn_request_slots_used{slots="waiting",instance="a"}',
          values: "900x20 100x20",
        },
      ],
      at: "15m",
      labels: { instance: "a" },
      summary: "a uses 90% of its slots for waiting requests",
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
    summary: "{{ $value }} deliveries wait",
    description: "More is published than is delivered, or large receivers are away.",
    story: {
      series: [
        { series: 'webhook_queue_depth{priority="normal",instance="a"}', values: "9000x20 100x20" },
        { series: 'webhook_queue_depth{priority="normal",instance="b"}', values: "9000x20 100x20" },
        { series: 'webhook_queue_depth{priority="low",instance="a"}', values: "1001x40" },
      ],
      at: "10m",
      labels: {},
      summary: "10001 deliveries wait",
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
    summary: "A delivery that nothing holds back has been due for {{ $value | humanizeDuration }}",
    description:
      "Workers, the database or the places for requests are short. One broken receiver is no cause of this.",
    story: {
      series: [
        { series: 'posthorn_oldest_due_seconds{instance="a"}', values: "0x5 30+30x10 0x20" },
        { series: 'posthorn_oldest_due_seconds{instance="b"}', values: "0x24 300 0x15" },
      ],
      at: "12m",
      labels: {},
      summary: "A delivery that nothing holds back has been due for 3m 0s",
      after: "25m",
    },
  },
  {
    name: "NoWorkers",
    runbook: "no-workers",
    expr: "max by (pool) (posthorn_workers) == 0",
    lasts: "1m",
    severity: "critical",
    summary: "No worker serves the pool {{ $labels.pool }}",
    description: "What is published for tenants of that pool is kept and not sent.",
    story: {
      series: [{ series: 'posthorn_workers{pool="bulk"}', values: "0x5 2x20" }],
      at: "3m",
      labels: { pool: "bulk" },
      summary: "No worker serves the pool bulk",
      after: "10m",
    },
  },
  {
    name: "DeliveriesStopped",
    runbook: "deliveries-stopped",
    expr: "sum(increase(posthorn_deliveries_stopped_total[1h])) > 0",
    severity: "critical",
    summary: "A delivery was stopped, because event and webhook belong to different tenants",
    description: "The database, or what a process remembers of it, is wrong. Nothing was sent.",
    story: {
      series: [{ series: "posthorn_deliveries_stopped_total", values: "0x3 1x100" }],
      at: "5m",
      labels: {},
      after: "80m",
    },
  },
  {
    name: "UnexpectedErrors",
    runbook: "unexpected-errors",
    expr: "sum(increase(posthorn_unexpected_errors_total[10m])) > 0",
    severity: "warning",
    requirement: "WDS-195",
    summary: "An attempt ended with an exception that nobody foresaw",
    description: "A defect of Posthorn. The delivery is tried again by its schedule.",
    story: {
      series: [{ series: "posthorn_unexpected_errors_total", values: "0x3 1x40" }],
      at: "5m",
      labels: {},
      after: "30m",
    },
  },
  {
    name: "LanesStalled",
    runbook: "lanes-stalled",
    expr: "sum(increase(posthorn_lanes_stalled_total[10m])) > 0 unless sum(increase(posthorn_store_restarts_total[15m])) > 0",
    severity: "warning",
    summary: "Deliveries were due and nobody claimed them",
    description: "A defect of Posthorn, unless PostgreSQL was restarted: such deliveries go about 45 s late.",
    story: {
      series: [
        { series: "posthorn_lanes_stalled_total", values: "0x3 1x10 2x30" },
        { series: "posthorn_store_restarts_total", values: "0x12 1x30" },
      ],
      at: "5m",
      labels: {},
      after: "15m",
    },
  },
  {
    name: "PublishersSilent",
    runbook: "publishers-silent",
    expr: "sum(rate(posthorn_events_published_total[30m])) == 0 and sum(rate(posthorn_events_published_total[30m] offset 1w)) > 0",
    lasts: "15m",
    severity: "info",
    summary: "Nothing is published, though a week ago something was at this time",
    description: "Publishers may be broken, or unable to reach Posthorn.",
    story: {
      isLong: true,
      series: [{ series: "posthorn_events_published_total", values: "0+10x10140 101400x120 101410+10x60" }],
      at: "10200m",
      labels: {},
      after: "10290m",
    },
  },
  {
    name: "CallsRefused",
    runbook: "calls-refused",
    expr: "sum by (scope) (rate(posthorn_api_calls_limited_total[5m])) > 1",
    lasts: "15m",
    severity: "info",
    summary: "Callers are refused with 429, by the limit {{ $labels.scope }}",
    description: "A caller asks too often, or the limit is too low for it.",
    story: {
      series: [{ series: 'posthorn_api_calls_limited_total{scope="key"}', values: "0+120x30 3600x30" }],
      at: "25m",
      labels: { scope: "key" },
      summary: "Callers are refused with 429, by the limit key",
      after: "45m",
    },
  },
];

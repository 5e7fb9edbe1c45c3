// What the dashboards of deploy/monitoring show.

export type Unit = "short" | "s" | "percentunit" | "ops" | "bytes";

export interface Panel {
  readonly title: string;
  /** What a reader sees in it, and when to worry. */
  readonly says: string;
  /** A number, or a line over time. */
  readonly kind: "stat" | "timeseries";
  readonly unit: Unit;
  /** `legend` as Grafana writes it. */
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

export interface Board {
  /** Fixed, so that links to it stay. */
  readonly uid: string;
  readonly file: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A rate over as long as the graph's own steps ask for. */
const rate = (metric: string, by = ""): string => `sum${by} (rate(${metric}[$__rate_interval]))`;

const overview: Board = {
  uid: "posthorn-overview",
  file: "overview.json",
  title: "Posthorn: overview",
  panels: [
    {
      title: "Published",
      says: "Events a second, all processes together.",
      kind: "stat",
      unit: "ops",
      queries: [{ expr: rate("posthorn_events_published_total"), legend: "events" }],
    },
    {
      title: "Accepted",
      says: "Share of the attempts that receivers accepted. Below 90 % an alert fires.",
      kind: "stat",
      unit: "percentunit",
      queries: [
        {
          expr: `${rate('webhook_deliveries_total{status="success"}')} / ${rate("webhook_deliveries_total")}`,
          legend: "accepted",
        },
      ],
    },
    {
      title: "Waiting",
      says: "Deliveries that wait, in the whole deployment.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: "sum(max by (priority) (webhook_queue_depth))", legend: "deliveries" }],
    },
    {
      title: "Dead letters",
      says: "Deliveries that were given up and are kept.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: "sum(max by (tenant_id) (webhook_dlq_size))", legend: "deliveries" }],
    },
    {
      title: "Attempts by outcome",
      says: "Attempts a second, by what their delivery became.",
      kind: "timeseries",
      unit: "ops",
      queries: [{ expr: rate("webhook_deliveries_total", " by (status)"), legend: "{{status}}" }],
    },
    {
      title: "Waiting by priority",
      says: "A line that does not fall means that less is delivered than published.",
      kind: "timeseries",
      unit: "short",
      queries: [{ expr: "max by (priority) (webhook_queue_depth)", legend: "{{priority}}" }],
    },
    {
      title: "Time of one request",
      says: "How long receivers take, in the slowest process.",
      kind: "timeseries",
      unit: "s",
      queries: [
        { expr: "max by (percentile) (webhook_delivery_duration_seconds)", legend: "{{percentile}}" },
      ],
    },
    {
      title: "Time of a commit",
      says: "The 95th percentile. It is what publishers wait for.",
      kind: "timeseries",
      unit: "s",
      queries: [
        {
          expr: `histogram_quantile(0.95, ${rate("posthorn_commit_duration_seconds_bucket", " by (le)")})`,
          legend: "p95",
        },
      ],
    },
    {
      title: "Failures by cause",
      says: "Attempts a second that were not accepted.",
      kind: "timeseries",
      unit: "ops",
      queries: [
        {
          expr: rate('webhook_deliveries_total{failure_category!="none"}', " by (failure_category)"),
          legend: "{{failure_category}}",
        },
      ],
    },
    {
      title: "Calls refused with 429",
      says: "By the limit that was reached.",
      kind: "timeseries",
      unit: "ops",
      queries: [{ expr: rate("posthorn_api_calls_limited_total", " by (scope)"), legend: "{{scope}}" }],
    },
  ],
};

const webhooks: Board = {
  uid: "posthorn-webhooks",
  file: "webhooks.json",
  title: "Posthorn: webhooks",
  panels: [
    {
      title: "Circuits not closed",
      says: "Webhooks whose receiver is left alone, or is being tried again.",
      kind: "stat",
      unit: "short",
      queries: [
        {
          expr: 'count(max by (webhook_id) (webhook_circuit_breaker_state{state!="closed"}) > 0) or vector(0)',
          legend: "webhooks",
        },
      ],
    },
    {
      title: "Webhooks",
      says: "Those that are not deleted.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: "max(posthorn_webhooks)", legend: "webhooks" }],
    },
    {
      title: "Circuits by webhook",
      says: "1 while the circuit is in this state. The id leads to the webhook in the dashboard at /ui.",
      kind: "timeseries",
      unit: "short",
      queries: [
        {
          expr: "max by (webhook_id, state) (webhook_circuit_breaker_state)",
          legend: "{{webhook_id}} {{state}}",
        },
      ],
    },
    {
      title: "Moves of circuits",
      says: "A circuit that opens and closes again and again has a receiver that is barely alive.",
      kind: "timeseries",
      unit: "ops",
      queries: [
        {
          expr: rate("webhook_circuit_breaker_transitions_total", " by (from_state, to_state)"),
          legend: "{{from_state}} to {{to_state}}",
        },
      ],
    },
    {
      title: "Held back by rate limits",
      says: "By webhook. Its limit is lower than what is published for it.",
      kind: "timeseries",
      unit: "ops",
      queries: [
        {
          expr: `topk(10, ${rate("webhook_rate_limit_hits_total", " by (webhook_id)")})`,
          legend: "{{webhook_id}}",
        },
      ],
    },
    {
      title: "Attempts that it takes",
      says: "The attempt at which nine of ten deliveries are accepted.",
      kind: "timeseries",
      unit: "short",
      queries: [
        {
          expr: `histogram_quantile(0.9, ${rate('webhook_retry_attempt_number_bucket{outcome="accepted"}', " by (le)")})`,
          legend: "p90",
        },
      ],
    },
    {
      title: "Dead letters by tenant",
      says: "Those of the whole deployment.",
      kind: "timeseries",
      unit: "short",
      queries: [{ expr: "max by (tenant_id) (webhook_dlq_size)", legend: "{{tenant_id}}" }],
    },
    {
      title: "Attempts by event type",
      says: "The ten busiest types.",
      kind: "timeseries",
      unit: "ops",
      queries: [
        {
          expr: `topk(10, ${rate("webhook_deliveries_total", " by (event_type)")})`,
          legend: "{{event_type}}",
        },
      ],
    },
  ],
};

const workers: Board = {
  uid: "posthorn-workers",
  file: "workers.json",
  title: "Posthorn: workers",
  panels: [
    {
      title: "Workers",
      says: "By pool. 0 means that what is published for its tenants is kept and not sent.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: "max by (pool) (posthorn_workers)", legend: "{{pool}}" }],
    },
    {
      title: "Places used",
      says: "Share of the allowed requests that are in flight, by pool.",
      kind: "timeseries",
      unit: "percentunit",
      queries: [{ expr: "avg by (pool_id) (webhook_worker_pool_utilization)", legend: "{{pool_id}}" }],
    },
    {
      title: "Requests in flight",
      says: "By process, and of them those that have waited for a second.",
      kind: "timeseries",
      unit: "short",
      queries: [
        { expr: "posthorn_requests_in_flight", legend: "{{instance}}" },
        { expr: 'posthorn_request_slots_used{slots="waiting"}', legend: "{{instance}} waiting" },
      ],
    },
    {
      title: "Event loop",
      says: "How long a process stood still: the delay of timers of 50 ms, without these. Above a quarter of a second it lacks processor time.",
      kind: "timeseries",
      unit: "s",
      queries: [{ expr: "nodejs_eventloop_lag_p99_seconds - 0.05", legend: "{{instance}}" }],
    },
    {
      title: "Processor",
      says: "Cores that a process uses.",
      kind: "timeseries",
      unit: "short",
      queries: [{ expr: "rate(process_cpu_seconds_total[$__rate_interval])", legend: "{{instance}}" }],
    },
    {
      title: "Memory",
      says: "Resident memory by process.",
      kind: "timeseries",
      unit: "bytes",
      queries: [{ expr: "process_resident_memory_bytes", legend: "{{instance}}" }],
    },
    {
      title: "Results that wait for a commit",
      says: "When they grow, the store is slow or away.",
      kind: "timeseries",
      unit: "short",
      queries: [{ expr: "posthorn_writes_uncommitted", legend: "{{instance}}" }],
    },
    {
      title: "Writes in a commit",
      says: "The mean. It grows under load, which is what makes it fast.",
      kind: "timeseries",
      unit: "short",
      queries: [
        {
          expr: `${rate("posthorn_commit_writes_sum")} / ${rate("posthorn_commit_writes_count")}`,
          legend: "writes",
        },
      ],
    },
    {
      title: "Notices in RabbitMQ",
      says: "Lanes with work that no worker has taken yet.",
      kind: "timeseries",
      unit: "short",
      queries: [
        { expr: "sum by (pool) (max by (pool, priority) (posthorn_queue_notices))", legend: "{{pool}}" },
      ],
    },
    {
      title: "Companions",
      says: "1 while RabbitMQ and Redis are there for every process.",
      kind: "timeseries",
      unit: "short",
      queries: [
        { expr: "min(posthorn_queue_connected)", legend: "RabbitMQ" },
        { expr: "min(posthorn_shared_state_available)", legend: "Redis" },
      ],
    },
  ],
};

export const boards: readonly Board[] = [overview, webhooks, workers];

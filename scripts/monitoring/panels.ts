// The panels of the Grafana dashboards in deploy/monitoring.

type Unit = "short" | "s" | "percentunit" | "ops" | "bytes";

export interface Panel {
  readonly title: string;
  /** What the panel shows, and when to worry. */
  readonly description: string;
  readonly kind: "stat" | "timeseries";
  readonly unit: Unit;
  /** Expressions by legend, as Grafana writes it. */
  readonly queries: Queries;
}

type Queries = Readonly<Record<string, string>>;

export interface Board {
  /** Fixed, so that links to it stay. */
  readonly uid: string;
  readonly file: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A number. */
function stat(title: string, description: string, unit: Unit, queries: Queries): Panel {
  return { title, description, kind: "stat", unit, queries };
}

/** Lines over time. */
function timeseries(title: string, description: string, unit: Unit, queries: Queries): Panel {
  return { title, description, kind: "timeseries", unit, queries };
}

/** A rate over the interval that Grafana chooses for the steps of the graph. */
const rate = (metric: string, by = ""): string => `sum${by} (rate(${metric}[$__rate_interval]))`;

const overview: Board = {
  uid: "posthorn-overview",
  file: "overview.json",
  title: "Posthorn: overview",
  panels: [
    stat("Published", "Events per second, of all processes.", "ops", {
      "events": rate("posthorn_events_published_total"),
    }),
    stat(
      "Accepted",
      "Share of the attempts that receivers accepted. An alert fires below 90 %.",
      "percentunit",
      {
        "accepted": `${rate('webhook_deliveries_total{status="success"}')} / ${rate("webhook_deliveries_total")}`,
      },
    ),
    stat("Waiting", "Waiting deliveries of the whole deployment.", "short", {
      "deliveries": "sum(max by (priority) (webhook_queue_depth))",
    }),
    stat("Dead letters", "Deliveries that are no longer retried. They are stored.", "short", {
      "deliveries": "sum(max by (tenant_id) (webhook_dlq_size))",
    }),
    timeseries(
      "Attempts by outcome",
      "Attempts per second, by the state of the delivery afterwards.",
      "ops",
      { "{{status}}": rate("webhook_deliveries_total", " by (status)") },
    ),
    timeseries(
      "Waiting by priority",
      "If a line keeps rising, publishers are faster than deliveries.",
      "short",
      { "{{priority}}": "max by (priority) (webhook_queue_depth)" },
    ),
    timeseries("Request duration", "How long receivers take to respond, in the slowest process.", "s", {
      "{{percentile}}": "max by (percentile) (webhook_delivery_duration_seconds)",
    }),
    timeseries("Commit duration", "The 95th percentile. Publishers wait for it.", "s", {
      "p95": `histogram_quantile(0.95, ${rate("posthorn_commit_duration_seconds_bucket", " by (le)")})`,
    }),
    timeseries("Failures by cause", "Attempts per second that receivers did not accept.", "ops", {
      "{{failure_category}}": rate(
        'webhook_deliveries_total{failure_category!="none"}',
        " by (failure_category)",
      ),
    }),
    timeseries("Calls rejected with 429", "By the limit that was exceeded.", "ops", {
      "{{scope}}": rate("posthorn_api_calls_limited_total", " by (scope)"),
    }),
  ],
};

const webhooks: Board = {
  uid: "posthorn-webhooks",
  file: "webhooks.json",
  title: "Posthorn: webhooks",
  panels: [
    stat(
      "Circuits not closed",
      "Webhooks whose requests are paused or limited to a few trial requests.",
      "short",
      {
        "webhooks":
          'count(max by (webhook_id) (webhook_circuit_breaker_state{state!="closed"}) > 0) or vector(0)',
      },
    ),
    stat("Webhooks", "All webhooks that are not deleted.", "short", { "webhooks": "max(posthorn_webhooks)" }),
    timeseries(
      "Circuits by webhook",
      "1 while the circuit is in this state. Find the webhook by its ID in the dashboard at /ui.",
      "short",
      { "{{webhook_id}} {{state}}": "max by (webhook_id, state) (webhook_circuit_breaker_state)" },
    ),
    timeseries(
      "Circuit changes",
      "A circuit that keeps opening and closing belongs to an unstable receiver.",
      "ops",
      {
        "{{from_state}} to {{to_state}}": rate(
          "webhook_circuit_breaker_transitions_total",
          " by (from_state, to_state)",
        ),
      },
    ),
    timeseries(
      "Delayed by rate limits",
      "By webhook. Events are published faster than its limit allows.",
      "ops",
      { "{{webhook_id}}": `topk(10, ${rate("webhook_rate_limit_hits_total", " by (webhook_id)")})` },
    ),
    timeseries("Attempts until accepted", "Nine of ten deliveries are accepted by this attempt.", "short", {
      "p90": `histogram_quantile(0.9, ${rate('webhook_retry_attempt_number_bucket{outcome="accepted"}', " by (le)")})`,
    }),
    timeseries("Dead letters by tenant", "Dead letters of the whole deployment.", "short", {
      "{{tenant_id}}": "max by (tenant_id) (webhook_dlq_size)",
    }),
    timeseries("Attempts by event type", "The ten busiest types.", "ops", {
      "{{event_type}}": `topk(10, ${rate("webhook_deliveries_total", " by (event_type)")})`,
    }),
  ],
};

const workers: Board = {
  uid: "posthorn-workers",
  file: "workers.json",
  title: "Posthorn: workers",
  panels: [
    stat("Workers", "By pool. 0 means that events for its tenants are stored and not sent.", "short", {
      "{{pool}}": "max by (pool) (posthorn_workers)",
    }),
    timeseries(
      "Request slots in use",
      "Share of the request slots that are in use, by pool.",
      "percentunit",
      { "{{pool_id}}": "avg by (pool_id) (webhook_worker_pool_utilization)" },
    ),
    timeseries(
      "Requests in flight",
      "By process. The second line counts those that have waited for more than a second.",
      "short",
      {
        "{{instance}}": "posthorn_requests_in_flight",
        "{{instance}} waiting": 'posthorn_request_slots_used{slots="waiting"}',
      },
    ),
    timeseries(
      "Event loop",
      "How long the event loop stopped: the delay of timers of 50 ms, without these 50 ms. Above 0.25 s the process needs more processor time.",
      "s",
      { "{{instance}}": "nodejs_eventloop_lag_p99_seconds - 0.05" },
    ),
    timeseries("Processor", "Cores that a process uses.", "short", {
      "{{instance}}": "rate(process_cpu_seconds_total[$__rate_interval])",
    }),
    timeseries("Memory", "Resident memory by process.", "bytes", {
      "{{instance}}": "process_resident_memory_bytes",
    }),
    timeseries("Results waiting for a commit", "If they grow, the store is slow or unavailable.", "short", {
      "{{instance}}": "posthorn_writes_uncommitted",
    }),
    timeseries("Writes per commit", "The mean. It grows under load, because commits are grouped.", "short", {
      "writes": `${rate("posthorn_commit_writes_sum")} / ${rate("posthorn_commit_writes_count")}`,
    }),
    timeseries("Hints in RabbitMQ", "Lanes with due deliveries that no worker has taken yet.", "short", {
      "{{pool}}": "sum by (pool) (max by (pool, priority) (posthorn_queue_hints))",
    }),
    timeseries("RabbitMQ and Redis", "1 while every process is connected.", "short", {
      "RabbitMQ": "min(posthorn_queue_connected)",
      "Redis": "min(posthorn_shared_state_available)",
    }),
  ],
};

export const boards: readonly Board[] = [overview, webhooks, workers];

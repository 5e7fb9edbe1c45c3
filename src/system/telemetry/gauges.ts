import type { CircuitState } from "../../domain/circuit-breaker.ts";
import { priorities } from "../../domain/delivery.ts";
import type { StoreDepth } from "../../ports/store/deliveries.ts";
import type { WorkQueueDepth } from "../../ports/work-queue.ts";
import { otherValue, type PlainMetric, type Sample, single } from "./plain-metric.ts";

/** Values that are read when metrics are scraped. Their sources are created after the metrics. */
export interface MetricSources {
  readonly depth: () => Promise<StoreDepth>;
  readonly circuits: () => Iterable<{ readonly webhookId: string; readonly state: CircuitState }>;
  /** Number of webhooks that a user paused. */
  readonly paused: () => number;
  readonly activity: () => Activity;
  /** How late the oldest delivery is, among those delayed only by this system. */
  readonly oldestDueMs: () => Promise<number>;
  /** Absent if the store is on another machine. */
  readonly disk?: (() => { readonly freeBytes: number; readonly sizeBytes: number } | null) | undefined;
  /** The worker pool to which this process belongs. */
  readonly pool: string;
  readonly openSockets: () => number;
  readonly streamClients: () => number;
  /** Valid sessions of all tenants. */
  readonly portalSessions: () => Promise<number>;
  /** Absent if the store has no separate clock. */
  readonly clockOffsetMs?: (() => number) | undefined;
  /** Number of live workers per pool. Absent if a single process does all the work. */
  readonly workers?: (() => Promise<ReadonlyMap<string, number>>) | undefined;
  /** Absent without a separate work queue. */
  readonly queue?: (() => QueueReading) | undefined;
  /** Absent if traces are not collected. */
  readonly spans?: (() => SpanReading) | undefined;
  /** Absent if processes share only the store. */
  readonly sharedState?: (() => SharedStateReading) | undefined;
}

interface QueueReading {
  readonly isConnected: boolean;
  /** Messages that were accepted and then lost, since startup. */
  readonly dropped: number;
  depth(): Promise<WorkQueueDepth>;
}

interface SharedStateReading {
  readonly isAvailable: boolean;
  /** Counted since startup. */
  readonly callsFailed: number;
}

interface SpanReading {
  readonly exported: number;
  readonly dropped: Readonly<Record<string, number>>;
}

interface Activity {
  readonly inFlight: number;
  readonly active: number;
  readonly concurrency: number;
  readonly waitingInUse: number;
  readonly waitingRequests: number;
  readonly uncommitted: number;
  readonly statisticsLagMs: number;
  readonly upkeepLagMs: number | null;
  readonly webhooks: number;
}

const tenantsMax = 200;
/**
 * Maximum number of listed webhooks whose circuit is not closed; if there are more, the individual webhooks hardly
 * matter.
 */
const circuitsMax = 1_000;

/** Values that are looked up rather than counted. */
export function gauges(sources: MetricSources): readonly PlainMetric[] {
  return [
    {
      name: "webhook_queue_depth",
      help: "Waiting deliveries by priority.",
      type: "gauge",
      samples: async () => {
        const { waiting } = await sources.depth();
        return priorities.map((priority) => ({ labels: { priority }, value: waiting[priority] }));
      },
    },
    {
      name: "webhook_dlq_size",
      help: "Dead letters by tenant; the smallest tenants beyond a limit are summed as other.",
      type: "gauge",
      samples: async () => deadLetterSamples((await sources.depth()).deadLetters),
    },
    {
      name: "webhook_circuit_breaker_state",
      help: "1 for the state of a circuit that is not closed; closed circuits are omitted.",
      type: "gauge",
      samples: () => circuitSamples(sources.circuits()),
    },
    {
      name: "webhook_worker_pool_utilization",
      help: "Used share of the slots for active requests, 0 to 1.",
      type: "gauge",
      samples: () => {
        const { active, concurrency } = sources.activity();
        return [{ labels: { pool_id: sources.pool }, value: active / concurrency }];
      },
    },
    ...latenessMetrics(sources),
    ...processMetrics(sources),
    ...diskMetrics(sources),
    ...(sources.clockOffsetMs === undefined ? [] : [clockMetric(sources.clockOffsetMs)]),
    ...(sources.workers === undefined ? [] : [workersMetric(sources.workers)]),
    ...(sources.spans === undefined ? [] : spanMetrics(sources.spans)),
    ...(sources.queue === undefined ? [] : queueMetrics(sources.queue)),
    ...(sources.sharedState === undefined ? [] : sharedStateMetrics(sources.sharedState)),
  ];
}

/** Metrics that show how far the work of a process is behind schedule. */
function latenessMetrics(sources: MetricSources): readonly PlainMetric[] {
  return [
    single(
      "posthorn_oldest_due_seconds",
      "gauge",
      "How long the oldest delivery that no gate, rate limit or receiver holds back has been due, among the webhooks that this process owns and, if it is a scheduler, those without an owner.",
      async () => (await sources.oldestDueMs()) / 1_000,
    ),
    {
      name: "posthorn_upkeep_lag_seconds",
      help: "Time since the last complete round of expiry and retention, in the process that runs them.",
      type: "gauge",
      samples: () => {
        const { upkeepLagMs } = sources.activity();
        return upkeepLagMs === null ? [] : [{ labels: {}, value: upkeepLagMs / 1_000 }];
      },
    },
  ];
}

function diskMetrics({ disk }: MetricSources): readonly PlainMetric[] {
  const metric = (name: string, help: string, key: "freeBytes" | "sizeBytes") => ({
    name,
    help,
    type: "gauge" as const,
    samples: () => {
      const space = disk?.() ?? null;
      return space === null ? [] : [{ labels: {}, value: space[key] }];
    },
  });
  return [
    metric("posthorn_disk_free_bytes", "Free space on the disk of the data folder.", "freeBytes"),
    metric("posthorn_disk_size_bytes", "Size of the disk of the data folder.", "sizeBytes"),
  ];
}

/** Current resource usage of a process. */
function processMetrics(sources: MetricSources): readonly PlainMetric[] {
  return [
    single(
      "posthorn_requests_in_flight",
      "gauge",
      "Requests in flight, active and waiting.",
      () => sources.activity().inFlight,
    ),
    {
      name: "posthorn_request_slots",
      help: "Slots for requests: `active` for those younger than one second, `waiting` for older ones.",
      type: "gauge",
      samples: () => {
        const { concurrency, waitingRequests } = sources.activity();
        return slotSamples(concurrency, waitingRequests);
      },
    },
    {
      name: "posthorn_request_slots_used",
      help: "Used slots for requests, as in posthorn_request_slots. A request with a large body uses several.",
      type: "gauge",
      samples: () => {
        const { active, waitingInUse } = sources.activity();
        return slotSamples(active, waitingInUse);
      },
    },
    single(
      "posthorn_writes_uncommitted",
      "gauge",
      "Results that wait for a commit.",
      () => sources.activity().uncommitted,
    ),
    single(
      "posthorn_stats_lag_seconds",
      "gauge",
      "Age of the oldest fact that this process counted and has not stored in a bucket.",
      () => sources.activity().statisticsLagMs / 1_000,
    ),
    single("posthorn_webhooks", "gauge", "Webhooks that are not deleted.", () => sources.activity().webhooks),
    single("posthorn_webhooks_paused", "gauge", "Webhooks paused by a user.", sources.paused),
    single(
      "posthorn_open_sockets",
      "gauge",
      "Sockets to receivers, including idle ones.",
      sources.openSockets,
    ),
    single("posthorn_stream_clients", "gauge", "Clients connected to /v1/stream.", sources.streamClients),
    single(
      "posthorn_portal_sessions",
      "gauge",
      "Valid portal sessions of customers in the whole deployment.",
      sources.portalSessions,
    ),
  ];
}

function slotSamples(active: number, waiting: number) {
  return Object.entries({ active, waiting }).map(([slots, value]) => ({ labels: { slots }, value }));
}

function clockMetric(offsetMs: () => number): PlainMetric {
  return single(
    "posthorn_clock_offset_seconds",
    "gauge",
    "How far the clock of the database is ahead of this machine's clock; corrected above one second.",
    () => offsetMs() / 1_000,
  );
}

function workersMetric(workers: NonNullable<MetricSources["workers"]>): PlainMetric {
  return {
    name: "posthorn_workers",
    help: "Live workers by pool; 0 if a tenant names a pool without workers.",
    type: "gauge",
    samples: async () => [...(await workers())].map(([pool, value]) => ({ labels: { pool }, value })),
  };
}

/** Values from the broker are omitted while it does not respond. */
function queueMetrics(queue: () => QueueReading): readonly PlainMetric[] {
  return [
    single("posthorn_queue_connected", "gauge", "1 while RabbitMQ carries hints, else 0.", () =>
      Number(queue().isConnected),
    ),
    {
      name: "posthorn_queue_hints",
      help: "Hints that have not been handed to a worker yet.",
      type: "gauge",
      samples: async () => {
        const { waiting } = await queue().depth();
        return waiting.map(({ pool, priority, hints }) => ({ labels: { pool, priority }, value: hints }));
      },
    },
    {
      name: "posthorn_queue_parked",
      help: "Messages that could not be handled.",
      type: "gauge",
      samples: async () => [{ labels: {}, value: (await queue().depth()).parked }],
    },
    single(
      "posthorn_queue_dropped_total",
      "counter",
      "Hints that RabbitMQ lost or refused after they were sent; their work is announced again.",
      () => queue().dropped,
    ),
  ];
}

function sharedStateMetrics(sharedState: () => SharedStateReading): readonly PlainMetric[] {
  return [
    single("posthorn_shared_state_available", "gauge", "1 while Redis responds, else 0.", () =>
      Number(sharedState().isAvailable),
    ),
    single(
      "posthorn_shared_state_errors_total",
      "counter",
      "Calls to Redis that failed or timed out.",
      () => sharedState().callsFailed,
    ),
  ];
}

function deadLetterSamples(deadLetters: ReadonlyMap<string, number>): readonly Sample[] {
  const bySize = [...deadLetters].toSorted(([, a], [, b]) => b - a);
  const shown = bySize.slice(0, tenantsMax);
  const rest = bySize.slice(tenantsMax).reduce((sum, [, count]) => sum + count, 0);
  const all = rest === 0 ? shown : [...shown, [otherValue, rest] as const];
  return all.map(([tenantId, value]) => ({ labels: { tenant_id: tenantId }, value }));
}

function circuitSamples(circuits: ReturnType<MetricSources["circuits"]>): readonly Sample[] {
  const samples: Sample[] = [];
  for (const { webhookId, state } of circuits) {
    if (state === "closed") continue;
    if (samples.length >= circuitsMax) break;
    samples.push({ labels: { webhook_id: webhookId, state }, value: 1 });
  }
  return samples;
}

function spanMetrics(spans: NonNullable<MetricSources["spans"]>): readonly PlainMetric[] {
  return [
    single(
      "posthorn_spans_exported_total",
      "counter",
      "Spans accepted by the collector.",
      () => spans().exported,
    ),
    {
      name: "posthorn_spans_dropped_total",
      help: "Spans that were not exported, because of too many failed or slow attempts in a second, a full queue, or no collector.",
      type: "counter",
      samples: () =>
        Object.entries(spans().dropped).map(([reason, value]) => ({ labels: { reason }, value })),
    },
  ];
}

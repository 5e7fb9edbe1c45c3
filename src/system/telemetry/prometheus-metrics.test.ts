import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AttemptFact } from "../../ports/telemetry.ts";
import { DurationQuantiles } from "./fact-counts.ts";
import { createPrometheusMetrics, type PrometheusMetrics } from "./prometheus-metrics.ts";

const accepted: AttemptFact = {
  status: "success",
  outcome: "accepted",
  eventType: "order.completed",
  tenantId: "default",
  category: null,
  durationMs: 20,
  attemptNumber: 1,
};

async function linesOf(fill: (made: PrometheusMetrics) => void): Promise<readonly string[]> {
  const made = createPrometheusMetrics(() => 0);
  fill(made);
  return (await made.text()).split("\n");
}

/** The values of an idle process. */
const idle = {
  depth: async () => ({ waiting: { high: 0, normal: 0, low: 0 }, deadLetters: new Map() }),
  paused: () => 2,
  circuits: () => [],
  pool: "large",
  activity: () => ({
    inFlight: 0,
    active: 0,
    concurrency: 1,
    waitingInUse: 0,
    waitingRequests: 0,
    uncommitted: 0,
    statisticsLagMs: 0,
    upkeepLagMs: null,
    webhooks: 0,
  }),
  oldestDueMs: async () => 0,
  openSockets: () => 0,
  streamClients: () => 0,
  portalSessions: async () => 0,
};

suite("metrics", () => {
  test("a summary without observations is NaN, spelled as in the format", async () => {
    const lines = await linesOf(() => {});
    const empty = lines.filter((line) => / nan$/i.test(line));
    assert.ok(empty.length > 0);
    for (const line of empty) assert.match(line, / NaN$/);
  });

  test("WDS-28 WDS-29 WDS-30 WDS-32 WDS-227 WDS-228 WDS-229 WDS-230 WDS-231 WDS-232 WDS-233 WDS-234 WDS-235 WDS-236 WDS-237 every name of the document exists", async () => {
    const lines = await linesOf(({ metrics, observe }) => {
      metrics.attemptSettled(accepted);
      metrics.attemptSettled({
        ...accepted,
        status: "failed",
        outcome: "transient",
        category: "server_error",
        attemptNumber: 3,
      });
      metrics.circuitMoved("closed", "open");
      metrics.circuitMoved("open", "half_open");
      metrics.rateLimited("w1");
      observe({
        depth: async () => ({
          waiting: { high: 1, normal: 2, low: 3 },
          deadLetters: new Map([["default", 4]]),
        }),
        paused: () => 2,
        circuits: () => [
          { webhookId: "w1", state: "open" as const },
          { webhookId: "w2", state: "closed" as const },
        ],
        pool: "large",
        activity: () => ({
          inFlight: 65,
          active: 25,
          concurrency: 100,
          waitingInUse: 41,
          waitingRequests: 1_000,
          uncommitted: 0,
          statisticsLagMs: 0,
          upkeepLagMs: 61_000,
          webhooks: 2,
        }),
        oldestDueMs: async () => 5_000,
        disk: () => ({ freeBytes: 1, sizeBytes: 10 }),
        openSockets: () => 7,
        streamClients: () => 0,
        portalSessions: async () => 0,
      });
    });
    for (const expected of [
      'webhook_deliveries_total{status="failed",event_type="order.completed",failure_category="server_error",tenant_id="default"} 1',
      'webhook_deliveries_total{status="success",event_type="order.completed",failure_category="none",tenant_id="default"} 1',
      "webhook_delivery_duration_seconds_count 2",
      'webhook_retry_attempt_number_bucket{le="2",outcome="transient"} 0',
      'webhook_retry_attempt_number_bucket{le="3",outcome="transient"} 1',
      'webhook_queue_depth{priority="low"} 3',
      'webhook_circuit_breaker_state{webhook_id="w1",state="open"} 1',
      'webhook_circuit_breaker_transitions_total{from_state="closed",to_state="open"} 1',
      'webhook_circuit_breaker_transitions_total{from_state="open",to_state="half_open"} 1',
      'webhook_dlq_size{tenant_id="default"} 4',
      'webhook_rate_limit_hits_total{webhook_id="w1"} 1',
      'webhook_worker_pool_utilization{pool_id="large"} 0.25',
      "posthorn_requests_in_flight 65",
      'posthorn_request_slots{slots="active"} 100',
      'posthorn_request_slots{slots="waiting"} 1000',
      'posthorn_request_slots_used{slots="active"} 25',
      'posthorn_request_slots_used{slots="waiting"} 41',
      "posthorn_oldest_due_seconds 5",
      "posthorn_upkeep_lag_seconds 61",
      "posthorn_disk_free_bytes 1",
      "posthorn_disk_size_bytes 10",
    ]) {
      assert.ok(lines.includes(expected), expected);
    }
    assert.ok(
      lines.some((line) =>
        line.startsWith('webhook_delivery_duration_seconds{quantile="0.95",percentile="p95"} 0.0'),
      ),
    );
    assert.ok(!lines.some((line) => line.includes('"w2"')));
  });

  test("invented names do not grow the number of series without limit", async () => {
    const lines = await linesOf(({ metrics }) => {
      for (let index = 0; index < 5_000; index += 1) {
        metrics.attemptSettled({
          ...accepted,
          eventType: `type.${index}`,
          tenantId: `tenant-${index % 700}`,
        });
        metrics.rateLimited(`webhook-${index}`);
      }
    });
    const series = lines.filter((line) => line.startsWith("webhook_deliveries_total{"));
    assert.ok(series.length <= 1_010, String(series.length));
    const total = series.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    assert.equal(total, 5_000);
    assert.ok(lines.filter((line) => line.startsWith("webhook_rate_limit_hits_total{")).length <= 501);
  });

  test("WDS-5 calls that were refused are counted by the limit they reached", async () => {
    const lines = await linesOf(({ metrics }) => {
      for (const limit of ["key", "tenant", "key"]) metrics.apiCallLimited(limit);
    });
    const counted = lines.filter((line) => line.startsWith("posthorn_api_calls_limited_total{"));
    assert.deepEqual(counted, [
      'posthorn_api_calls_limited_total{scope="key"} 2',
      'posthorn_api_calls_limited_total{scope="tenant"} 1',
    ]);
  });

  test("each alarm is counted under its documented name", async () => {
    const alarms = [
      ...(["delivery_stopped", "store_restarted", "lane_stalled", "local_shortage"] as const),
      "unexpected_error" as const,
    ];
    const lines = await linesOf(({ metrics }) => {
      for (const [index, alarm] of alarms.entries())
        for (let times = 0; times <= index; times += 1) metrics.alarmed(alarm);
    });
    for (const expected of [
      "posthorn_deliveries_stopped_total 1",
      "posthorn_store_restarts_total 2",
      "posthorn_lanes_stalled_total 3",
      "posthorn_requests_postponed_total 4",
      "posthorn_unexpected_errors_total 5",
    ])
      assert.ok(lines.includes(expected), expected);
  });

  test("WDS-209 metrics of workers, queue and shared state exist where the process has them, and show outages", async () => {
    const depth = {
      waiting: [{ pool: "default", priority: "high" as const, hints: 3 }],
      parked: 2,
    };
    const textOf = async (queue: { readonly isConnected: boolean } | null): Promise<string> => {
      const lines = await linesOf(({ observe }) =>
        observe({
          ...idle,
          ...(queue !== null && {
            workers: async () =>
              new Map([
                ["default", 2],
                ["big", 0],
              ]),
            queue: () => ({
              ...queue,
              dropped: 7,
              depth: () => (queue.isConnected ? Promise.resolve(depth) : Promise.reject(new Error("away"))),
            }),
            sharedState: () => ({ isAvailable: queue.isConnected, callsFailed: 5 }),
          }),
        }),
      );
      return lines.filter((line) => /^posthorn_(queue|shared|workers)/.test(line)).join("\n");
    };
    assert.equal(
      await textOf({ isConnected: true }),
      `posthorn_workers{pool="default"} 2
posthorn_workers{pool="big"} 0
posthorn_queue_connected 1
posthorn_queue_hints{pool="default",priority="high"} 3
posthorn_queue_parked 2
posthorn_queue_dropped_total 7
posthorn_shared_state_available 1
posthorn_shared_state_errors_total 5`,
    );
    assert.equal(
      await textOf({ isConnected: false }),
      `posthorn_workers{pool="default"} 2
posthorn_workers{pool="big"} 0
posthorn_queue_connected 0
posthorn_queue_dropped_total 7
posthorn_shared_state_available 0
posthorn_shared_state_errors_total 5`,
    );
    assert.equal(await textOf(null), "");
  });

  test("the lead of the database's clock is exported in seconds, if the database has a separate clock", async () => {
    const offsetOf = async (clockOffsetMs?: () => number): Promise<readonly string[]> => {
      const lines = await linesOf(({ observe }) =>
        observe({
          ...idle,
          ...(clockOffsetMs !== undefined && { clockOffsetMs }),
        }),
      );
      return lines.filter((line) => line.startsWith("posthorn_clock_offset_seconds"));
    };
    assert.deepEqual(await offsetOf(() => -90_500), ["posthorn_clock_offset_seconds -90.5"]);
    assert.deepEqual(await offsetOf(), []);
  });

  test("a store that does not answer does not affect the rest of the scrape", async () => {
    const lines = await linesOf(({ observe }) =>
      observe({
        ...idle,
        depth: () => Promise.reject(new Error("down")),
      }),
    );
    assert.ok(lines.includes("posthorn_webhooks 0"));
  });

  test("label values cannot break out of their quotes", async () => {
    const lines = await linesOf(({ metrics }) =>
      metrics.attemptSettled({ ...accepted, tenantId: 'a"} 1\nevil 2' }),
    );
    assert.ok(!lines.some((line) => line.startsWith("evil")));
  });
});

suite("quantiles", () => {
  test("are within a few percent, and fade after two periods", () => {
    const quantiles = new DurationQuantiles(1_000, 0);
    for (let value = 1; value <= 1_000; value += 1) quantiles.observe(value);
    const shares = [0.5, 0.95, 0.99];
    for (const [index, value] of quantiles.quantiles(shares).entries()) {
      assert.ok(Math.abs(value / ((shares[index] ?? 0) * 1_000) - 1) < 0.01, String(value));
    }
    const median = () => quantiles.quantiles([0.5])[0] ?? 0;
    quantiles.fade(1_000);
    quantiles.observe(1);
    assert.ok(median() > 400, "the last period still counts");
    quantiles.fade(2_000);
    assert.ok(Math.abs(median() - 1) < 0.1);
    quantiles.fade(9_000);
    assert.ok(Number.isNaN(median()));
    assert.equal(quantiles.count, 1_001);
  });

  test("take any number", () => {
    const quantiles = new DurationQuantiles(1_000, 0);
    for (const value of [0, 0.001, 1e12, 90_000]) quantiles.observe(value);
    assert.ok((quantiles.quantiles([0.99])[0] ?? 0) > 90_000);
  });
});

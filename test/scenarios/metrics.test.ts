/** The documented metrics, scraped from a running server with known latencies, outcomes and backlogs. */
import assert from "node:assert/strict";
import { after, afterEach, before, suite, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { itemsOf, textOf } from "./api/client.fixture.ts";
import type { Client } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { patientClient } from "./patient-client.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

suite("metrics of a running server", () => {
  let server: PosthornProcess;
  let receiver: Receiver;
  let api: Client;

  before(async () => {
    [server, receiver] = await Promise.all([
      PosthornProcess.start({ env: { POSTHORN_CONCURRENCY: "20" } }),
      startReceiver(),
    ]);
    api = patientClient({ baseUrl: server.url, key: server.adminKey });
  });
  afterEach(() => receiver.script(() => ({})));
  after(async () => {
    await receiver.close();
    await server.remove();
  });

  const scrape = async (name: string): Promise<readonly Sample[]> => {
    const { text } = await api.get("/metrics");
    return text.split("\n").flatMap((line) => {
      const [, found, labels = "", value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (found !== name) return [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", text_ = ""]) => [key, text_]);
      return [{ labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
    });
  };
  const valueOf = async (name: string, labels: Readonly<Record<string, string>>): Promise<number> => {
    const found = (await scrape(name)).filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return found.reduce((sum, { value }) => sum + value, 0);
  };
  const becomes = (what: string, ask: () => Promise<number>, expected: number) =>
    eventually(`${what} is ${expected}`, { ask, holds: (value) => value === expected });
  const webhook = async (path: string, settings: object): Promise<string> => {
    const made = await api.post("/v1/webhooks", {
      url: receiver.url(path),
      circuit_breaker_config: { enabled: false },
      ...settings,
    });
    assert.equal(made.status, 201, made.text);
    return textOf(made.body["id"]);
  };
  const publish = async (events: readonly object[]): Promise<void> => {
    const made = await api.post("/v1/events/batch", { events });
    assert.equal(made.status, 202, made.text);
  };
  const times = (count: number, event: object): readonly object[] =>
    Array.from({ length: count }, () => ({ data: {}, ...event }));

  test("WDS-228 p50, p95 and p99 match the requests", async () => {
    // Of 100 requests, 80 are fast, 16 are slow and 4 are very slow, so each percentile falls into a separate group.
    const delays: Readonly<Record<string, number>> = { "/slow": 400, "/slowest": 1_500 };
    receiver.script(({ path }) => ({ delayMs: delays[path] ?? 0 }));
    await webhook("/quick", { events: ["timed.quick"] });
    await webhook("/slow", { events: ["timed.slow"] });
    await webhook("/slowest", { events: ["timed.slowest"] });
    await publish([
      ...times(4, { event_type: "timed.slowest" }),
      ...times(16, { event_type: "timed.slow" }),
      ...times(80, { event_type: "timed.quick" }),
    ]);
    const listed = await eventually("every delivery is in the history", {
      ask: async () =>
        itemsOf((await api.get("/v1/deliveries?limit=250&event_type=timed.*&status=success")).body["data"]),
      holds: ({ length }) => length === 100,
    });
    assert.equal(await valueOf("webhook_delivery_duration_seconds_count", {}), 100);
    const samples = await scrape("webhook_delivery_duration_seconds");
    const durations = listed.map((row) => Number(row["last_duration_ms"])).toSorted((a, b) => a - b);
    assert.equal(durations.length, 100);
    for (const [percentile, rank] of [
      ["p50", 50],
      ["p95", 95],
      ["p99", 99],
    ] as const) {
      const sample = samples.find(({ labels }) => labels["percentile"] === percentile);
      const expected = durations[rank - 1] ?? Number.NaN;
      assert.equal(sample?.labels["quantile"], String(rank / 100));
      // The history contains whole milliseconds, and the summary has an error of up to 2.5%.
      const gap = Math.abs(sample.value * 1_000 - expected);
      assert.ok(
        gap <= 1 + expected * 0.05,
        `${percentile}: ${sample.value} s, ${expected} ms in the history`,
      );
    }
    assert.ok((durations[94] ?? 0) >= 400 && (durations[98] ?? 0) >= 1_500, "the groups are apart");
    assert.ok(
      (durations[49] ?? 0) < (durations[94] ?? 0) / 1.5 && (durations[94] ?? 0) < (durations[98] ?? 0) / 1.2,
    );
  });

  test("WDS-227 WDS-229 each attempt is counted by status, type, category, tenant and number", async () => {
    await api.call("PUT", "/v1/tenants/acme", { body: {} });
    const numbers = async (outcome: string, le: string) =>
      valueOf("webhook_retry_attempt_number_bucket", { outcome, le });
    const earlier = {
      first: await numbers("transient", "1"),
      second: await numbers("transient", "2"),
      accepted: await numbers("accepted", "2"),
      acceptedThird: await numbers("accepted", "3"),
      terminal: await numbers("terminal", "1"),
    };
    let requests = 0;
    receiver.script(({ path }) => {
      if (path === "/refuses") return { status: 422 };
      requests += 1;
      return { status: requests < 3 ? 503 : 200 };
    });
    const retried = { retry_config: { schedule_ms: [1, 1, 1] }, tenant_id: "acme" };
    await webhook("/third", { ...retried, events: ["counted.third"] });
    await webhook("/refuses", { ...retried, events: ["counted.refused"] });
    await publish([
      ...times(1, { event_type: "counted.third", tenant_id: "acme" }),
      ...times(2, { event_type: "counted.refused", tenant_id: "acme" }),
    ]);
    const deliveries = (labels: Readonly<Record<string, string>>) =>
      valueOf("webhook_deliveries_total", { tenant_id: "acme", ...labels });
    const third = { event_type: "counted.third" };
    await becomes("success", () => deliveries({ ...third, status: "success" }), 1);
    assert.equal(await deliveries({ ...third, status: "success", failure_category: "none" }), 1);
    assert.equal(await deliveries({ ...third, status: "failed", failure_category: "server_error" }), 2);
    const refused = { event_type: "counted.refused", failure_category: "client_error" };
    await becomes("exhausted", () => deliveries({ ...refused, status: "exhausted" }), 2);
    assert.equal(await deliveries({}), 5);
    assert.equal(await valueOf("webhook_deliveries_total", { ...third, tenant_id: "default" }), 0);
    assert.equal((await numbers("transient", "1")) - earlier.first, 1);
    assert.equal((await numbers("transient", "2")) - earlier.second, 2);
    assert.equal((await numbers("accepted", "2")) - earlier.accepted, 0);
    assert.equal((await numbers("accepted", "3")) - earlier.acceptedThird, 1);
    assert.equal((await numbers("terminal", "1")) - earlier.terminal, 2);
  });

  test("WDS-230 WDS-233 the depth of each priority, and the dead letters of each tenant", async () => {
    await api.call("PUT", "/v1/tenants/elm", { body: {} });
    const paused = await webhook("/paused", { events: ["waits.*"] });
    assert.equal((await api.post(`/v1/webhooks/${paused}/pause`, {})).status, 200);
    await publish([
      ...times(1, { event_type: "waits.high", priority: "high" }),
      ...times(2, { event_type: "waits.normal" }),
      ...times(4, { event_type: "waits.low", priority: "low" }),
    ]);
    const depth = async () =>
      Object.fromEntries(
        (await scrape("webhook_queue_depth")).map(({ labels, value }) => [labels["priority"], value]),
      );
    assert.deepEqual(await depth(), { high: 1, normal: 2, low: 4 });
    receiver.script(({ path }) => ({ status: path === "/dead" ? 422 : 200 }));
    await webhook("/dead", { events: ["dead.made"], tenant_id: "elm" });
    await publish(times(3, { event_type: "dead.made", tenant_id: "elm" }));
    await becomes("dead letters", () => valueOf("webhook_dlq_size", { tenant_id: "elm" }), 3);
    assert.equal((await api.post(`/v1/webhooks/${paused}/resume`, {})).status, 200);
    await eventually("nothing waits", {
      ask: depth,
      holds: (waiting) => Object.values(waiting).every((count) => count === 0),
    });
  });

  test("WDS-231 WDS-232 a circuit that is not closed has its state, and its transitions are counted", async () => {
    const id = await webhook("/circuit", {
      events: ["circuit.made"],
      circuit_breaker_config: { enabled: true },
    });
    const other = await webhook("/closed", {
      events: ["closed.made"],
      circuit_breaker_config: { enabled: true },
    });
    const moves = (from_state: string, to_state: string) =>
      valueOf("webhook_circuit_breaker_transitions_total", { from_state, to_state });
    const [opened, closed] = [await moves("closed", "open"), await moves("open", "closed")];
    const change = async (action: string) => {
      const changed = await api.call("PATCH", `/v1/webhooks/${id}/circuit-breaker`, { body: { action } });
      assert.equal(changed.status, 200, changed.text);
    };
    const states = async () =>
      (await scrape("webhook_circuit_breaker_state")).map(({ labels, value }) => [labels, value]);
    await change("force_open");
    assert.deepEqual(await states(), [[{ webhook_id: id, state: "open" }, 1]]);
    assert.equal((await moves("closed", "open")) - opened, 1);
    await change("reset");
    assert.deepEqual(await states(), [], `closed ones, such as ${other}, are left out`);
    assert.equal((await moves("open", "closed")) - closed, 1);
  });

  test("WDS-234 a delivery delayed by a rate limit is counted for its webhook", async () => {
    const limited = await webhook("/limited", {
      events: ["limited.made"],
      rate_limit: { requests_per_minute: 1, burst: 1 },
    });
    const free = await webhook("/free", { events: ["limited.made"] });
    const hits = (webhook_id: string) => valueOf("webhook_rate_limit_hits_total", { webhook_id });
    assert.equal(await hits(limited), 0);
    await publish(times(2, { event_type: "limited.made" }));
    await eventually("the second one is held back", {
      ask: () => hits(limited),
      holds: (count) => count > 0,
    });
    assert.equal(await hits(free), 0);
    await api.call("DELETE", `/v1/webhooks/${limited}`);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertProblem, fieldsOf, textOf } from "./client.fixture.ts";
import type { Client, Json } from "./client.fixture.ts";

const minimal = { url: "https://example.com/hooks", events: ["order.*"] };

export function webhooksSuite(client: () => Client): void {
  const create = async (more: object = {}): Promise<Json> => {
    const reply = await client().post("/v1/webhooks", { ...minimal, ...more });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };

  test("TS16-77 WDS-44 WDS-4 WDS-101 a webhook is created with its secret and shown without it", async () => {
    const reply = await client().post("/v1/webhooks", minimal);
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.headers.get("location"), `/v1/webhooks/${textOf(reply.body["id"])}`);
    assert.equal(reply.headers.get("cache-control"), "no-store");
    const secret = textOf(reply.body["secret"]);
    assert.match(secret, /^whsec_[A-Za-z0-9+/=]{32,}$/);
    const shown = await client().get(`/v1/webhooks/${textOf(reply.body["id"])}`);
    assert.ok(!shown.text.includes(secret.slice(6, -4)), "the secret must not be shown again");
    const listed = await client().get("/v1/webhooks?limit=250");
    assert.ok(!listed.text.includes(secret.slice(6, -4)));
    const again = await client().get(`/v1/webhooks/${textOf(reply.body["id"])}/secret`);
    assert.equal(again.body["secret"], secret);
    assert.equal(again.body["previous"], null);
    assert.equal(again.headers.get("cache-control"), "no-store");
  });

  test("TS16-113 WDS-46 WDS-47 WDS-48 WDS-49 WDS-50 WDS-51 WDS-54 WDS-59 WDS-60 WDS-61 WDS-62 all settings in force are shown", async () => {
    const webhook = await create({
      owner_id: "owner 1",
      description: "for tests",
      signing: { schemes: ["v1"] },
      retry_config: {
        max_attempts: 4,
        base_delay_ms: 1_000,
        max_delay_ms: 60_000,
        backoff_multiplier: 3,
        timeout_ms: 5_000,
        timeout_growth_factor: 2,
        max_age_ms: 3_600_000,
      },
      circuit_breaker_config: { minimum_throughput: 3 },
      rate_limit: { requests_per_minute: 100, burst: 20 },
      ordering_guarantee: "strict",
      headers: { "X-Custom-Header": "value" },
      bearer_token: "token-4711",
      metadata: { a: { b: [1] } },
    });
    assert.equal(webhook["owner_id"], "owner 1");
    assert.deepEqual(webhook["signing"], { schemes: ["v1"] });
    assert.deepEqual(webhook["retry_config"], {
      max_attempts: 4,
      base_delay_ms: 1_000,
      max_delay_ms: 60_000,
      backoff_multiplier: 3,
      timeout_ms: 5_000,
      timeout_growth_factor: 2,
      schedule_ms: null,
      max_age_ms: 3_600_000,
    });
    assert.equal(webhook["circuit_breaker_config"]?.["minimum_throughput"], 3);
    assert.equal(webhook["circuit_breaker_config"]?.["window_size_ms"], 60_000);
    assert.equal(webhook["circuit_breaker_config"]?.["force_open_until"], null);
    assert.deepEqual(webhook["rate_limit"], { requests_per_minute: 100, burst: 20 });
    assert.equal(webhook["ordering_guarantee"], "strict");
    assert.deepEqual(webhook["headers"], { "X-Custom-Header": "value" });
    assert.equal(webhook["has_bearer_token"], true);
    assert.ok(!JSON.stringify(webhook).includes("token-4711"));
    assert.deepEqual(webhook["metadata"], { a: { b: [1] } });
    assert.equal(webhook["verification"]?.["method"], "none");
    assert.equal(webhook["payload_format"], "standard");
    assert.match(textOf(webhook["created_at"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("TS16-108 a custom schedule replaces the exponential one", async () => {
    const webhook = await create({ retry_config: { schedule_ms: [1_000, 2_000] }, timeout_ms: 7_000 });
    assert.equal(webhook["retry_config"]?.["max_attempts"], 3);
    assert.deepEqual(webhook["retry_config"]?.["schedule_ms"], [1_000, 2_000]);
    assert.equal(webhook["retry_config"]?.["base_delay_ms"], null);
    assert.equal(webhook["timeout_ms"], 7_000);
    assert.equal(webhook["retry_config"]?.["timeout_ms"], 7_000);
  });

  for (const method of ["PUT", "PATCH"]) {
    test(`WDS-4 WDS-106 ${method} keeps omitted fields`, async () => {
      const { secret: _, ...webhook } = await create({ description: "before", metadata: { a: 1 } });
      const reply = await client().call(method, `/v1/webhooks/${textOf(webhook["id"])}`, {
        body: { description: "after", active: false },
      });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body["description"], "after");
      assert.equal(reply.body["active"], false);
      assert.equal(reply.body["status"], "disabled");
      assert.deepEqual(reply.body["metadata"], { a: 1 });
      assert.equal(reply.body["url"], webhook["url"]);
    });
  }

  test("WDS-45 WDS-4 WDS-104 WDS-108 enable, disable, delete", async () => {
    const id = textOf((await create())["id"]);
    assert.equal((await client().post(`/v1/webhooks/${id}/disable`)).body["status"], "disabled");
    assert.equal((await client().post(`/v1/webhooks/${id}/enable`, {})).body["status"], "active");
    const gone = await client().call("DELETE", `/v1/webhooks/${id}`);
    assert.equal(gone.status, 204);
    assert.equal(gone.text, "");
    assert.equal(gone.headers.get("content-length"), null);
    assertProblem(await client().get(`/v1/webhooks/${id}`), { status: 404, code: "not_found" });
    assertProblem(await client().call("DELETE", `/v1/webhooks/${id}`), { status: 404, code: "not_found" });
  });

  test("WDS-89 WDS-90 WDS-105 WDS-134 health shows circuit, statistics and errors", async () => {
    const id = textOf((await create())["id"]);
    const { body } = await client().get(`/v1/webhooks/${id}/health`);
    const circuit = body["circuit_breaker"];
    const times = ["window_start", "state_transition_at"].map((name) => textOf(circuit?.[name]));
    for (const time of times) assert.ok(!Number.isNaN(Date.parse(time)), time);
    assert.deepEqual(circuit, {
      webhook_id: id,
      state: "closed",
      failure_count_in_window: 0,
      success_count_in_window: 0,
      total_calls_in_window: 0,
      error_percentage: 0,
      window_start: times[0],
      state_transition_at: times[1],
      next_half_open_at: null,
      half_open_attempts: 0,
      half_open_successes: 0,
      forced_open_until: null,
      forced_closed_until: null,
    });
    assert.equal(typeof body["stats"]?.["total"], "number");
    assert.equal(typeof body["error_distribution"], "object");
  });

  test("WDS-58 WDS-107 a circuit is forced open, shown with the webhook, and reset", async () => {
    const id = textOf((await create())["id"]);
    const change = (body: object) => client().call("PATCH", `/v1/webhooks/${id}/circuit-breaker`, { body });
    const opened = await change({ action: "force_open", duration_seconds: 60 });
    assert.equal(opened.status, 200, opened.text);
    assert.equal(opened.body["state"], "open");
    const webhook = (await client().get(`/v1/webhooks/${id}`)).body;
    assert.notEqual(webhook["circuit_breaker_config"]?.["force_open_until"], null);
    assert.equal((await change({ action: "reset" })).body["state"], "closed");
    assertProblem(await change({ action: "explode" }), { status: 400, code: "invalid_request" });
    assertProblem(await change({ action: "force_open", duration_seconds: 1e9 }), {
      status: 400,
      code: "invalid_request",
    });
  });

  test("TS16-76 TS16-77 a rotation overlaps, and the next must wait or be forced", async () => {
    const webhook = await create();
    const rotate = (body: object) =>
      client().post(`/v1/webhooks/${textOf(webhook["id"])}/secret/rotate`, body);
    const first = await rotate({});
    assert.equal(first.status, 200, first.text);
    assert.notEqual(first.body["secret"], webhook["secret"]);
    assert.equal(first.body["previous"]?.["secret"], webhook["secret"]);
    assertProblem(await rotate({}), { status: 409, code: "rotation_in_progress" });
    const revoked = await rotate({ mode: "revoke", force: true });
    assert.equal(revoked.status, 200, revoked.text);
    assert.equal(revoked.body["previous"], null);
  });

  test("the public key, a test event, and a recovery that only counts", async () => {
    const id = textOf((await create())["id"]);
    assert.match(textOf((await client().get(`/v1/webhooks/${id}/public-key`)).body["public_key"]), /^whpk_/);
    const tested = await client().post(`/v1/webhooks/${id}/test`);
    assert.equal(tested.status, 202, tested.text);
    assert.equal(typeof tested.body["delivery_id"], "string");
    const counted = await client().post(`/v1/webhooks/${id}/recover`, { since: "2026-01-01", dry_run: true });
    assert.equal(counted.status, 202, counted.text);
    assert.equal(counted.body["batch_operation_id"], null);
    assert.equal(typeof counted.body["count"], "number");
  });

  test("contradictions are rejected by name", async () => {
    const reply = await client().post("/v1/webhooks", {
      ...minimal,
      timeout_ms: 1_000,
      retry_config: { timeout_ms: 2_000, schedule_ms: [1_000], max_attempts: 3 },
    });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.deepEqual(fieldsOf(reply), ["timeout_ms", "retry_config.max_attempts"]);
  });
}

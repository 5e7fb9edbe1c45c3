/** A waiting delivery shows what it waits for and until when, and is sent when the wait ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reaction } from "../peers/receiver.ts";
import { itemsOf, textOf } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { servedScene } from "./served-scene.fixture.ts";
import { fieldOf } from "./tenant-scene.fixture.ts";
import type { TenantScene } from "./tenant-scene.fixture.ts";

const sceneOfTest = servedScene();

test("WDS-32 WDS-65 WDS-146 WDS-150 WDS-235 ten failures open the circuit; later deliveries are circuit_blocked until a reset", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  receiver.script(() => ({ status: 500 }));
  // Neither a probe nor a retry is due during the checks, even on a busy machine.
  const id = await scene.addWebhook({
    retry_config: { schedule_ms: [3_600_000] },
    circuit_breaker_config: { sleep_window_ms: 3_600_000 },
  });
  for (let n = 0; n < 10; n += 1) await scene.publish({ event_type: `order.n${n}` });
  await receiver.waitForRequests(10);
  await eventually("the circuit opens", {
    ask: () => circuitOf(scene, id),
    holds: (state) => state === "open",
  });
  const held = await scene.publish({ event_type: "order.held" });
  const delivery = await scene.deliveryOf(held);
  assert.equal(delivery["status"], "circuit_blocked");
  assert.equal(delivery["waiting_for"], "circuit_open");
  assert.ok(Date.parse(textOf(delivery["waiting_until"])) > Date.now());
  const blocked = itemsOf(
    (await api.get(`/v1/webhooks/${id}/deliveries?status=circuit_blocked`)).body["data"],
  );
  assert.ok(blocked.some((row) => row["id"] === delivery["id"]));
  const metrics = (await api.get("/metrics")).text;
  assert.match(
    metrics,
    /^webhook_circuit_breaker_transitions_total\{.*from_state="closed".*to_state="open".*\} 1$/m,
  );
  assert.match(metrics, /^webhook_worker_pool_utilization\{.*pool_id="default".*\} 0$/m);
  assert.equal(receiver.requestCount, 10);
  receiver.script(() => ({}));
  const lastSuccess = async () => (await api.get(`/v1/webhooks/${id}`)).body["last_success_at"] as unknown;
  assert.equal(await lastSuccess(), null);
  await scene.change(`${id}/circuit-breaker`, { action: "reset" });
  const delivered = await scene.reaches(held, "success");
  assert.equal(await lastSuccess(), delivered["completed_at"]);
});

test("WDS-150 WDS-235 deliveries behind the probe of a half-open circuit wait for the circuit", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  // The probe stays in flight during the checks.
  receiver.script(({ path }) => (path === "/hangs" ? "hang" : {}));
  const id = await scene.addWebhook({
    url: receiver.url("/hangs"),
    timeout_ms: 60_000,
    circuit_breaker_config: { half_open_max_calls: 1 },
  });
  await scene.change(`${id}/circuit-breaker`, { action: "force_open" });
  const events = await scene.publishNumbered(4);
  await scene.change(`${id}/circuit-breaker`, { action: "force_open", duration_seconds: 1 });
  await receiver.waitForRequests(1);
  const waiting = async () => {
    const deliveries = await Promise.all(events.map((event) => scene.deliveryOf(event)));
    return deliveries.filter((delivery) => (delivery["waiting_for"] as unknown) !== "in_flight");
  };
  const held = await waiting();
  assert.equal(held.length, 3);
  for (const delivery of held) {
    assert.equal(delivery["waiting_for"], "circuit_open");
    assert.equal(delivery["status"], "circuit_blocked");
    assert.equal(delivery["waiting_until"], null);
    assert.equal(delivery["next_attempt_at"], null);
  }
  const [first] = held;
  const { body } = await api.get(`/v1/deliveries/${textOf(first?.["id"])}`);
  assert.match(textOf(itemsOf(body["gates"])[0]?.["cause"]), /half open/);
  assert.match((await api.get("/metrics")).text, /^posthorn_oldest_due_seconds 0$/m);
});

test("WDS-150 WDS-182 a delivery held by a circuit shows that in its history, from when it was due until it was sent", async () => {
  const scene = sceneOfTest();
  const id = await scene.addWebhook();
  await scene.change(`${id}/circuit-breaker`, { action: "force_open" });
  const event = await scene.publish();
  const held = await scene.deliveryOf(event);
  const waitsOf = async () =>
    itemsOf((await scene.api.get(`/v1/deliveries/${textOf(held["id"])}`)).body["waits"]);
  const [first] = await eventually("it says so also while it waits", {
    ask: waitsOf,
    holds: ({ length }) => length > 0,
  });
  assert.equal(first?.["reason"], "circuit_open");
  const [waiting] = await eventually("the wait grows as long as it lasts", {
    ask: waitsOf,
    holds: ([wait]) => Date.parse(textOf(wait?.["until"])) > Date.parse(textOf(first["until"])),
  });
  // From now on, the delay ends on its own, even if the test observes this late.
  await scene.change(`${id}/circuit-breaker`, { action: "force_open", duration_seconds: 1 });
  await scene.reaches(event, "success");
  const { body } = await scene.api.get(`/v1/deliveries/${textOf(held["id"])}`);
  const [wait, ...others] = itemsOf(body["waits"]);
  assert.deepEqual([wait?.["reason"], others.length, body["attempt_count"]], ["circuit_open", 0, 1]);
  const [attempt] = itemsOf(body["attempts"]);
  const [from, until] = [wait?.["from"], wait?.["until"]].map((at) => Date.parse(textOf(at)));
  assert.ok(from !== undefined && until !== undefined);
  assert.equal(wait?.["from"], waiting?.["from"]);
  assert.ok(until >= Date.parse(textOf(waiting?.["until"])), "as long as it was seen to wait");
  assert.ok(from >= Date.parse(textOf(held["created_at"])));
  assert.ok(until <= Date.parse(textOf(attempt?.["executed_at"])));
});

test("an automatic pause names its cause", async () => {
  const scene = sceneOfTest();
  const causes: readonly (readonly [answer: Reaction, waitingFor: string])[] = [
    [{ status: 429 }, "rate_limit_pause"],
    [{ status: 408 }, "timeout_pause"],
    [{ status: 502 }, "throttle_pause"],
    ["reset", "failure_pause"],
  ];
  for (const [index, [answer, waitingFor]] of causes.entries()) {
    const types = `cause${index}.*`;
    scene.receiver.script(() => answer);
    await scene.addWebhook({
      profile: "ts-16a",
      events: [types],
      circuit_breaker_config: { enabled: false },
    });
    await scene.reaches(await scene.publish({ event_type: `cause${index}.first` }), "failed");
    // On a busy machine, events may be published only after the pause has ended. They get the same response, which
    // starts the next pause.
    await eventually(`what comes next waits for ${waitingFor}`, {
      ask: async () => scene.deliveryOf(await scene.publish({ event_type: `cause${index}.next` })),
      holds: (next) => (next["waiting_for"] as unknown) === waitingFor,
    });
  }
});

test("EDS-9.5-2 a delivery delayed by its own Retry-After says so; an invalid value is kept and has no effect", async () => {
  const scene = sceneOfTest();
  const answers = ["3600", "next Tuesday", "1"];
  scene.receiver.script((_, index) => ({
    status: 500,
    headers: { "Retry-After": answers[index] ?? "" },
  }));
  await scene.addWebhook({ retry_config: { schedule_ms: [60_000] } });
  const expected = [
    ["retry_after", "lower_bound"],
    ["schedule", "unparsable"],
    ["schedule", "none"],
  ];
  for (const [index, [waitingFor, effect]] of expected.entries()) {
    const delivery = await scene.reaches(await scene.publish({ event_type: `order.n${index}` }), "failed");
    assert.equal(delivery["waiting_for"], waitingFor);
    const { body } = await scene.api.get(`/v1/deliveries/${textOf(delivery["id"])}`);
    const [attempt] = itemsOf(body["attempts"]);
    assert.deepEqual(attempt?.["retry_after"], { value: answers[index], effect });
  }
});

test("force_open holds and force_close releases, whatever the receiver responds", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  const id = await scene.addWebhook();
  await scene.change(`${id}/circuit-breaker`, { action: "force_open" });
  const held = await scene.publish({ event_type: "order.held" });
  assert.equal((await scene.deliveryOf(held))["waiting_for"], "circuit_open");
  assert.equal(receiver.requestCount, 0);
  await scene.change(`${id}/circuit-breaker`, { action: "force_close" });
  await scene.reaches(held, "success");
  receiver.script(() => ({ status: 500 }));
  for (let n = 0; n < 12; n += 1) await scene.publish({ event_type: `order.n${n}` });
  await receiver.waitForRequests(13);
  assert.equal(await circuitOf(scene, id), "closed");
});

test("WDS-59 WDS-60 WDS-184 beyond the rate limit a delivery waits for rate_limit, without using an attempt", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  const id = await scene.addWebhook({ rate_limit: { requests_per_minute: 1, burst: 2 } });
  const events = [];
  for (let n = 0; n < 3; n += 1) events.push(await scene.publish({ event_type: `order.n${n}` }));
  await receiver.waitForRequests(2);
  const last = await scene.deliveryOf(events[2] ?? "");
  assert.equal(last["status"], "pending");
  assert.equal(last["waiting_for"], "rate_limit");
  assert.ok(Date.parse(textOf(last["waiting_until"])) <= Date.now() + 60_000);
  const [gate, ...others] = itemsOf((await api.get(`/v1/webhooks/${id}/health`)).body["gates"]);
  assert.deepEqual(
    [gate?.["gate"], gate?.["cause"]],
    ["rate_limit", "The rate limit of the webhook is used up."],
  );
  assert.deepEqual(others, []);
  await scene.change(id, { rate_limit: { requests_per_minute: 6_000, burst: 2 } });
  const attempts = await scene.attemptsAt(events[2] ?? "", "success");
  assert.deepEqual(fieldOf(attempts, "attempt_number"), [1]);
  const { body } = await api.get(`/v1/deliveries/${textOf(last["id"])}`);
  for (const wait of itemsOf(body["waits"])) assert.equal(wait["reason"], "rate_limit");
  assert.match((await api.get("/metrics")).text, /^webhook_rate_limit_hits_total\{.*\} [1-9]/m);
});

test("in strict order the next delivery waits for order while the first is retried", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  let isMended = false;
  receiver.script(() => ({ status: isMended ? 200 : 500 }));
  const id = await scene.addWebhook({
    ordering_guarantee: "strict",
    circuit_breaker_config: { enabled: false },
    retry_config: { schedule_ms: Array(45).fill(2_000) },
  });
  const first = await scene.publish({ event_type: "order.first" });
  await receiver.waitForRequests(1);
  const second = await scene.publish({ event_type: "order.second" });
  const waiting = await eventually("the first waits for its retry", {
    ask: () => scene.deliveryOf(first),
    holds: (delivery) => (delivery["status"] as unknown) === "failed",
  });
  assert.equal(waiting["waiting_for"], "schedule");
  const next = await scene.deliveryOf(second);
  assert.equal(next["waiting_for"], "order");
  const { body: health } = await scene.api.get(`/v1/webhooks/${id}/health`);
  assert.deepEqual(fieldOf(itemsOf(health["gates"]), "gate"), ["order"]);
  isMended = true;
  await scene.reaches(second, "success");
  const sent = receiver.requests.map(({ text }) => (text.includes("order.first") ? "first" : "second"));
  assert.deepEqual([sent.indexOf("second"), sent.length >= 3], [sent.length - 1, true], sent.join());
});

test("Retry-After as a date closes the endpoint until then", async () => {
  const scene = sceneOfTest();
  const { receiver } = scene;
  const until = new Date(Date.now() + 3_600_000);
  receiver.script(() => ({ status: 503, headers: { "Retry-After": until.toUTCString() } }));
  await scene.addWebhook();
  const event = await scene.publish({ event_type: "order.busy" });
  await eventually("the attempt is recorded", {
    ask: () => scene.deliveryOf(event),
    holds: (row) => (row["status"] as unknown) === "failed",
  });
  const delivery = await scene.deliveryOf(await scene.publish({ event_type: "order.next" }));
  assert.equal(delivery["waiting_for"], "retry_after", JSON.stringify(delivery));
  assert.equal(receiver.requestCount, 1);
  const waitsUntil = Date.parse(textOf(delivery["waiting_until"]));
  assert.ok(waitsUntil >= until.getTime() - 1_000, JSON.stringify(delivery));
  assert.ok(waitsUntil <= until.getTime() + 600_000, JSON.stringify(delivery));
});

test("a test event takes the whole path to one webhook only", async () => {
  const scene = sceneOfTest();
  const { api, receiver } = scene;
  const id = await scene.addWebhook();
  await scene.addWebhook();
  const sent = (await api.post(`/v1/webhooks/${id}/test`)).body;
  await receiver.waitForRequests(1);
  await scene.reaches(textOf(sent["event_id"]), "success");
  assert.equal((await scene.deliveryOf(textOf(sent["event_id"])))["origin"], "test");
  assert.equal(receiver.requestCount, 1);
});

async function circuitOf(scene: TenantScene, id: string): Promise<unknown> {
  return (await scene.health(id))["circuit_breaker"]?.["state"];
}

/** Endpoints that fail too often receive nothing for a while, and then a few probes. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { Answer } from "../../peers/receiver.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

/** The circuit opens at the fourth failure. Retries are due only after the checks of a scenario. */
const brittle = {
  circuit_breaker_config: { minimum_throughput: 4, sleep_window_ms: 60_000, half_open_max_calls: 2 },
  retry_config: { schedule_ms: [60_000] },
};

export const circuitBreaker: Scenarios = {
  "WDS-181 WDS-183 WDS-12 WDS-16 WDS-137 failures open the circuit; later deliveries wait for it, until a reset":
    async (scene) => {
      const { receiver } = scene;
      const webhook = await withOpenCircuit(scene);
      const { circuit_breaker: circuit } = await scene.health(webhook);
      assert.ok(Date.parse(textOf(circuit?.["next_half_open_at"])) > Date.now());
      const held = await scene.publish();
      const delivery = await scene.reaches(held, "circuit_blocked");
      assert.equal(delivery["waiting_for"], "circuit_open");
      assert.equal(delivery["waiting_until"], circuit?.["next_half_open_at"]);
      const blocked = await scene.list(`/v1/webhooks/${webhook}/deliveries?status=circuit_blocked`);
      assert.deepEqual(fieldOf(blocked, "event_id"), [held]);
      assert.equal(receiver.requestCount, 4);
      receiver.script(() => ({}));
      await command(scene, webhook, { action: "reset" });
      await scene.reaches(held, "success");
      assert.equal((await scene.health(webhook))["circuit_breaker"]?.["state"], "closed");
    },

  "WDS-105 a webhook has the same health state everywhere, whichever process owns it": async (scene) => {
    const { api, receiver } = scene;
    const webhook = await scene.addWebhook({
      circuit_breaker_config: { enabled: false },
      retry_config: { schedule_ms: [3_600_000] },
    });
    const quiet = await scene.addWebhook({ events: ["quiet.made"] });
    const becomes = async (expected: string, id = webhook): Promise<void> => {
      await eventually(`${id} is ${expected}`, {
        ask: async () => (await api.get(`/v1/webhooks/${id}`)).body["health"],
        holds: (health) => (health as unknown) === expected,
      });
      assert.equal((await scene.health(id))["health"], expected);
      const listed = await scene.list("/v1/webhooks");
      assert.equal(listed.find((row) => (row["id"] as unknown) === id)?.["health"], expected);
      const filtered = await scene.list(`/v1/webhooks?health=${expected}`);
      assert.ok(
        filtered.some((row) => (row["id"] as unknown) === id),
        expected,
      );
      const others = await scene.list(
        `/v1/webhooks?health=${expected === "failing" ? "healthy" : "failing"}`,
      );
      assert.ok(!others.some((row) => (row["id"] as unknown) === id));
    };
    await becomes("healthy", quiet);
    await becomes("healthy");
    receiver.script(() => ({ status: 500 }));
    const [failed] = await scene.publishNumbered(3);
    await receiver.waitForRequests(3);
    await becomes("failing");
    await becomes("healthy", quiet);
    const [row] = await scene.list(`/v1/deliveries?event_id=${failed}&include=webhook`);
    assert.equal(row?.["webhook"]?.["health"], "failing");
    receiver.script(() => ({}));
    await scene.publishNumbered(4);
    await receiver.waitForRequests(7);
    await becomes("healthy");
    await api.post(`/v1/webhooks/${webhook}/pause`, {});
    await becomes("paused");
    await api.post(`/v1/webhooks/${webhook}/disable`, {});
    await becomes("disabled");
    const brittleOne = await withOpenCircuit(scene);
    await becomes("circuit_open", brittleOne);
    receiver.script(() => ({ status: 410 }));
    const gone = await scene.addWebhook({ events: ["gone.made"] });
    await scene.publish({ event_type: "gone.made" });
    await becomes("suspended", gone);
  },

  "WDS-91 WDS-92 WDS-93 WDS-94 the health of a webhook has the counts of its circuit": async (scene) => {
    const webhook = await withOpenCircuit(scene);
    await countsReach(scene, { webhook, counts: [4, 0, 4, 100] });
  },

  "WDS-191 WDS-192 WDS-193 WDS-16 WDS-19 WDS-149 each outcome is counted by the circuit, and recorded in the history":
    async (scene) => {
      const statuses = [200, 500, 400, 200];
      scene.receiver.script((_, index) => ({ status: statuses[index] ?? 200 }));
      // The profile that also counts payload errors as failures.
      const webhook = await scene.addWebhook({
        profile: "x-webhook",
        retry_config: { schedule_ms: [60_000] },
      });
      const ends = ["success", "failed", "exhausted", "success"];
      const told: unknown[] = [];
      const published: string[] = [];
      for (const end of ends) {
        const event = await scene.publish();
        published.push(event);
        const [attempt, ...more] = await scene.attemptsAt(event, end);
        assert.deepEqual(more, []);
        told.push([attempt?.["status"], attempt?.["failure_category"], attempt?.["next_retry_at"] !== null]);
      }
      assert.deepEqual(told, [
        ["success", null, false],
        ["failed", "server_error", true],
        ["exhausted", "client_error", false],
        ["success", null, false],
      ]);
      const dead = await scene.list(`/v1/dlq?webhook_id=${webhook}`);
      assert.deepEqual(fieldOf(dead, "event_id"), published.slice(2, 3));
      assert.deepEqual(fieldOf(dead, "reason"), ["permanent_client_error_400"]);
      await countsReach(scene, { webhook, counts: [2, 2, 4, 50] });
    },

  "WDS-24 the circuit of one webhook does not affect others": async (scene) => {
    await withOpenCircuit(scene);
    const held = await scene.publish();
    scene.receiver.script(() => ({}));
    await scene.addWebhook({ url: scene.receiver.url("/healthy"), events: ["invoice.*"] });
    await scene.reaches(await scene.publish({ event_type: "invoice.sent" }), "success");
    await scene.reaches(held, "circuit_blocked");
  },

  "WDS-26 WDS-139 WDS-140 WDS-145 WDS-151 after its sleep window the circuit sends a few probes; if they succeed it closes and the backlog follows":
    async (scene) => {
      const { receiver } = scene;
      const webhook = await withOpenCircuit(scene, { sleep_window_ms: 1_500 });
      const answers = Promise.withResolvers<Answer>();
      receiver.script(() => answers.promise);
      const held = await scene.publishNumbered(8);
      await receiver.waitForRequests(4 + 2);
      // Both probes are in flight. A third one would be sent within this time.
      const { circuit_breaker: circuit } = await scene.health(webhook);
      assert.equal(circuit?.["state"], "half_open", JSON.stringify(circuit));
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(receiver.requestCount, 4 + 2);
      answers.resolve({});
      for (const event of held) await scene.reaches(event, "success");
      await stateOf(scene, webhook, "closed");
    },

  "WDS-152 attempt numbers continue after an open circuit, which uses none": async (scene) => {
    const { receiver } = scene;
    receiver.script((_, index) => (index === 0 ? { status: 500 } : {}));
    await scene.addWebhook({
      circuit_breaker_config: { minimum_throughput: 1, sleep_window_ms: 1_500 },
      retry_config: { schedule_ms: [10] },
    });
    const event = await scene.publish();
    // An open circuit must not use up retries. The delivery has only one, so it would otherwise be exhausted.
    assert.deepEqual(fieldOf(await scene.attemptsAt(event, "success"), "attempt_number"), [1, 2]);
    const { id } = await scene.deliveryOf(event);
    const { body } = await scene.api.get(`/v1/deliveries/${textOf(id)}`);
    assert.deepEqual(fieldOf(itemsOf(body["waits"]), "reason"), ["circuit_open"]);
    const [first, second] = receiver.requests;
    assert.ok(
      Number(second?.arrivedAtMs) - Number(first?.arrivedAtMs) >= 1_400,
      "not before its sleep is over",
    );
  },

  "WDS-26 WDS-141 failed probes open the circuit again": async (scene) => {
    const { receiver } = scene;
    const webhook = await withOpenCircuit(scene, { sleep_window_ms: 1_500 });
    const opened = textOf((await scene.health(webhook))["circuit_breaker"]?.["state_transition_at"]);
    await scene.publishNumbered(8);
    await receiver.waitForRequests(4 + 2);
    const again = await eventually("it is open again", {
      ask: async () => (await scene.health(webhook))["circuit_breaker"],
      holds: (circuit) =>
        (circuit?.["state"] as unknown) === "open" &&
        Date.parse(textOf(circuit?.["state_transition_at"])) > Date.parse(opened),
    });
    const [openedAgain, probesAt] = [again?.["state_transition_at"], again?.["next_half_open_at"]];
    assert.equal(Date.parse(textOf(probesAt)) - Date.parse(textOf(openedAgain)), 1_500);
    const [last, next] = receiver.requests.slice(4 + 1);
    const restedMs = (next?.arrivedAtMs ?? Infinity) - Number(last?.arrivedAtMs);
    assert.ok(restedMs >= 1_400, `the next probe came after ${restedMs} ms`);
  },

  "WDS-107 WDS-142 a circuit forced open holds deliveries, one forced closed sends failing ones": async (
    scene,
  ) => {
    const { receiver } = scene;
    const webhook = await scene.addWebhook(brittle);
    const opened = await command(scene, webhook, { action: "force_open", duration_seconds: 60 });
    assert.equal(opened["state"], "open");
    assert.ok(Date.parse(textOf(opened["forced_open_until"])) > Date.now());
    const held = await scene.publish();
    assert.equal((await scene.reaches(held, "circuit_blocked"))["waiting_for"], "circuit_open");
    assert.equal(receiver.requestCount, 0);
    await command(scene, webhook, { action: "force_close", duration_seconds: 60 });
    await scene.reaches(held, "success");
    receiver.script(() => ({ status: 500 }));
    await scene.publishNumbered(12);
    await receiver.waitForRequests(13);
    const { circuit_breaker: circuit } = await scene.health(webhook);
    assert.equal(circuit?.["state"], "closed", JSON.stringify(circuit));
    assert.ok(Date.parse(textOf(circuit?.["forced_closed_until"])) > Date.now());
  },
};

/**
 * Creates a webhook whose receiver fails four times, so that its circuit opens. With a short sleep window, the open
 * state may have ended before a test observes it.
 */
async function withOpenCircuit(scene: TenantScene, config: object = {}): Promise<string> {
  scene.receiver.script(() => ({ status: 500 }));
  const webhook = await scene.addWebhook({
    ...brittle,
    circuit_breaker_config: { ...brittle.circuit_breaker_config, ...config },
  });
  await scene.publishNumbered(4);
  await scene.receiver.waitForRequests(4);
  await eventually("the circuit has opened", {
    ask: async () => (await scene.health(webhook))["circuit_breaker"]?.["state"] as unknown,
    holds: (seen) => seen === "open" || seen === "half_open",
  });
  return webhook;
}

/**
 * Waits for these counts: failures, successes, total, and the failure rate. Counts from another process become visible
 * after a short delay.
 */
async function countsReach(
  scene: TenantScene,
  { webhook, counts }: { readonly webhook: string; readonly counts: readonly number[] },
): Promise<void> {
  const names = [
    "failure_count_in_window",
    "success_count_in_window",
    "total_calls_in_window",
    "error_percentage",
  ];
  await eventually("the counts of the circuit", {
    ask: async () => {
      const { circuit_breaker: circuit } = await scene.health(webhook);
      return names.map((name): unknown => circuit?.[name]);
    },
    holds: (seen) => isDeepStrictEqual(seen, counts),
  });
}

async function stateOf(scene: TenantScene, webhook: string, state: string): Promise<void> {
  await eventually(`the circuit is ${state}`, {
    ask: async () => (await scene.health(webhook))["circuit_breaker"]?.["state"] as unknown,
    holds: (seen) => seen === state,
  });
}

function command(scene: TenantScene, webhook: string, body: object): Promise<Json> {
  return scene.change(`${webhook}/circuit-breaker`, body);
}

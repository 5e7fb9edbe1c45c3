/** Webhooks that are disabled and enabled, by users and by responses of their receivers. */
import assert from "node:assert/strict";
import { assertProblem } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import { soon } from "./scenario.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const switching: Scenarios = {
  "a disabled webhook gets nothing, new events are skipped, and after enabling it continues": async (
    scene,
  ) => {
    const webhook = await scene.addWebhook();
    await scene.reaches(await scene.publish(), "success");
    const disabled = await scene.api.post(`/v1/webhooks/${webhook}/disable`);
    assert.deepEqual([disabled.body["status"], disabled.body["active"]] as unknown[], ["disabled", false]);
    const missed = await scene.publish();
    await scene.reaches(missed, "skipped");
    const enabled = await scene.api.post(`/v1/webhooks/${webhook}/enable`);
    assert.equal(enabled.body["status"], "active", enabled.text);
    await scene.reaches(await scene.publish(), "success");
    assert.equal(scene.receiver.requestCount, 2);
    assert.equal((await scene.deliveryOf(missed))["status"], "skipped");
  },

  "WDS-180 a delivery that waits for a retry when its webhook is disabled waits until it is enabled again":
    async (scene) => {
      const { receiver } = scene;
      let isMended = false;
      receiver.script(() => ({ status: isMended ? 200 : 500 }));
      // Enough retries that at least one is due after a busy machine has disabled the webhook.
      const webhook = await scene.addWebhook({ retry_config: { schedule_ms: Array(45).fill(5_000) } });
      const event = await scene.publish();
      await scene.reaches(event, "failed");
      await scene.change(webhook, { active: false });
      await scene.waitsFor(event, "inactive");
      await eventually("a retry that is due does not come", {
        ask: () => Promise.resolve(performance.now() - (receiver.requests.at(-1)?.arrivedAtMs ?? 0)),
        // The schedule has a jitter of 20%.
        holds: (sinceMs) => sinceMs > 7_000,
      });
      const sent = receiver.requestCount;
      isMended = true;
      await scene.change(webhook, { active: true });
      await scene.reaches(event, "success");
      assert.equal(receiver.requestCount, sent + 1);
    },

  "a change of the URL applies to retries of older events": async (scene) => {
    const { receiver } = scene;
    receiver.script(({ path }) => ({ status: path === "/old" ? 500 : 200 }));
    const webhook = await scene.addWebhook({
      url: receiver.url("/old"),
      // So many retries that even a busy machine makes the change before the last one.
      retry_config: { schedule_ms: Array(45).fill(1_000) },
    });
    const event = await scene.publish();
    await scene.reaches(event, "failed");
    await scene.change(webhook, { url: receiver.url("/new") });
    await scene.reaches(event, "success");
    const paths = receiver.requests.map(({ path }) => path);
    assert.deepEqual(paths, [...paths.slice(0, -1).map(() => "/old"), "/new"]);
  },

  "410 suspends at once, a subscriber of posthorn.* is notified, and enabling continues": async (scene) => {
    const { receiver } = scene;
    receiver.script(({ path }) => ({ status: path === "/gone" ? 410 : 200 }));
    await scene.addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"] });
    const webhook = await scene.addWebhook({ url: receiver.url("/gone") });
    await scene.publish();
    const suspended = await statusReaches(scene, webhook, "suspended");
    assert.deepEqual([suspended["active"], suspended["status_reason"]] as unknown[], [false, "gone"]);
    const told = () => receiver.requests.filter(({ path }) => path === "/told");
    const types = ["attention", "created", "exhausted", "suspended"].map(
      (name) => `posthorn.webhook.${name}`,
    );
    await receiver.waitUntil(() => told().length > types.length);
    assert.deepEqual(
      told()
        .map(({ text }) => (JSON.parse(text) as { type: string }).type)
        .toSorted(),
      ["posthorn.problem.opened", ...types],
    );
    await scene.reaches(await scene.publish(), "skipped");
    receiver.script(() => ({}));
    assert.equal((await scene.api.post(`/v1/webhooks/${webhook}/enable`)).body["status"], "active");
    await scene.reaches(await scene.publish(), "success");
  },

  "a pause requested by a receiver ends by resume, by enable, and with another URL": async (scene) => {
    const { receiver, api } = scene;
    const webhook = await scene.addWebhook({ url: receiver.url("/a") });
    const path = `/v1/webhooks/${webhook}`;
    const ways = [
      () => api.post(`${path}/resume`),
      () => api.post(`${path}/enable`),
      () => scene.change(webhook, { url: receiver.url("/b") }),
    ];
    for (const end of ways) {
      const from = receiver.requestCount;
      receiver.script((_, index) =>
        index === from ? { status: 429, headers: { "Retry-After": "4000" } } : {},
      );
      await scene.reaches(await scene.publish(), "failed");
      const health = (await api.get(`${path}/health`)).body;
      assert.equal(health["pause_reason"], "retry_after");
      const waiting = await scene.publish();
      assert.equal((await scene.deliveryOf(waiting))["waiting_for"], "retry_after");
      await end();
      await scene.reaches(waiting, "success");
    }
    assertProblem(await api.post(`/v1/webhooks/${unknownId}/resume`), { status: 404, code: "not_found" });
  },

  "a brief failure disables no webhook, however short its schedule is": async (scene) => {
    const webhook = await scene.addWebhook(soon);
    await scene.reaches(await scene.publish(), "success");
    scene.receiver.script(() => ({ status: 503 }));
    await scene.reaches(await scene.publish(), "exhausted");
    scene.receiver.script(() => ({}));
    await scene.reaches(await scene.publish(), "success");
    assert.equal((await scene.api.get(`/v1/webhooks/${webhook}`)).body["status"], "active");
  },

  "a webhook of ts-16a is disabled when a delivery becomes a dead letter": async (scene) => {
    scene.receiver.script(() => ({ status: 500 }));
    const webhook = await scene.addWebhook({ ...soon, profile: "ts-16a" });
    await scene.reaches(await scene.publish(), "exhausted");
    const disabled = await statusReaches(scene, webhook, "disabled");
    assert.equal(disabled["status_reason"], "exhausted");
    await scene.reaches(await scene.publish(), "skipped");
    assert.equal(scene.receiver.requestCount, 3);
  },

  "WDS-108 a deleted webhook gets none of its waiting deliveries": async (scene) => {
    const webhook = await scene.addWebhook();
    await scene.change(`${webhook}/circuit-breaker`, { action: "force_open", duration_seconds: 60 });
    const held = await scene.publish();
    await scene.reaches(held, "circuit_blocked");
    assert.equal((await scene.api.call("DELETE", `/v1/webhooks/${webhook}`)).status, 204);
    assertProblem(await scene.api.get(`/v1/webhooks/${webhook}`), { status: 404, code: "not_found" });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    // Upkeep checks once a minute for deliveries to cancel.
    const { status, waiting_for } = await scene.deliveryOf(held);
    const shown = `${JSON.stringify(status)} ${JSON.stringify(waiting_for)}`;
    assert.match(shown, /^("cancelled" null|"pending" "inactive")$/);
    const next = await scene.api.post("/v1/events", { event_type: "order.paid", data: { n: 1 } });
    assert.equal(next.body["deliveries"], 0, next.text);
    assert.equal(scene.receiver.requestCount, 0);
  },
};

const unknownId = "018f0000-0000-7000-8000-000000000000";

function statusReaches(scene: TenantScene, webhook: string, status: string): Promise<Json> {
  return eventually(`the webhook is ${status}`, {
    ask: async () => (await scene.api.get(`/v1/webhooks/${webhook}`)).body,
    holds: (body) => (body["status"] as unknown) === status,
  });
}

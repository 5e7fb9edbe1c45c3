/** How many requests a webhook receives concurrently, and per minute. */
import assert from "node:assert/strict";
import { textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const limits: Scenarios = {
  "WDS-167 five requests at a time to one webhook, and a slow one delays no other": async (scene) => {
    const { receiver } = scene;
    await scene.addWebhook({ url: receiver.url("/slow"), timeout_ms: 90_000 });
    await scene.addWebhook({ url: receiver.url("/quick"), events: ["invoice.*"] });
    await answersQuickly(scene);
    receiver.clear();
    const released = Promise.withResolvers<object>();
    receiver.script(({ path }) => (path === "/slow" ? released.promise : {}));
    await scene.publishNumbered(30);
    await receiver.waitForRequests(5);
    await scene.reaches(await scene.publish({ event_type: "invoice.sent" }), "success");
    const sent = receiver.requests.map(({ path }) => path).toSorted();
    assert.deepEqual(sent, ["/quick", ...Array<string>(5).fill("/slow")]);
    released.resolve({});
    await receiver.waitForRequests(31);
    assert.ok(receiver.concurrencyPeak <= 5 + 1, `${receiver.concurrencyPeak} at once`);
  },

  "a delivery in flight says so, and the health of its webhook counts it": async (scene) => {
    const answered = Promise.withResolvers<object>();
    scene.receiver.script(() => answered.promise);
    const webhook = await scene.addWebhook();
    const event = await scene.publish();
    await scene.receiver.waitForRequests(1);
    assert.equal((await scene.waitsFor(event, "in_flight"))["status"], "pending");
    assert.equal((await scene.health(webhook))["in_flight"], 1);
    answered.resolve({});
    await scene.reaches(event, "success");
    // Requests that another process has in flight become visible after a short delay.
    await eventually("nothing on its way", {
      ask: async (): Promise<unknown> => (await scene.health(webhook))["in_flight"],
      holds: (inFlight) => inFlight === 0,
    });
  },

  "WDS-12 a delivery that waits for the rate of its webhook says so": async (scene) => {
    const { receiver } = scene;
    await scene.addWebhook({ rate_limit: { requests_per_minute: 1, burst: 1 } });
    const published = await scene.publishNumbered(3);
    await receiver.waitForRequests(1);
    const waiting = await scene.waitsFor(published.at(-1) ?? "", "rate_limit");
    assert.equal(waiting["status"], "pending");
    assert.ok(Date.parse(textOf(waiting["waiting_until"])) > Date.now(), JSON.stringify(waiting));
  },

  "WDS-165 a burst, and then no more than the rate": async (scene) => {
    const { receiver } = scene;
    const rate = { requests_per_minute: 300, burst: 5 };
    await scene.addWebhook({ rate_limit: rate });
    // The bucket is full at this time, so no request can have been sent earlier. Requests that arrive late prove
    // nothing.
    const sinceMs = performance.now();
    await scene.publishNumbered(20);
    await receiver.waitForRequests(20);
    for (const [index, { arrivedAtMs }] of receiver.requests.entries()) {
      const afterMs = arrivedAtMs - sinceMs;
      const allowed = rate.burst + (afterMs * rate.requests_per_minute) / 60_000;
      assert.ok(index < allowed, `request ${index} after ${Math.round(afterMs)} ms`);
    }
  },
};

/**
 * Publishes repeatedly until a response arrives within a second, even on a slow machine. Only then does the webhook get
 * five concurrent requests.
 */
async function answersQuickly(scene: TenantScene): Promise<void> {
  await eventually("an answer within a second", {
    ask: async () => {
      const [attempt] = await scene.attemptsAt(await scene.publish(), "success");
      return Number(attempt?.["duration_ms"]);
    },
    holds: (durationMs) => durationMs < 1_000,
  });
}

/** How much a webhook is sent at once, and in a minute. */
import assert from "node:assert/strict";
import { textOf } from "../api/client.ts";
import { eventually } from "../eventually.ts";
import type { Scenarios } from "./scenario.ts";

export const limits: Scenarios = {
  "WDS-167 five requests at a time to one webhook, and a slow one delays no other": async (scene) => {
    const { receiver } = scene;
    receiver.script(({ path }) => (path === "/slow" ? { delayMs: 300 } : {}));
    await scene.addWebhook({ url: receiver.url("/slow") });
    await scene.addWebhook({ url: receiver.url("/quick"), events: ["invoice.*"] });
    await scene.publishNumbered(30);
    await receiver.waitForRequests(1);
    await scene.reaches(await scene.publish({ event_type: "invoice.sent" }), "success");
    const sent = receiver.requests.filter(({ path }) => path === "/slow").length;
    assert.ok(sent < 30, "the slow one was still being served");
    await receiver.waitForRequests(31);
    assert.ok(receiver.concurrencyPeak <= 5 + 1, `${receiver.concurrencyPeak} at once`);
    // One whose answers a busy machine sees after a second has fewer places; that there are five is seen beside four workers.
    assert.ok(receiver.concurrencyPeak >= 2, `${receiver.concurrencyPeak} at once`);
  },

  "what is on its way says so, and the health of its webhook counts it": async (scene) => {
    const answered = Promise.withResolvers<object>();
    scene.receiver.script(() => answered.promise);
    const webhook = await scene.addWebhook();
    const event = await scene.publish();
    await scene.receiver.waitForRequests(1);
    assert.equal((await scene.waitsFor(event, "in_flight"))["status"], "pending");
    assert.equal((await scene.health(webhook))["in_flight"], 1);
    answered.resolve({});
    await scene.reaches(event, "success");
    // Where another process sends, what it has on its way is seen a moment later.
    await eventually("nothing on its way", {
      ask: async (): Promise<unknown> => (await scene.health(webhook))["in_flight"],
      holds: (inFlight) => inFlight === 0,
    });
  },

  "WDS-12 what waits for the rate of its webhook says so": async (scene) => {
    const { receiver } = scene;
    await scene.addWebhook({ rate_limit: { requests_per_minute: 6, burst: 1 } });
    const published = await scene.publishNumbered(3);
    await receiver.waitForRequests(1);
    const waiting = await scene.waitsFor(published.at(-1) ?? "", "rate_limit");
    assert.equal(waiting["status"], "pending");
    assert.ok(Date.parse(textOf(waiting["waiting_until"])) > Date.now(), JSON.stringify(waiting));
  },

  "WDS-165 a burst, and then no more than its rate": async (scene) => {
    const { receiver } = scene;
    const rate = { requests_per_minute: 300, burst: 5 };
    await scene.addWebhook({ rate_limit: rate });
    await scene.publishNumbered(20);
    await receiver.waitForRequests(20);
    const [first] = receiver.requests;
    for (const [index, { arrivedAtMs }] of receiver.requests.entries()) {
      const afterMs = arrivedAtMs - (first?.arrivedAtMs ?? 0);
      // The clock of the receiver starts with the first request, a moment after the bucket gave its token.
      const allowed = rate.burst + ((afterMs + 250) * rate.requests_per_minute) / 60_000;
      assert.ok(index < allowed, `request ${index} after ${Math.round(afterMs)} ms`);
    }
  },
};

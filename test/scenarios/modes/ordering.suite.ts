/** Deliveries in ordered lanes. */
import assert from "node:assert/strict";
import type { Answer } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const ordering: Scenarios = {
  "WDS-199 strict: one at a time in the order of publishing, and a failing head blocks everything behind it":
    async (scene) => {
      const { receiver } = scene;
      const failuresLeft = new Map([
        [3, 2],
        [7, 1],
      ]);
      receiver.script(({ text }) => {
        const { n } = (JSON.parse(text) as { data: { n: number } }).data;
        const left = failuresLeft.get(n) ?? 0;
        failuresLeft.set(n, left - 1);
        return { status: left > 0 ? 500 : 200, delayMs: 5 };
      });
      await scene.addWebhook({ ordering_guarantee: "strict", retry_config: { schedule_ms: [100, 100] } });
      await scene.publishNumbered(12, (n) => ({ event_type: n % 2 === 0 ? "order.a" : "order.b" }));
      await receiver.waitForRequests(15);
      assert.deepEqual(scene.numbers(), [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11]);
      assert.equal(receiver.concurrencyPeak, 1);
    },

  "strict: events published one by one arrive in that order, whatever their priority": async (scene) => {
    await scene.addWebhook({ ordering_guarantee: "strict" });
    const priorities = ["low", "high", "normal"];
    const published: string[] = [];
    for (let n = 0; n < 15; n += 1) published.push(await scene.publish({ priority: priorities[n % 3] }));
    await scene.receiver.waitForRequests(15);
    assert.deepEqual(
      scene.receiver.requests.map(({ headers }) => headers["webhook-id"]),
      published,
    );
  },

  "strict: a dead letter leaves a gap, and the lane continues": async (scene) => {
    scene.receiver.script(({ text }) => ({ status: text.includes('"n":1}') ? 422 : 200 }));
    const webhook = await scene.addWebhook({ ordering_guarantee: "strict" });
    const published = await scene.publishNumbered(4);
    await scene.receiver.waitForRequests(4);
    assert.deepEqual(scene.numbers(), [0, 1, 2, 3]);
    await scene.reaches(published[3] ?? "", "success");
    const dead = await scene.list(`/v1/dlq?webhook_id=${webhook}`);
    assert.deepEqual(fieldOf(dead, "event_id"), [published[1]]);
    assert.deepEqual(fieldOf(dead, "reason"), ["permanent_client_error_422"]);
  },

  "strict: a delivery behind a failing head says what it waits for": async (scene) => {
    const { receiver } = scene;
    receiver.script((_, index) => ({ status: index === 0 ? 500 : 200 }));
    // So far in the future that even a busy machine completes the checks earlier.
    await scene.addWebhook({ ordering_guarantee: "strict", retry_config: { schedule_ms: [600_000] } });
    const head = await scene.publish();
    await scene.waitsFor(head, "schedule");
    const next = await scene.publish();
    // Another process may have sent its report before the head failed. The report then says that the head is due, or
    // that it is in flight without an end time.
    await eventually("it waits for the head, until its retry", {
      ask: () => scene.deliveryOf(next),
      holds: (found) => {
        const { waiting_for: reason, waiting_until: until } = found as { readonly [name: string]: unknown };
        return reason === "order" && typeof until === "string" && Date.parse(until) > Date.now() + 300_000;
      },
    });
    assert.equal(receiver.requestCount, 1);
  },

  "WDS-197 none: events are sent in parallel, and a failing one blocks no other": async (scene) => {
    const { receiver } = scene;
    let others = 0;
    const isAnswered = Promise.withResolvers<Answer>();
    receiver.script(({ text }) => {
      if (text.includes('"n":0}')) return { status: others < 9 ? 500 : 200 };
      others += 1;
      // The response to the first of these requests is withheld until the second one arrives, which proves that they
      // are sent in parallel.
      if (others === 1) return isAnswered.promise;
      isAnswered.resolve({});
      return {};
    });
    await scene.addWebhook({ retry_config: { schedule_ms: Array(45).fill(200) } });
    const [failing = ""] = await scene.publishNumbered(10);
    await scene.reaches(failing, "success");
    const numbers = scene.numbers();
    assert.deepEqual(
      numbers.filter((n) => n > 0).toSorted((a, b) => a - b),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.deepEqual([numbers.indexOf(0) < 5, numbers.at(-1)], [true, 0], numbers.join());
  },

  "WDS-198 per event type: a failing type blocks only its own lane": async (scene) => {
    const { receiver } = scene;
    let quick = 0;
    receiver.script(({ text }) => {
      if (text.includes("order.slow")) return { status: quick < 5 ? 503 : 200 };
      quick += 1;
      return {};
    });
    const retry_config = { schedule_ms: Array(45).fill(200) };
    await scene.addWebhook({ ordering_guarantee: "per_event_type", retry_config });
    await scene.publishNumbered(10, (n) => ({ event_type: n % 2 === 0 ? "order.slow" : "order.quick" }));
    await receiver.waitUntil(() => scene.numbers().includes(8));
    const numbers = scene.numbers();
    assert.deepEqual(
      numbers.filter((n) => n % 2 === 1),
      [1, 3, 5, 7, 9],
    );
    const slow = numbers.filter((n) => n % 2 === 0);
    assert.deepEqual([...new Set(slow)], [0, 2, 4, 6, 8]);
    assert.deepEqual(slow.slice(-5), [0, 2, 4, 6, 8], "only its head was repeated");
  },
};

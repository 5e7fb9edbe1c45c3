/** Requests that are in flight when their webhook is deleted. */
import assert from "node:assert/strict";
import type { Answer } from "../../peers/receiver.ts";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import { type Scenarios, soon } from "./scenario.fixture.ts";

export const cancellation: Scenarios = {
  "accepted after its webhook was deleted: the delivery is a success, those waiting behind it stay cancelled":
    async (scene) => {
      const { events, answer } = await deletedUnderWay(scene);
      const [first = "", second = ""] = events;
      await scene.reaches(second, "cancelled");
      answer({ status: 200 });
      const attempts = await scene.attemptsAt(first, "success");
      assert.deepEqual(fieldOf(attempts, "http_status_code"), [200]);
      assert.equal((await scene.deliveryOf(second))["status"], "cancelled");
      assert.equal(scene.receiver.requestCount, 1);
    },

  "refused after its webhook was deleted: the response is in the history, and nothing is sent again": async (
    scene,
  ) => {
    const { events, answer } = await deletedUnderWay(scene);
    const [event = ""] = events;
    answer({ status: 500 });
    const id = textOf((await scene.deliveryOf(event))["id"]);
    const { body } = await eventually("the answer is in the history", {
      ask: () => scene.api.get(`/v1/deliveries/${id}`),
      holds: (read) => itemsOf(read.body["attempts"]).length > 0,
    });
    assert.deepEqual([body["status"], body["reason"]] as unknown[], ["cancelled", "webhook_deleted"]);
    const [attempt] = itemsOf(body["attempts"]);
    assert.deepEqual([attempt?.["http_status_code"], attempt?.["next_retry_at"]] as unknown[], [500, null]);
    assert.equal(scene.receiver.requestCount, 1);
  },
};

/** Publishes two events for one webhook, withholds the response to the first, and deletes the webhook. */
async function deletedUnderWay(
  scene: TenantScene,
): Promise<{ readonly events: readonly string[]; readonly answer: (answer: Answer) => void }> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  scene.receiver.script(() => promise);
  const webhook = await scene.addWebhook({
    ordering_guarantee: "strict",
    // If rows are locked when the webhook is deleted, upkeep cancels their deliveries within a minute. The response
    // arrives later than that.
    retry_config: { ...soon.retry_config, timeout_ms: 90_000 },
  });
  const first = await scene.publish();
  await scene.receiver.waitForRequests(1);
  const second = await scene.publish();
  const deleted = await scene.api.call("DELETE", `/v1/webhooks/${webhook}`);
  assert.equal(deleted.status, 204, deleted.text);
  await scene.reaches(first, "cancelled");
  return { events: [first, second], answer: resolve };
}

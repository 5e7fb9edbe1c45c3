/** Bulk actions: deliveries are retried, cancelled and discarded together, with the filters of their listing. */
import assert from "node:assert/strict";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

const fast = { rate_limit: { requests_per_second: 1_000 } };

async function begin(scene: TenantScene, path: string, body: object): Promise<Json> {
  const started = await scene.api.post(path, body);
  assert.equal(started.status, 202, started.text);
  return started.body;
}

export const bulkActions: Scenarios = {
  "a retry by filter sends what its preview counted, each once, across a pause": async (scene) => {
    const { receiver } = scene;
    receiver.script(() => ({ status: 422 }));
    const webhook = await scene.addWebhook();
    const events = await scene.publishNumbered(8);
    for (const event of events) await scene.reaches(event, "exhausted");
    receiver.script(() => ({}));
    const filter = { webhook_id: [webhook], status: ["exhausted"], http_status: ["4xx"] };
    const seen = await begin(scene, "/v1/deliveries/retry-batch", { filter, dry_run: true });
    assert.deepEqual([seen["count"], seen["excluded"], seen["operation"]] as unknown[], [8, {}, null]);
    assert.equal(itemsOf(seen["samples"]).length, 5);
    assert.match(textOf(seen["filter"]?.["to"]), /^\d{4}-.*Z$/);
    // The first delivery is sent immediately, the next after ten seconds. The pause takes effect before that, even on a
    // busy machine.
    const slow = { rate_limit: { requests_per_second: 0.1 } };
    const started = await begin(scene, "/v1/deliveries/retry-batch", { filter, ...slow });
    const path = `/v1/operations/${textOf(started["operation"]?.["id"])}`;
    await receiver.waitForRequests(9);
    const paused = await scene.api.call("PATCH", path, { body: { status: "paused" } });
    assert.equal(paused.body["status"], "paused", paused.text);
    assert.ok(Number(paused.body["queued"]) < 8, paused.text);
    const resumed = await scene.api.call("PATCH", path, { body: { status: "running", ...fast } });
    assert.equal(resumed.status, 200, resumed.text);
    const done = await scene.operationAt(textOf(started["operation"]?.["id"]), "completed");
    assert.deepEqual([done["queued"], done["done"], done["total"]] as unknown[], [8, 8, 8]);
    for (const event of events) await scene.reaches(event, "success");
    assert.equal(receiver.requestCount, 16);
  },

  "cancelling the failing head of an ordered lane releases the rest at once": async (scene) => {
    const { receiver } = scene;
    receiver.script(({ text }) => ({ status: text.includes('"n":0}') ? 500 : 200 }));
    const webhook = await scene.addWebhook({
      ordering_guarantee: "strict",
      retry_config: { schedule_ms: [600_000] },
    });
    const [head = "", ...others] = await scene.publishNumbered(4);
    const { id } = (await scene.reaches(head, "failed")) as unknown as { readonly id: string };
    const filter = { webhook_id: [webhook], status: ["failed"], waiting_for: ["schedule"] };
    const seen = await begin(scene, "/v1/deliveries/cancel-batch", { filter, dry_run: true });
    assert.deepEqual(fieldOf(itemsOf(seen["samples"]), "id"), [id]);
    const started = await begin(scene, "/v1/deliveries/cancel-batch", { filter, ...fast });
    const done = await scene.operationAt(textOf(started["operation"]?.["id"]), "completed");
    assert.equal(done["queued"], 1);
    for (const event of others) await scene.reaches(event, "success");
    assert.deepEqual(scene.numbers(), [0, 1, 2, 3]);
    const { status, reason } = (await scene.deliveryOf(head)) as unknown as Record<string, unknown>;
    assert.deepEqual([status, reason], ["cancelled", "cancel_requested"]);
    const again = await begin(scene, "/v1/deliveries/cancel-batch", { ids: [id] });
    const nothing = await scene.operationAt(textOf(again["operation"]?.["id"]), "completed");
    assert.deepEqual([nothing["queued"], nothing["skipped"]] as unknown[], [0, { already_ended: 1 }]);
  },

  "discarded dead letters leave the list, and the log names who discarded them": async (scene) => {
    scene.receiver.script(() => ({ status: 422 }));
    const webhook = await scene.addWebhook();
    const events = await scene.publishNumbered(3);
    for (const event of events) await scene.reaches(event, "exhausted");
    const filter = { webhook_id: [webhook] };
    const started = await begin(scene, "/v1/dlq/discard-batch", { filter, ...fast });
    const id = textOf(started["operation"]?.["id"]);
    assert.equal((await scene.operationAt(id, "completed"))["queued"], 3);
    assert.deepEqual(await scene.list(`/v1/dlq?webhook_id=${webhook}`), []);
    const cancelled = await scene.list(`/v1/deliveries?webhook_id=${webhook}&status=cancelled`);
    assert.deepEqual([...new Set(fieldOf(cancelled, "reason"))], ["discarded"]);
    const [row] = await scene.list(`/v1/audit-log?target=${id}`);
    assert.equal(row?.["action"], "dead_letters.discard");
    assert.deepEqual(row?.["changes"]?.["filter"], { to: filter });
  },
};

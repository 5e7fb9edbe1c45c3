/** Events that are redelivered on request. */
import assert from "node:assert/strict";
import { assertProblem, itemsOf, textOf } from "../api/client.fixture.ts";
import type { ReceivedRequest } from "../../peers/receiver.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const redelivery: Scenarios = {
  "a replay is sent to the named webhooks, as the same message": async (scene) => {
    const { receiver } = scene;
    await scene.addWebhook({ url: receiver.url("/one") });
    const two = await scene.addWebhook({ url: receiver.url("/two") });
    const event = await scene.publish();
    await receiver.waitForRequests(2);
    const replayed = await scene.api.post(`/v1/events/${event}/replay`, { webhook_ids: [two] });
    assert.equal(replayed.status, 202, replayed.text);
    assert.equal(itemsOf(replayed.body["deliveries"]).length, 1);
    const delivery = await scene.reaches(event, "success");
    assert.equal(delivery["origin"], "replay");
    const toTwo = receiver.requests.filter(({ path }) => path === "/two");
    assert.deepEqual(toTwo.map(messageOf)[1], toTwo.map(messageOf)[0]);
    assert.deepEqual([toTwo.length, receiver.requestCount], [2, 3]);
  },

  "recover counts, then delivers missed events under the same ids, once": async (scene) => {
    const { receiver } = scene;
    const webhook = await scene.addWebhook();
    await scene.reaches(await scene.publish(), "success");
    await scene.api.post(`/v1/webhooks/${webhook}/disable`);
    const missed = await scene.publishNumbered(12);
    const path = `/v1/webhooks/${webhook}/recover`;
    const since = { since: "2020-01-01", rate_limit: { requests_per_second: 1_000 } };
    assertProblem(await scene.api.post(path, since), { status: 409, code: "conflict" });
    await scene.api.post(`/v1/webhooks/${webhook}/enable`);
    const dry = await scene.api.post(path, { ...since, dry_run: true });
    assert.deepEqual([dry.body["count"], dry.body["batch_operation_id"]] as unknown[], [12, null], dry.text);
    const started = await scene.api.post(path, since);
    assert.equal(started.status, 202, started.text);
    const done = await scene.operationAt(textOf(started.body["batch_operation_id"]), "completed");
    assert.deepEqual([done["total"], done["queued"], done["failed"]] as unknown[], [12, 12, 0]);
    for (const event of missed) await scene.reaches(event, "success");
    const ids = receiver.requests.slice(1).map(({ headers }) => String(headers["webhook-id"]));
    assert.deepEqual(ids.toSorted(), missed.toSorted());
    assert.equal((await scene.api.post(path, { ...since, dry_run: true })).body["count"], 0);
  },

  "a test event takes the whole path to one webhook only": async (scene) => {
    const webhook = await scene.addWebhook();
    await scene.addWebhook();
    const sent = await scene.api.post(`/v1/webhooks/${webhook}/test`);
    assert.equal(sent.status, 202, sent.text);
    const delivery = await scene.reaches(textOf(sent.body["event_id"]), "success");
    assert.deepEqual([delivery["origin"], delivery["webhook_id"]] as unknown[], ["test", webhook]);
    assert.equal(scene.receiver.requestCount, 1);
  },

  "a successful delivery can be sent again": async (scene) => {
    const webhook = await scene.addWebhook();
    const event = await scene.publish();
    const first = textOf((await scene.reaches(event, "success"))["id"]);
    const retried = await scene.api.post(`/v1/webhooks/${webhook}/deliveries/${first}/retry`, {
      priority: "high",
    });
    assert.equal(retried.status, 202, retried.text);
    await scene.receiver.waitForRequests(2);
    const again = await scene.reaches(event, "success");
    assert.deepEqual([again["id"], again["origin"], again["priority"]] as unknown[], [
      retried.body["delivery_id"],
      "retry",
      "high",
    ]);
    assert.equal(again["replay_of"], first);
    assert.equal((await scene.api.get(`/v1/deliveries/${first}`)).body["replayed_by"], again["id"]);
    const [one, two] = scene.receiver.requests.map(messageOf);
    assert.deepEqual(two, one);
  },
};

/** The fields by which a receiver identifies an event. */
function messageOf({ headers, text }: ReceivedRequest): object {
  return { id: headers["webhook-id"], key: headers["idempotency-key"], text };
}

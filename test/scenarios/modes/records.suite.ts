/** Stored fields of webhooks, deliveries and attempts, and the queries on them. */
import assert from "node:assert/strict";
import { textOf } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import type { Answer } from "../../peers/receiver.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import { soon } from "./scenario.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

export const records: Scenarios = {
  "WDS-67 WDS-68 WDS-69 WDS-70 WDS-71 WDS-73 WDS-74 WDS-75 WDS-76 WDS-77 WDS-78 WDS-79 WDS-110 an attempt has every field of the document":
    async (scene) => {
      const answers: readonly Answer[] = [
        { status: 500, body: "x".repeat(5_000) },
        { status: 400, body: "no" },
      ];
      const thinksMs = 250;
      scene.receiver.script(async (_, index) => {
        if (index === 0) return "reset";
        if (index === 2) await new Promise((resolve) => setTimeout(resolve, thinksMs));
        return answers[index - 1] ?? {};
      });
      const startedAt = performance.now();
      const webhook = await scene.addWebhook(soon);
      const event = await scene.publish();
      const attempts = await scene.attemptsAt(event, "exhausted");
      const [broken, failed, last] = attempts;
      for (const { id, webhook_id, event_id } of attempts) {
        assert.match(textOf(id), uuid);
        assert.deepEqual([webhook_id, event_id] as unknown[], [webhook, event]);
      }
      assert.equal(new Set(fieldOf(attempts, "id")).size, 3);
      assert.deepEqual(fieldOf(attempts, "attempt_number"), [1, 2, 3]);
      assert.deepEqual(fieldOf(attempts, "status"), ["failed", "failed", "exhausted"]);
      assert.deepEqual(fieldOf(attempts, "http_status_code"), [null, 500, 400]);
      assert.notEqual(broken?.["error_message"], null);
      assert.equal(failed?.["response_body_sample"], "x".repeat(1_024));
      assert.equal(last?.["response_body_sample"], "no");
      for (const attempt of attempts) {
        const durationMs = Number(attempt["duration_ms"]);
        assert.ok(durationMs >= 0 && durationMs <= performance.now() - startedAt, String(durationMs));
        assert.ok(timeOf(attempt, "executed_at") >= timeOf(attempt, "scheduled_at"), JSON.stringify(attempt));
      }
      // The clocks of the test and the server may be rounded differently.
      assert.ok(Number(last?.["duration_ms"]) >= thinksMs - 5, "the time that the receiver took is in it");
      assert.deepEqual(fieldOf(attempts, "next_retry_at"), [
        failed?.["scheduled_at"],
        last?.["scheduled_at"],
        null,
      ]);
    },

  "WDS-39 WDS-40 WDS-41 WDS-42 WDS-63 WDS-64 WDS-66 WDS-104 a webhook shows its tenant and when it changed":
    async (scene) => {
      const url = scene.receiver.url("/hook");
      const made = await scene.makeWebhook({ owner_id: "owner-1" });
      const read = async (): Promise<Json> =>
        (await scene.api.get(`/v1/webhooks/${textOf(made["id"])}`)).body;
      const before = await read();
      assert.match(textOf(before["id"]), uuid);
      assert.deepEqual(
        ["owner_id", "tenant_id", "url", "metadata", "last_success_at"].map((name): unknown => before[name]),
        ["owner-1", scene.tenantId, url, {}, null],
      );
      assert.ok(Date.now() - timeOf(before, "created_at") < 60_000);
      assert.deepEqual(before["updated_at"], before["created_at"]);
      await scene.change(textOf(made["id"]), { metadata: { team: 7 } });
      const changed = await read();
      assert.deepEqual(changed["metadata"], { team: 7 });
      assert.deepEqual(changed["created_at"], before["created_at"]);
      assert.ok(timeOf(changed, "updated_at") > timeOf(before, "updated_at"));
    },

  "WDS-31 WDS-109 deliveries of a webhook are listed by status, time, limit and offset": async (scene) => {
    scene.receiver.script(({ text }) => ({ status: text.includes("order.bad") ? 400 : 200 }));
    const webhook = await scene.addWebhook({ ordering_guarantee: "strict" });
    const good = [await scene.publish(), await scene.publish()];
    const bad = await scene.publish({ event_type: "order.bad" });
    for (const event of good) await scene.reaches(event, "success");
    await scene.reaches(bad, "exhausted");
    const listed = async (query: string): Promise<unknown[]> =>
      fieldOf(await scene.list(`/v1/webhooks/${webhook}/deliveries?${query}`), "event_id");
    const newestFirst = [bad, ...good.toReversed()];
    assert.deepEqual(await listed(""), newestFirst);
    assert.deepEqual(await listed("status=exhausted"), [bad]);
    assert.deepEqual(await listed("status=success"), good.toReversed());
    assert.deepEqual(await listed("limit=2"), newestFirst.slice(0, 2));
    assert.deepEqual(await listed("limit=2&offset=1"), newestFirst.slice(1));
    assert.deepEqual(await listed("from=2024-01-01"), newestFirst);
    assert.deepEqual(await listed("from=2999-01-01"), []);
  },

  "WDS-6 WDS-9 WDS-10 publishing is answered before the receiver responds": async (scene) => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<Answer>();
    scene.receiver.script(() => answered);
    await scene.addWebhook();
    // If publishing waited for the receiver, this line would never complete.
    const events = [await scene.publish(), await scene.publish()];
    await scene.receiver.waitForRequests(1);
    answer({});
    for (const event of events) await scene.reaches(event, "success");
  },
};

function timeOf(item: Json, name: string): number {
  const time = Date.parse(textOf(item[name]));
  assert.ok(!Number.isNaN(time), `${name}: ${JSON.stringify(item)}`);
  return time;
}

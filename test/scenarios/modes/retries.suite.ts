/** Which failures are retried, when they are retried, and how often. */
import assert from "node:assert/strict";
import { textOf } from "../api/client.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import { soon } from "./scenario.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const retries: Scenarios = {
  "WDS-189 WDS-190 WDS-15 a 503 is retried at the times of the schedule, and each attempt is in the history":
    async (scene) => {
      const { receiver } = scene;
      receiver.script((_, index) => ({
        status: index < 2 ? 503 : 200,
        body: `answer ${index}`,
        delayMs: 20 * (index + 1),
      }));
      await scene.addWebhook({ retry_config: { schedule_ms: [300, 600] } });
      const publishedAt = Date.now();
      const event = await scene.publish();
      const attempts = await scene.attemptsAt(event, "success");
      assert.deepEqual(
        attempts.map((attempt): unknown[] => [
          attempt["attempt_number"],
          attempt["outcome"],
          attempt["failure_category"],
          attempt["http_status_code"],
          attempt["response_body_sample"],
        ]),
        [
          [1, "transient", "server_error", 503, "answer 0"],
          [2, "transient", "server_error", 503, "answer 1"],
          [3, "accepted", null, 200, "answer 2"],
        ],
      );
      const starts = attempts.map((attempt) => Date.parse(textOf(attempt["executed_at"])));
      for (const [index, start] of starts.entries()) {
        assert.ok(start >= (starts[index - 1] ?? publishedAt) && start <= Date.now(), starts.join());
        assert.ok(
          Number(attempts[index]?.["duration_ms"]) >= 20 * (index + 1) - 2,
          JSON.stringify(attempts[index]),
        );
      }
      assert.deepEqual(
        fieldOf(attempts, "next_retry_at").indexOf(null),
        2,
        "only the last one has no next one",
      );
      const [first, second] = gapsMs(scene);
      assertWithin(first, { fromMs: 300, toMs: 20_000 });
      assertWithin(second, { fromMs: 600, toMs: 20_000 });
      const [one, ...others] = receiver.requests;
      for (const { headers, text } of others) {
        assert.equal(headers["webhook-id"], event);
        assert.equal(headers["idempotency-key"], one?.headers["idempotency-key"]);
        assert.equal(text, one?.text);
      }
    },

  "Retry-After is respected, and delays the other events of the webhook too": async (scene) => {
    const { receiver } = scene;
    receiver.script((_, index) => (index === 0 ? { status: 503, headers: { "Retry-After": "2" } } : {}));
    await scene.addWebhook(soon);
    const first = await scene.publish();
    await scene.reaches(first, "success");
    assertWithin(gapsMs(scene)[0], { fromMs: 2_000, toMs: 30_000 });
    // Long enough for a busy machine to inspect the waiting delivery.
    receiver.script(() => ({ status: 503, headers: { "Retry-After": "600" } }));
    const failed = await scene.publish();
    await scene.reaches(failed, "failed");
    const second = await scene.publish();
    const waiting = await scene.waitsFor(second, "retry_after");
    assert.ok(Date.parse(textOf(waiting["waiting_until"])) > Date.now(), JSON.stringify(waiting));
    assert.equal(receiver.requestCount, 3);
  },

  "a permanently refused delivery is not sent again": async (scene) => {
    const { receiver } = scene;
    const statuses = [400, 413, 422];
    receiver.script(({ path }) => ({ status: Number(path.slice(1)) }));
    for (const status of statuses)
      await scene.addWebhook({ url: receiver.url(`/${status}`), events: [`order.s${status}`] });
    for (const status of statuses) {
      const attempts = await scene.attemptsAt(
        await scene.publish({ event_type: `order.s${status}` }),
        "exhausted",
      );
      assert.deepEqual(fieldOf(attempts, "outcome"), ["terminal"]);
      assert.deepEqual(fieldOf(attempts, "http_status_code"), [status]);
    }
    assert.equal(receiver.requestCount, statuses.length);
  },

  "WDS-185 WDS-18 WDS-19 a delivery becomes a dead letter when its schedule is exhausted": async (scene) => {
    const { receiver } = scene;
    receiver.script(() => ({ status: 500 }));
    await scene.addWebhook(soon);
    const event = await scene.publish();
    assert.deepEqual(fieldOf(await scene.attemptsAt(event, "exhausted"), "attempt_number"), [1, 2, 3]);
    assert.equal((await scene.deliveryOf(event))["reason"], "max_attempts_exceeded");
    assert.deepEqual(fieldOf(await scene.list("/v1/dlq"), "event_id"), [event]);
    assert.equal(receiver.requestCount, 3);
  },

  "EDS-9.6-3 EDS-11.8-1 a delivery becomes a dead letter when it is too old": async (scene) => {
    scene.receiver.script(() => ({ status: 500 }));
    await scene.addWebhook({ retry_config: { schedule_ms: Array(50).fill(700), max_age_ms: 3_000 } });
    const event = await scene.publish();
    const delivery = await scene.reaches(event, "exhausted");
    assert.equal(delivery["reason"], "expired");
    const lastedMs =
      Date.parse(textOf(delivery["completed_at"])) - Date.parse(textOf(delivery["created_at"]));
    assertWithin(lastedMs, { fromMs: 2_000, toMs: 30_000 });
    assert.ok(scene.receiver.requestCount <= 6, `${scene.receiver.requestCount} requests`);
  },

  "a timeout is a failure that is retried under the same key": async (scene) => {
    const { receiver } = scene;
    receiver.script((_, index) => (index === 0 ? "hang" : {}));
    // This profile does not pause an endpoint after a timeout.
    await scene.addWebhook({
      profile: "event-delivery",
      retry_config: { timeout_ms: 2_000, schedule_ms: Array(10).fill(50) },
    });
    const attempts = await scene.attemptsAt(await scene.publish(), "success");
    const [first] = attempts;
    assert.deepEqual(
      [
        first?.["failure_category"],
        first?.["receiver_state_unknown"],
        first?.["http_status_code"],
      ] as unknown[],
      ["timeout", true, null],
    );
    assertWithin(Number(first?.["duration_ms"]), { fromMs: 1_990, toMs: 30_000 });
    assert.equal(attempts.at(-1)?.["outcome"], "accepted");
    const keys = receiver.requests.map(({ headers }) => headers["idempotency-key"]);
    assert.equal(keys[0], keys[1]);
  },

  "a broken connection is retried": async (scene) => {
    scene.receiver.script((_, index) => (["reset", "close"] as const)[index] ?? {});
    await scene.addWebhook(soon);
    const attempts = await scene.attemptsAt(await scene.publish(), "success");
    assert.deepEqual(fieldOf(attempts, "failure_category"), ["network", "network", null]);
  },
};

/** Intervals between consecutive requests. */
function gapsMs({ receiver }: TenantScene): number[] {
  const times = receiver.requests.map(({ arrivedAtMs }) => arrivedAtMs);
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

function assertWithin(
  ms: number | undefined,
  bounds: { readonly fromMs: number; readonly toMs: number },
): void {
  assert.ok(
    ms !== undefined && ms >= bounds.fromMs && ms <= bounds.toMs,
    `${ms} ms is not ${JSON.stringify(bounds)}`,
  );
}

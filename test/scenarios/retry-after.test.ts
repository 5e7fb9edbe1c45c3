import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Webhook } from "../../src/domain/webhook.ts";
import { startReceiver } from "../peers/receiver.ts";
import { engineScene } from "./engine-scene.fixture.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";

test("EDS-2-7 EDS-6.3-3 EDS-9.4-3 EDS-9.8.2-1 TS16-34 TS16-35 WDS-186 503 with Retry-After: 2, then 200: two requests, not earlier, same id and bytes, fresh signature", async (t) => {
  const world = await openEngineWorld();
  t.after(() => world.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  receiver.script((_, index) =>
    index === 0 ? { status: 503, headers: { "Retry-After": "2" } } : { status: 200 },
  );
  const webhook = await world.addWebhook({
    url: receiver.url("/hook"),
    events: ["order.created"],
    retry: {
      schedule: { kind: "list", delaysMs: [50], jitter: { from: 1, to: 1 } },
      ageMsMax: null,
      timeoutMs: null,
      timeoutGrowthFactor: null,
    },
  });
  const eventId = await world.publish("default", { eventType: "order.created", data: { order: 1 } });
  const [first, second] = await receiver.waitForRequests(2);
  assert.ok(first !== undefined && second !== undefined);
  const gapMs = second.arrivedAtMs - first.arrivedAtMs;
  assert.ok(gapMs >= 2_000, `the second request came after ${gapMs} ms`);
  assert.ok(gapMs < 40_000, `the second request came only after ${gapMs} ms`);
  assert.equal(first.headers["webhook-id"], eventId);
  assert.equal(second.headers["webhook-id"], eventId);
  assert.equal(first.headers["idempotency-key"], `"${eventId}"`);
  assert.equal(second.headers["idempotency-key"], `"${eventId}"`);
  assert.deepEqual(second.body, first.body);
  assert.ok(Number(second.headers["webhook-timestamp"]) >= Number(first.headers["webhook-timestamp"]) + 2);
  assert.notEqual(second.headers["webhook-signature"], first.headers["webhook-signature"]);

  // The next published event is the third request, which shows that the first event was not sent again.
  await world.publish("default", { eventType: "order.created", data: { order: 2 } });
  const third = (await receiver.waitForRequests(3))[2];
  assert.notEqual(third?.headers["webhook-id"], eventId);
  assert.equal(receiver.requestCount, 3);
  assert.equal(webhook.status, "active");
});

suite("a Retry-After of years", () => {
  const scene = engineScene();
  /** More than nine years in seconds. Numbers close to the current Unix time are interpreted as a timestamp. */
  const mistaken = "300000000";

  async function silenced(): Promise<Webhook> {
    const webhook = await scene.addWebhook({ profile: "standard" });
    scene.react({ status: 429, headers: { "Retry-After": mistaken } }, {});
    const eventId = await scene.publish();
    const { delivery } = await scene.ended(eventId);
    assert.equal(delivery.progress.reason, "retry_after_beyond_horizon", "it is not sent early");
    return webhook;
  }

  /** Checks that the next event waits and is sent after `open` ends the wait. */
  async function servedAfter(open: (webhook: Webhook) => unknown): Promise<void> {
    const webhook = await silenced();
    const waiting = await scene.publish();
    const { engine } = scene.world;
    const view = engine.explain(await scene.deliveryOf(waiting));
    assert.equal(view.waitingFor, "retry_after");
    assert.ok((view.waitingUntil ?? 0) - Date.now() <= 5 * 86_400_000);
    await open(webhook);
    assert.equal((await scene.ended(waiting)).delivery.progress.state, "success");
    assert.equal(engine.webhook(webhook.id)?.pausedUntil, null);
  }

  test("the webhook is paused for five days, and its owner is notified", async () => {
    const owner = scene.receiver.url("/told");
    await scene.addWebhook({ profile: "standard", url: owner, events: ["posthorn.webhook.attention"] });
    const webhook = await silenced();
    const live = scene.world.engine.webhook(webhook.id);
    const pausedMs = (live?.pausedUntil ?? 0) - Date.now();
    assert.ok(pausedMs > 4 * 86_400_000 && pausedMs <= 5 * 86_400_000, `${pausedMs} ms`);
    await scene.receiver.waitUntil(() => scene.receiver.requests.some(({ path }) => path === "/told"));
    const told = scene.receiver.requests.find(({ path }) => path === "/told")?.text ?? "";
    const { data } = JSON.parse(told) as { data: Record<string, unknown> };
    assert.deepEqual([data["reason"], data["level"], data["status_code"]], ["long_pause", "notify", 429]);
    assert.equal(Date.parse(String(data["paused_until"])), live?.pausedUntil);
    const line = scene.world.logged.find(({ fields }) => fields["reason"] === "long_pause");
    assert.equal(line?.fields["webhookId"], webhook.id);
  });

  test("a call to resume ends the pause", () => servedAfter(({ id }) => scene.world.engine.resume(id)));

  test("another URL ends the pause", () =>
    servedAfter((webhook) => {
      const { engine } = scene.world;
      const secrets = engine.webhook(webhook.id)?.secrets ?? [];
      const moved = { ...webhook, url: scene.receiver.url("/moved"), updatedAt: Date.now() };
      engine.applyWebhook({ webhook: moved, secrets });
    }));
});

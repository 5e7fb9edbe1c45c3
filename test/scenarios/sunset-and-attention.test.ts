/** Responses that must be reported, and endpoints that announced their sunset. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { engineScene } from "./engine-scene.fixture.ts";

const scene = engineScene();

const sunset = (fromNowMs: number) => ({ Sunset: new Date(Date.now() + fromNowMs).toUTCString() });

/** The state in which the event's delivery ended, and the number of requests that were sent for it. */
async function endOf(eventId: string): Promise<string> {
  const { progress } = (await scene.ended(eventId)).delivery;
  return `${progress.state} ${progress.reason} ${progress.attemptCount}`;
}

function told(): Record<string, unknown>[] {
  const requests = scene.receiver.requests.filter(({ path }) => path === "/told");
  return requests.map(({ text }) => (JSON.parse(text) as { data: Record<string, unknown> }).data);
}

test("EDS-9.2.3-16 after its Sunset, an endpoint's next failure is final", async () => {
  await scene.addWebhook();
  scene.react({ status: 503, headers: sunset(-60_000) });
  assert.equal(await endOf(await scene.publish()), "exhausted permanent_after_sunset 1");
});

test("EDS-9.2.3-16 a future Sunset changes nothing, nor does an unreadable one", async () => {
  await scene.addWebhook();
  scene.react({ status: 503, headers: sunset(3_600_000) }, { status: 503 }, { status: 200 });
  assert.match(await endOf(await scene.publish()), /^success .* 3$/);
  scene.react({ status: 503, headers: { Sunset: "soon" } }, { status: 200 });
  assert.match(await endOf(await scene.publish()), /^success .* 2$/);
});

test("EDS-9.2.3-16 a Sunset on a success is stored for the next failure, even across a restart", async () => {
  const webhook = await scene.addWebhook();
  scene.react({ status: 200, headers: sunset(-60_000) }, { status: 200 }, { status: 503 });
  for (let count = 0; count < 2; count += 1)
    assert.match(await endOf(await scene.publish()), /^success .* 1$/, "a success still counts");
  await scene.world.reopen();
  assert.equal(await endOf(await scene.publish()), "exhausted permanent_after_sunset 1");
  assert.equal(scene.world.engine.webhook(webhook.id)?.webhook.status, "active");
});

test("EDS-9.2.3-16 `standard` does not read the header", async () => {
  await scene.addWebhook({ profile: "standard", schemes: ["v1"] });
  scene.react({ status: 500, headers: sunset(-60_000) }, { status: 200 });
  assert.match(await endOf(await scene.publish()), /^success .* 2$/);
});

test("EDS-9.2.3-14 a 451 is kept, and operator and owner are notified", async () => {
  const webhook = await scene.addWebhook();
  await scene.addWebhook({
    url: scene.receiver.url("/told"),
    events: ["posthorn.webhook.attention"],
    profile: "ts-16a",
  });
  scene.react({ status: 451 });
  const eventId = await scene.publish();
  assert.equal(await endOf(eventId), "exhausted permanent_client_error_451 1");
  await scene.receiver.waitUntil(() => told().length === 1);
  const { webhook_id, level, status_code, delivery_id } = told()[0] ?? {};
  const delivery = await scene.deliveryOf(eventId);
  assert.deepEqual(
    [webhook_id, level, status_code, delivery_id],
    [webhook.id, "escalate", 451, delivery?.id],
  );
  const lines = scene.world.logged.filter(({ fields }) => fields["attention"] === "escalate");
  assert.deepEqual(
    lines.map(({ level: logLevel, fields }) => [logLevel, fields["webhookId"], fields["statusCode"]]),
    [["error", webhook.id, 451]],
  );
});

test("TS16-93 TS16-98 the owner is notified of a 404 and of a redirect, with its target, once for many", async () => {
  await scene.addWebhook({ profile: "ts-16a" });
  await scene.addWebhook({
    url: scene.receiver.url("/told"),
    events: ["posthorn.webhook.attention"],
    profile: "ts-16a",
  });
  scene.react(
    { status: 404 },
    { status: 404 },
    { status: 302, headers: { Location: "https://new.example/" } },
  );
  await scene.publish();
  await scene.receiver.waitUntil(() => told().length === 2);
  assert.deepEqual(
    told().map(({ level, status_code, location }) => [level, status_code, location]),
    [
      ["notify", 404, null],
      ["notify", 302, "https://new.example/"],
    ],
  );
});

test("TS16-95 a failure that only deserves an investigation is logged without a notification", async () => {
  const webhook = await scene.addWebhook({ profile: "ts-16a" });
  await scene.addWebhook({ url: scene.receiver.url("/told"), events: ["posthorn.*"], profile: "ts-16a" });
  scene.react({ status: 418 }, { status: 200 });
  assert.match(await endOf(await scene.publish()), /^success .* 2$/);
  const lines = scene.world.logged.filter(({ fields }) => fields["webhookId"] === webhook.id);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields["attention"], fields["reason"]]),
    [["warn", "warn", "client_error_418"]],
  );
  assert.equal(told().length, 0);
});

test("TS16-112 WDS-22 after the last attempt the webhook is disabled, its owner notified, and nothing more is sent until it is enabled", async () => {
  const webhook = await scene.addWebhook({ profile: "ts-16a" });
  await scene.addWebhook({
    url: scene.receiver.url("/told"),
    events: ["posthorn.webhook.disabled"],
    profile: "ts-16a",
  });
  scene.react({ status: 500 });
  assert.equal(await endOf(await scene.publish()), "exhausted max_attempts_exceeded 3");
  await scene.receiver.waitUntil(() => told().length === 1);
  const { webhook_id, status, reason } = told()[0] ?? {};
  assert.deepEqual([webhook_id, status, reason], [webhook.id, "disabled", "exhausted"]);
  const skipped = await scene.publish();
  assert.equal((await scene.deliveryOf(skipped))?.progress.state, "skipped");
  scene.react({ status: 200 });
  const live = scene.world.engine.webhook(webhook.id);
  assert.ok(live !== undefined);
  scene.world.engine.applyWebhook({ webhook: { ...live.webhook, status: "active" }, secrets: live.secrets });
  assert.match(await endOf(await scene.publish()), /^success .* 1$/);
  assert.equal(scene.receiver.requests.filter(({ path }) => path === "/hook").length, 4);
});

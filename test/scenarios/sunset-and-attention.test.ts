/** Answers that somebody must hear of, and endpoints that announced their end. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Webhook } from "../../src/core/webhook.ts";
import { startReceiver } from "../peers/receiver.ts";
import type { Answer, Receiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.ts";
import { eventually } from "./eventually.ts";

let world: EngineWorld;
let receiver: Receiver;
let tenantId = "";

before(async () => {
  world = await openEngineWorld();
});
after(async () => {
  await world.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
  tenantId = `t${receiver.port}`;
});
afterEach(async () => {
  await receiver.close();
});

async function addWebhook(given: Partial<Webhook> = {}): Promise<Webhook> {
  return world.addWebhook({
    url: receiver.url("/hook"),
    events: ["order.*"],
    tenantId,
    profile: "event-delivery",
    schemes: null,
    retry: {
      schedule: { kind: "list", delaysMs: [20, 20], jitter: { from: 1, to: 1 } },
      ageMsMax: null,
      timeoutMs: null,
      timeoutGrowthFactor: null,
    },
    ...given,
  });
}

/** `/hook` answers as given; `/told` is where system events go. */
function answer(answers: readonly Answer[]): void {
  let count = 0;
  receiver.script(({ path }) =>
    path === "/told" ? {} : (answers[Math.min(count++, answers.length - 1)] ?? {}),
  );
}

const sunset = (fromNowMs: number) => ({ Sunset: new Date(Date.now() + fromNowMs).toUTCString() });

async function publish(): Promise<string> {
  return world.publish(tenantId, { eventType: "order.created", data: { n: 1 } });
}

async function deliveryOf(eventId: string) {
  const page = { limit: 10, before: null, offset: 0 };
  const query = { tenantId, eventId, webhookId: null, states: null, from: null, to: null, page };
  return (await world.store.history.listDeliveries(query)).rows[0];
}

/** How the event's delivery ended, and after how many requests. */
async function endOf(eventId: string): Promise<string> {
  const ended = await eventually("the delivery ends", {
    ask: () => deliveryOf(eventId),
    holds: (row) => row?.progress.state === "exhausted" || row?.progress.state === "success",
  });
  return `${ended?.progress.state} ${ended?.progress.reason} ${ended?.progress.attemptCount}`;
}

function told(): Record<string, unknown>[] {
  const requests = receiver.requests.filter(({ path }) => path === "/told");
  return requests.map(({ text }) => (JSON.parse(text) as { data: Record<string, unknown> }).data);
}

test("EDS-9.2.3-16 once its Sunset is over, an endpoint's next failure is final", async () => {
  await addWebhook();
  answer([{ status: 503, headers: sunset(-60_000) }]);
  assert.equal(await endOf(await publish()), "exhausted permanent_after_sunset 1");
});

test("EDS-9.2.3-16 a Sunset that is still to come changes nothing, nor does one that cannot be read", async () => {
  await addWebhook();
  answer([{ status: 503, headers: sunset(3_600_000) }, { status: 503 }, { status: 200 }]);
  assert.match(await endOf(await publish()), /^success .* 3$/);
  answer([{ status: 503, headers: { Sunset: "soon" } }, { status: 200 }]);
  assert.match(await endOf(await publish()), /^success .* 2$/);
});

test("EDS-9.2.3-16 a Sunset on a success is remembered for the next failure, over a restart too", async () => {
  const webhook = await addWebhook();
  answer([{ status: 200, headers: sunset(-60_000) }, { status: 200 }, { status: 503 }]);
  for (let count = 0; count < 2; count += 1)
    assert.match(await endOf(await publish()), /^success .* 1$/, "a success still counts");
  await world.reopen();
  assert.equal(await endOf(await publish()), "exhausted permanent_after_sunset 1");
  assert.equal(world.engine.webhook(webhook.id)?.webhook.status, "active");
});

test("EDS-9.2.3-16 `standard` does not read the header", async () => {
  await addWebhook({ profile: "standard", schemes: ["v1"] });
  answer([{ status: 500, headers: sunset(-60_000) }, { status: 200 }]);
  assert.match(await endOf(await publish()), /^success .* 2$/);
});

test("EDS-9.2.3-14 a 451 is kept, and operator and owner hear of it", async () => {
  const webhook = await addWebhook();
  await addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], profile: "ts-16a" });
  answer([{ status: 451 }]);
  const eventId = await publish();
  assert.equal(await endOf(eventId), "exhausted permanent_client_error_451 1");
  await receiver.waitUntil(() => told().length === 1);
  const { webhook_id, level, status_code, delivery_id } = told()[0] ?? {};
  const delivery = await deliveryOf(eventId);
  assert.deepEqual(
    [webhook_id, level, status_code, delivery_id],
    [webhook.id, "escalate", 451, delivery?.id],
  );
  const lines = world.logged.filter(({ fields }) => fields["attention"] === "escalate");
  assert.deepEqual(
    lines.map(({ level: logLevel, fields }) => [logLevel, fields["webhookId"], fields["statusCode"]]),
    [["error", webhook.id, 451]],
  );
});

test("TS16-93 TS16-98 the owner hears of a 404 and of a redirect, with the place it named, once for many", async () => {
  await addWebhook({ profile: "ts-16a" });
  await addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], profile: "ts-16a" });
  answer([{ status: 404 }, { status: 404 }, { status: 302, headers: { Location: "https://new.example/" } }]);
  await publish();
  await receiver.waitUntil(() => told().length === 2);
  assert.deepEqual(
    told().map(({ level, status_code, location }) => [level, status_code, location]),
    [
      ["notify", 404, null],
      ["notify", 302, "https://new.example/"],
    ],
  );
});

test("TS16-95 what is only worth an investigation is logged and announced to nobody", async () => {
  const webhook = await addWebhook({ profile: "ts-16a" });
  await addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], profile: "ts-16a" });
  answer([{ status: 418 }, { status: 200 }]);
  assert.match(await endOf(await publish()), /^success .* 2$/);
  const lines = world.logged.filter(({ fields }) => fields["webhookId"] === webhook.id);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields["attention"], fields["reason"]]),
    [["warn", "warn", "client_error_418"]],
  );
  assert.equal(told().length, 0);
});

test("TS16-112 after the last attempt the webhook is disabled, its owner told, and nothing more is sent until it is enabled", async () => {
  const webhook = await addWebhook({ profile: "ts-16a" });
  await addWebhook({ url: receiver.url("/told"), events: ["posthorn.webhook.disabled"], profile: "ts-16a" });
  answer([{ status: 500 }]);
  assert.equal(await endOf(await publish()), "exhausted max_attempts_exceeded 3");
  await receiver.waitUntil(() => told().length === 1);
  const { webhook_id, status, reason } = told()[0] ?? {};
  assert.deepEqual([webhook_id, status, reason], [webhook.id, "disabled", "exhausted"]);
  const skipped = await publish();
  assert.equal((await deliveryOf(skipped))?.progress.state, "skipped");
  answer([{ status: 200 }]);
  const live = world.engine.webhook(webhook.id);
  assert.ok(live !== undefined);
  world.engine.applyWebhook({ webhook: { ...live.webhook, status: "active" }, secrets: live.secrets });
  assert.match(await endOf(await publish()), /^success .* 1$/);
  assert.equal(receiver.requests.filter(({ path }) => path === "/hook").length, 4);
});

/** Receivers that send back what they were shown. What is kept of their answers is read by people who may not see it. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { webhookDefaults, type Webhook } from "../../src/core/webhook.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
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

const token = "tok+en/of-this_test==";
const spellings = [token, encodeURIComponent(token), encodeURIComponent(encodeURIComponent(token))];

async function publishTo(given: Partial<Webhook>, secrets: Partial<Record<SecretKind, string>>) {
  await world.addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], tenantId });
  const retry = {
    schedule: { kind: "list", delaysMs: [20], jitter: { from: 1, to: 1 } },
    ageMsMax: null,
    timeoutMs: null,
    timeoutGrowthFactor: null,
  } as const;
  const webhook = await world.addWebhook(
    {
      url: receiver.url("/hook?a=1"),
      events: ["order.*"],
      tenantId,
      profile: "event-delivery",
      schemes: ["rfc9421-hmac-sha256"],
      retry,
      ...given,
    },
    secrets,
  );
  const eventId = await world.publish(tenantId, { eventType: "order.created", data: { n: 1 } });
  return { webhook, eventId };
}

/** The whole history of the event's delivery to `/hook`, as text, once it is over. */
async function historyOf(eventId: string): Promise<string> {
  const page = { limit: 10, before: null, offset: 0 };
  const query = { tenantId, eventId, webhookId: null, states: null, from: null, to: null, page };
  const [delivery] = await eventually("the delivery ends", {
    ask: async () => (await world.store.history.listDeliveries(query)).rows,
    holds: ([row]) => row?.progress.state === "exhausted" || row?.progress.state === "success",
  });
  assert.ok(delivery !== undefined);
  return JSON.stringify(await world.store.history.listAttempts(delivery.id));
}

function toldText(): string {
  const told = receiver.requests.filter(({ path }) => path === "/told");
  return told.map(({ text }) => text).join("\n");
}

function assertHidden(text: string): void {
  for (const spelling of spellings) assert.ok(!text.includes(spelling), text);
}

test("CEW-3.2-4 a redirect that repeats the access token shows it neither in the history nor to other webhooks", async () => {
  receiver.script(({ path }) => {
    if (path === "/told") return {};
    const next = encodeURIComponent(path);
    return {
      status: 302,
      headers: { Location: `/login?next=${next}&from=${path}` },
      body: `no ${path} here`,
    };
  });
  const { eventId } = await publishTo({ bearerTokenIn: "query" }, { bearer: token });
  const history = await historyOf(eventId);
  assertHidden(history);
  assert.match(history, /redirect to \/login\?next=/, "the rest of it is shown");
  assert.match(history, /no \/hook\?access_token=\*\*\*&a=1 here/);
  await receiver.waitUntil(() => toldText().includes("posthorn.webhook.attention"));
  assertHidden(toldText());
});

test("EDS-9.2.4-3 a 308 that repeats the access token leaves it out of the stored address", async () => {
  receiver.script(({ path }) => {
    if (!path.startsWith("/hook?")) return {};
    return { status: 308, headers: { Location: path.replace("/hook?", "/new?") } };
  });
  const agreements = { ...webhookDefaults.agreements, followPermanentRedirect: true };
  const { webhook, eventId } = await publishTo({ bearerTokenIn: "query", agreements }, { bearer: token });
  assertHidden(await historyOf(eventId));
  const paths = receiver.requests.map(({ path }) => path).filter((path) => path.startsWith("/new"));
  assert.deepEqual(paths, [`/new?access_token=${encodeURIComponent(token)}&a=1`], "it is sent once");
  const stored = await world.store.webhooks.page({ after: null, limit: 1_000 });
  assert.equal(stored.find((row) => row.webhook.id === webhook.id)?.webhook.url, receiver.url("/new?a=1"));
  await receiver.waitUntil(() => toldText().includes("posthorn.webhook.moved"));
  assertHidden(toldText());
});

test("an answer that repeats credential headers shows them to nobody", async () => {
  receiver.script(({ path, headers }) =>
    path === "/told"
      ? {}
      : { status: 500, body: `you sent ${String(headers["x-secret"])} and ${String(headers.authorization)}` },
  );
  const secret = "the-secret-of-this-header";
  const { eventId } = await publishTo(
    {},
    { bearer: token, credential_headers: JSON.stringify({ "X-Secret": secret }) },
  );
  const history = await historyOf(eventId);
  assertHidden(history);
  assert.ok(!history.includes(secret), history);
  assert.match(history, /you sent \*\*\* and Bearer \*\*\*/);
});

test("a receiver that moves back and forth is followed once, and cannot multiply the news about it", async () => {
  let moves = 0;
  receiver.script(({ path }) => {
    moves += 1;
    return { status: 308, headers: { Location: path.startsWith("/told") ? "/hook" : `/hook?n=${moves}` } };
  });
  const agreements = { ...webhookDefaults.agreements, followPermanentRedirect: true };
  const { eventId } = await publishTo({ agreements, events: ["order.*", "posthorn.*"] }, {});
  await historyOf(eventId);
  const page = { limit: 100, before: null, offset: 0 };
  const query = { tenantId, eventType: "posthorn.webhook.moved", from: null, to: null, page };
  await eventually("everything has ended", {
    ask: async () => (await world.store.history.listEvents(query)).rows.length,
    holds: (count) => count >= 1,
  });
  assert.equal((await world.store.history.listEvents(query)).rows.length, 1);
});

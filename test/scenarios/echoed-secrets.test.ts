/**
 * Receivers that echo secrets in their responses. Users who may read stored responses are not necessarily allowed to
 * see these secrets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookDefaults, type Webhook } from "../../src/domain/webhook.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import { responseSampleBytesMax } from "../../src/ports/transport.ts";
import { engineScene, retrySchedule } from "./engine-scene.fixture.ts";
import { eventSearchOf } from "../conformance/store/search-model.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

const scene = engineScene();

const token = "tok+en/of-this_test==";
const spellings = [token, encodeURIComponent(token), encodeURIComponent(encodeURIComponent(token))];

async function publishTo(given: Partial<Webhook>, secrets: Partial<Record<SecretKind, string>>) {
  const { world, receiver, tenantId } = scene;
  await world.addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], tenantId });
  const webhook = await scene.addWebhook(
    {
      url: receiver.url("/hook?a=1"),
      schemes: ["rfc9421-hmac-sha256"],
      retry: retrySchedule(20),
      ...given,
    },
    secrets,
  );
  return { webhook, eventId: await scene.publish() };
}

/** The attempts of the event's delivery to `/hook` as text, after the delivery has ended. */
async function historyOf(eventId: string): Promise<string> {
  return JSON.stringify((await scene.ended(eventId)).attempts);
}

function toldText(): string {
  const told = scene.receiver.requests.filter(({ path }) => path === "/told");
  return told.map(({ text }) => text).join("\n");
}

function assertHidden(text: string): void {
  for (const spelling of spellings) assert.ok(!text.includes(spelling), text);
}

test("CEW-3.2-4 a redirect that repeats the access token shows it neither in the history nor to other webhooks", async () => {
  scene.receiver.script(({ path }) => {
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
  await scene.receiver.waitUntil(() => toldText().includes("posthorn.webhook.attention"));
  assertHidden(toldText());
});

test("EDS-9.2.4-3 a 308 that repeats the access token leaves it out of the stored address", async () => {
  scene.receiver.script(({ path }) => {
    if (!path.startsWith("/hook?")) return {};
    return { status: 308, headers: { Location: path.replace("/hook?", "/new?") } };
  });
  const agreements = { ...webhookDefaults.agreements, followPermanentRedirect: true };
  const { webhook, eventId } = await publishTo({ bearerTokenIn: "query", agreements }, { bearer: token });
  assertHidden(await historyOf(eventId));
  const paths = scene.receiver.requests.map(({ path }) => path).filter((path) => path.startsWith("/new"));
  assert.deepEqual(paths, [`/new?access_token=${encodeURIComponent(token)}&a=1`], "it is sent once");
  const stored = await scene.world.store.webhooks.page(null, 1_000);
  assert.equal(
    stored.find((row) => row.webhook.id === webhook.id)?.webhook.url,
    scene.receiver.url("/new?a=1"),
  );
  await scene.receiver.waitUntil(() => toldText().includes("posthorn.webhook.moved"));
  assertHidden(toldText());
});

test("a response that repeats credential headers reveals them to nobody", async () => {
  scene.receiver.script(({ path, headers }) =>
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

test("if a response or one of its fields was cut, the start of a secret is hidden too", async () => {
  const long = "a-token-of-this-test-that-is-as-long-as-many-access-tokens-are==";
  // Hiding complete secrets shortens this text, so the truncated secret at its end would become visible.
  const echoed = `/?${long.repeat(50)}`;
  const filler = ".".repeat(responseSampleBytesMax - 12);
  scene.receiver.script(() => ({
    status: 302,
    headers: { "Retry-After": echoed, Location: echoed },
    body: filler + long,
  }));
  const { eventId } = await publishTo({}, { bearer: long });
  const [attempt] = (await scene.ended(eventId)).attempts;
  assert.equal(attempt?.responseSample, `${filler}***`);
  for (const field of [attempt.notes?.retryAfter?.value, attempt.errorMessage])
    assert.doesNotMatch(field ?? "missing", /missing|a-token.{5}/);
});

test("a receiver that moves back and forth is followed once, and cannot multiply the notifications about it", async () => {
  let moves = 0;
  scene.receiver.script(({ path }) => {
    moves += 1;
    return { status: 308, headers: { Location: path.startsWith("/told") ? "/hook" : `/hook?n=${moves}` } };
  });
  const agreements = { ...webhookDefaults.agreements, followPermanentRedirect: true };
  const { eventId } = await publishTo({ agreements, events: ["order.*", "posthorn.*"] }, {});
  await historyOf(eventId);
  const search = () =>
    scene.world.store.history.searchEvents(
      eventSearchOf({ tenantId: scene.tenantId, eventTypes: ["posthorn.webhook.moved"] }),
    );
  await eventually("everything has ended", {
    ask: async () => (await search()).rows.length,
    holds: (count) => count >= 1,
  });
  assert.equal((await search()).rows.length, 1);
});

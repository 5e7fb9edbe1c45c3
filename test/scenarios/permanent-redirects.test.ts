/**
 * A receiver that responds with permanent redirects. They are not followed, and they change the stored URL only if the
 * delivery agreement allows it.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { type Webhook, webhookDefaults } from "../../src/domain/webhook.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { engineScene } from "./engine-scene.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

const scene = engineScene();
let elsewhere: Receiver;

beforeEach(async () => {
  elsewhere = await startReceiver({ hostname: "localhost" });
});
afterEach(() => elsewhere.close());

const agreed = { ...webhookDefaults.agreements, followPermanentRedirect: true };

/** Sends one event to `/old`, which responds with the redirect; every other path responds with 200. */
async function redirected(
  given: Partial<Webhook>,
  answer: { readonly status: number; readonly location: string },
  secrets: Partial<Record<SecretKind, string>> = {},
): Promise<Webhook> {
  const { status, location } = answer;
  scene.receiver.script(({ path }) =>
    path === "/old" ? { status, headers: { Location: location } } : { status: 200 },
  );
  const settings = { url: scene.receiver.url("/old"), schemes: ["rfc9421-hmac-sha256" as const] };
  const webhook = await scene.addWebhook({ ...settings, agreements: agreed, ...given }, secrets);
  await scene.publish();
  return webhook;
}

async function storedUrl(webhook: Webhook): Promise<string | undefined> {
  const stored = await scene.world.store.webhooks.page(null, 1_000);
  return stored.find((row) => row.webhook.id === webhook.id)?.webhook.url;
}

async function threeAttemptsAtTheOldPlace(webhook: Webhook): Promise<void> {
  const requests = await scene.receiver.waitForRequests(3);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ["/old", "/old", "/old"],
  );
  assert.equal(elsewhere.requestCount, 0);
  assert.equal(await storedUrl(webhook), scene.receiver.url("/old"));
}

function httpSignatureFits(webhook: Webhook, request: ReceivedRequest): boolean {
  const { headers } = request;
  const input = String(headers["signature-input"]).replace(/^sig1=/, "");
  const base = [
    `"@method": POST`,
    `"@target-uri": ${scene.receiver.url(request.path)}`,
    `"content-type": ${String(headers["content-type"])}`,
    `"content-digest": ${String(headers["content-digest"])}`,
    `"idempotency-key": ${String(headers["idempotency-key"])}`,
    `"@signature-params": ${input}`,
  ].join("\n");
  const secret = Buffer.from(scene.world.secretOf(webhook.id, "symmetric").slice("whsec_".length), "base64");
  const expected = createHmac("sha256", secret).update(base).digest("base64");
  return headers["signature"] === `sig1=:${expected}:`;
}

test("EDS-9.2.4-3 EDS-9.4-7 after a 308 the next attempt goes to the new address, is signed for it, and the address is kept", async () => {
  const webhook = await redirected({}, { status: 308, location: "/new?v=2" });
  const [first, second] = await scene.receiver.waitForRequests(2);
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual([first.path, second.path], ["/old", "/new?v=2"]);
  assert.equal(second.headers["idempotency-key"], first.headers["idempotency-key"]);
  assert.ok(httpSignatureFits(webhook, first) && httpSignatureFits(webhook, second));
  await eventually("the URL is stored", {
    ask: () => storedUrl(webhook),
    holds: (url) => url === scene.receiver.url("/new?v=2"),
  });
});

test("EDS-9.2.4-4 a 307 changes no stored address and is not followed", async () => {
  await threeAttemptsAtTheOldPlace(await redirected({}, { status: 307, location: "/new" }));
});

test("EDS-9.2.4-2 TS16-97 CEW-2.2-3 no redirect is followed, even with an agreement", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const fresh = await startReceiver();
    const location = fresh.url("/new");
    await threeAttemptsAtTheOldPlace(
      await redirected({ profile: "standard", schemes: ["v1"] }, { status, location }),
    );
    assert.equal(fresh.requestCount, 0, String(status));
    await fresh.close();
    await scene.receiver.close();
    await scene.renewReceiver();
  }
});

test("without the owner's agreement a 308 changes nothing", async () => {
  const { agreements } = webhookDefaults;
  await threeAttemptsAtTheOldPlace(await redirected({ agreements }, { status: 308, location: "/new" }));
});

test("a 308 to another host forwards nothing, and the owner is notified of the address", async () => {
  await scene.world.addWebhook({
    url: scene.receiver.url("/told"),
    events: ["posthorn.*"],
    tenantId: scene.tenantId,
  });
  const webhook = await redirected({}, { status: 308, location: elsewhere.url("/take") });
  await scene.receiver.waitUntil(
    () => scene.receiver.requests.filter(({ path }) => path === "/old").length === 3,
  );
  const isToldOf = ({ path, text }: { readonly path: string; readonly text: string }): boolean =>
    path === "/told" && text.includes(elsewhere.url("/take"));
  await scene.receiver.waitUntil(() => scene.receiver.requests.some(isToldOf));
  assert.equal(await storedUrl(webhook), scene.receiver.url("/old"));
  assert.equal(elsewhere.requestCount, 0);
});

test("a 308 to another port of the host moves a webhook, unless it has tokens or secret headers", async () => {
  const secrets = [
    { bearer: "a-token-for-the-old-place" },
    { credential_headers: JSON.stringify({ "X-Api-Key": "for-the-old-place" }) },
  ];
  for (const credentials of secrets) {
    const neighbour = await startReceiver();
    const answer = { status: 308, location: neighbour.url("/new") };
    await threeAttemptsAtTheOldPlace(await redirected({}, answer, credentials));
    assert.equal(neighbour.requestCount, 0);
    await neighbour.close();
    await scene.receiver.close();
    await scene.renewReceiver();
  }
  const neighbour = await startReceiver();
  await redirected({}, { status: 308, location: neighbour.url("/new") });
  await neighbour.waitForRequests(1);
  await neighbour.close();
});

test("a 308 to another port does not move a webhook whose access tokens were issued for the old address", async (t) => {
  const issuer = await startReceiver();
  t.after(() => issuer.close());
  const token = { access_token: "for-the-old-place", token_type: "Bearer", expires_in: 3_600 };
  issuer.script(() => ({
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(token),
  }));
  const neighbour = await startReceiver();
  t.after(() => neighbour.close());
  const oauth2 = {
    tokenUrl: issuer.url("/token"),
    clientId: "posthorn",
    scope: null,
    audience: null,
    authentication: "basic",
  } as const;
  const answer = { status: 308, location: neighbour.url("/new") };
  await threeAttemptsAtTheOldPlace(
    await redirected({ oauth2 }, answer, { oauth2_client_secret: "a-client-secret" }),
  );
  assert.equal(scene.receiver.requests[0]?.headers.authorization, `Bearer ${token.access_token}`);
  assert.equal(neighbour.requestCount, 0);
});

test("an address that could not be registered is not adopted from a 308", async () => {
  for (const location of ["ftp://127.0.0.1/x", "http://user:pass@127.0.0.1/", "http://[", "   "]) {
    await threeAttemptsAtTheOldPlace(await redirected({}, { status: 308, location }));
    await scene.receiver.close();
    await scene.renewReceiver();
  }
});

test("EDS-9.2.4-3 responses to requests sent before the address changed do not change it again", async () => {
  const second = Promise.withResolvers<number>();
  scene.receiver.script(async ({ path }, index) => {
    if (path !== "/a/b/old") return {};
    if (index === 1) second.resolve(index);
    await second.promise;
    return { status: 308, headers: { Location: "../new" } };
  });
  const webhook = await scene.addWebhook({
    url: scene.receiver.url("/a/b/old"),
    schemes: ["rfc9421-hmac-sha256"],
    agreements: agreed,
  });
  for (const n of [1, 2]) await scene.publish({ data: { n } });
  const requests = await scene.receiver.waitForRequests(4);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ["/a/b/old", "/a/b/old", "/a/new", "/a/new"],
  );
  assert.equal(scene.world.engine.webhook(webhook.id)?.webhook.url, scene.receiver.url("/a/new"));
});

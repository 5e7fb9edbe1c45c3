import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

const soon = {
  schedule: { kind: "list", delaysMs: [3_600_000], jitter: { from: 1, to: 1 } },
  ageMsMax: null,
  timeoutMs: null,
  timeoutGrowthFactor: null,
} as const;

test("EDS-9.2.3-3 a 401 leads to one new token and one further request at once, then the profile decides", async (t) => {
  const world = await openEngineWorld();
  t.after(() => world.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const issued: string[] = [];
  const good = new Set<string>();
  receiver.script((request) => {
    if (request.path === "/token") {
      issued.push(`token-${issued.length + 1}`);
      return {
        status: 200,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ access_token: issued.at(-1), token_type: "Bearer", expires_in: 3600 }),
      };
    }
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    return { status: good.has(token) ? 204 : 401 };
  });
  const oauth2 = {
    tokenUrl: receiver.url("/token"),
    clientId: "client",
    scope: null,
    audience: null,
    authentication: "basic",
  } as const;
  await world.addWebhook(
    {
      url: receiver.url("/hook"),
      events: ["order.created"],
      retry: soon,
      oauth2,
      profile: "event-delivery",
      schemes: ["rfc9421-hmac-sha256"],
      payloadFormat: null,
    },
    { oauth2_client_secret: "secret" },
  );
  const deliveriesOf = async (eventId: string) =>
    (await listDeliveries(world.store.history, { eventId })).rows;
  const settled = (eventId: string, state: string) =>
    eventually(`the delivery is ${state}`, {
      ask: async () => (await deliveriesOf(eventId))[0]?.progress.state,
      holds: (seen) => seen === state,
    });
  const hooks = () => receiver.requests.filter(({ path }) => path === "/hook");

  // The first token has expired; the second one is valid.
  good.add("token-2");
  const first = await world.publish("default", { eventType: "order.created", data: { order: 1 } });
  await settled(first, "success");
  assert.deepEqual(
    hooks().map(({ headers }) => headers.authorization),
    ["Bearer token-1", "Bearer token-2"],
  );
  const [delivery] = await deliveriesOf(first);
  const attempts = await world.store.history.listAttempts(delivery?.id ?? "");
  assert.deepEqual(
    attempts.map(({ statusCode, outcome }) => [statusCode, outcome]),
    [
      [401, "transient"],
      [204, "accepted"],
    ],
  );

  // No token is accepted. After exactly two requests, 401 is terminal in this profile.
  good.clear();
  receiver.clear();
  const second = await world.publish("default", { eventType: "order.created", data: { order: 2 } });
  await settled(second, "exhausted");
  assert.deepEqual(
    hooks().map(({ headers }) => headers.authorization),
    ["Bearer token-2", "Bearer token-3"],
  );
  assert.equal((await deliveriesOf(second))[0]?.progress.reason, "permanent_client_error_401");
  assert.equal(issued.length, 3);
});

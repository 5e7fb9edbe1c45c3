/**
 * The sender and the receiver kit together. The kit accepts the sender's messages exactly once, and no other messages.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { receivedHeaders } from "../../src/receiver/message/message.ts";
import type { ReceiverOptions } from "../../src/receiver/receiver-options.ts";
import { createReceiver, type Receiver as Kit } from "../../src/receiver/receiver.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { bearer, standardWebhooks } from "../../src/receiver/verifiers.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

let world: EngineWorld;
let receiver: Receiver;
let tenantId = "";
/** IDs of the messages that a handler received. */
let handled: (string | null)[] = [];

before(async () => {
  world = await openEngineWorld();
});
after(async () => {
  await world.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
  tenantId = `t${receiver.port}`;
  handled = [];
});
afterEach(async () => {
  await receiver.close();
});

function kitWith(options: Pick<ReceiverOptions, "verifier"> & Partial<ReceiverOptions>): Kit {
  return createReceiver({
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: ({ key }) => void handled.push(key),
    ...options,
  });
}

function answer(kit: Kit, { method, path, rawHeaders, body }: ReceivedRequest) {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""] as [string, string]] : [],
  );
  return kit.handle({ method, url: path, headers: receivedHeaders(pairs), body });
}

async function handledAtLast(eventId: string): Promise<void> {
  const ask = async () => handled;
  await eventually("the handler has run", { ask, holds: (keys) => keys.includes(eventId) });
}

/** Installs the kit in the test's receiver. */
function serve(kit: Kit): void {
  receiver.script(async (request) => {
    const { status, headers, body } = await answer(kit, request);
    return { status, headers: { ...headers }, ...(body === null ? {} : { body }) };
  });
}

test("TS16-33 EDS-11.5-3 WDS-176 a captured request runs once: its id is known, and once that expires its time is out of tolerance", async () => {
  const webhook = await world.addWebhook({
    url: receiver.url("/hook"),
    events: ["*"],
    tenantId,
    profile: "ts-16a",
    schemes: ["v1"] as const,
  });
  const verifier = standardWebhooks({ keys: { shop: world.secretOf(webhook.id, "symmetric") } });
  const kit = kitWith({ verifier });
  serve(kit);
  const eventId = await world.publish(tenantId, { eventType: "order.created", data: { n: 1 } });
  const [captured] = await receiver.waitForRequests(1);
  assert.ok(captured !== undefined);
  await handledAtLast(eventId);
  assert.deepEqual(handled, [eventId]);
  const repeated = await answer(kit, captured);
  assert.ok(repeated.status >= 200 && repeated.status < 300, "accepted, so that the sender is at ease");
  const later = kitWith({ verifier, now: () => Date.now() + 301_000 });
  assert.equal((await answer(later, captured)).status, 401);
  assert.equal(handled.length, 1);
});

test("CEW-3-2 the token is accepted in the header and in the query", async () => {
  const verifier = bearer({ tokens: { shop: "token-4711" }, allowQueryParameter: true });
  serve(kitWith({ verifier }));
  for (const bearerTokenIn of ["header", "query"] as const) {
    await world.addWebhook(
      {
        url: receiver.url(`/${bearerTokenIn}?a=b`),
        events: [`to.${bearerTokenIn}`],
        tenantId,
        profile: "cloudevents",
        schemes: null,
        bearerTokenIn,
      },
      { bearer: "token-4711" },
    );
    const eventId = await world.publish(tenantId, { eventType: `to.${bearerTokenIn}`, data: { n: 1 } });
    await handledAtLast(eventId);
  }
});

test("CEW-4-2 CEW-4-3 the kit gives permission to a sender, which must still authenticate", async () => {
  const verifier = bearer({ tokens: { shop: "token-4711" } });
  const handshake = { allow: ["posthorn.test"], ratePerMinuteMax: 100 };
  serve(kitWith({ verifier, handshake }));
  const origin = { "WebHook-Request-Origin": "posthorn.test" };
  const asked = await fetch(receiver.url("/hook"), { method: "OPTIONS", headers: origin });
  assert.equal(asked.headers.get("webhook-allowed-origin"), "posthorn.test");
  const headers = { ...origin, "Content-Type": "application/json", "Idempotency-Key": '"k1"' };
  const post = (more: Record<string, string>) =>
    fetch(receiver.url("/hook"), { method: "POST", headers: { ...headers, ...more }, body: "{}" });
  assert.equal((await post({})).status, 401);
  assert.equal((await post({ Authorization: "Bearer token-4711" })).ok, true);
  assert.equal(handled.length, 1);
});

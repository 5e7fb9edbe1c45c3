/** Requests that Posthorn cannot build: a fault on the sender's side never counts against the receiver. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { systemClock } from "../../src/system/clock.ts";
import { createHostNames } from "../../src/system/host-names.ts";
import { createHttpTransport } from "../../src/transport/http/http-transport.ts";
import { InvalidRequestError } from "../../src/domain/errors.ts";
import { createAddressPolicy } from "../../src/domain/egress/address-policy.ts";
import { noResponseFields, type Transport, type TransportResult } from "../../src/ports/transport.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

let world: EngineWorld;
let receiver: Receiver;
/** What the transport throws or returns instead of sending; null if it sends. */
let bug: Error | TransportResult | null = null;

before(async () => {
  receiver = await startReceiver();
  world = await openEngineWorld({ transport: breakable });
});
after(async () => {
  await world.close();
  await receiver.close();
});
beforeEach(() => {
  bug = null;
  receiver.clear();
});

function breakable(): Transport {
  const addressPolicy = createAddressPolicy([], true);
  const transport = createHttpTransport({
    addressPolicy,
    clock: systemClock,
    dns: createHostNames(),
    socketsMax: 50,
    idleSocketMs: 1_000,
  });
  return {
    send: async (request) => {
      if (bug instanceof Error) throw bug;
      return bug ?? transport.send(request);
    },
    openSockets: () => transport.openSockets(),
    close: () => transport.close(),
  };
}

const deliveriesOf = (tenantId: string) => listDeliveries(world.store.history, { tenantId }, { limit: 200 });

test("text with half of a surrogate pair is rejected at publish, naming its field", async () => {
  const url = receiver.url("/surrogate");
  await world.addWebhook({
    url,
    events: ["order.*"],
    tenantId: "surrogate",
    payloadFormat: "cloudevents-structured",
  });
  for (const source of ["\ud800", "shop \udc00 berlin"]) {
    const publish = world.publish("surrogate", { eventType: "order.paid", data: { n: 1 }, source });
    await assert.rejects(publish, (error) => {
      assert.ok(error instanceof InvalidRequestError);
      assert.deepEqual(
        error.fields.map(({ field }) => field),
        ["source"],
      );
      return true;
    });
  }
  await world.publish("surrogate", { eventType: "order.paid", data: { n: 1 }, source: "shop 😀" });
  await receiver.waitForRequests(1);
});

test("forty requests that cannot be built affect neither circuit, limits, attempts nor the owner, and can be retried", async () => {
  const tenantId = "bug";
  const url = receiver.url("/bug");
  const rateLimit = { requestsPerMinute: 60, burst: 5 };
  const { id } = await world.addWebhook({ url, events: ["order.*"], tenantId, rateLimit });
  await world.addWebhook({ url: receiver.url("/told"), events: ["posthorn.*"], tenantId });
  bug = new TypeError("cannot read properties of undefined");
  const loggedBefore = world.logged.length;
  for (let n = 0; n < 40; n++) await world.publish(tenantId, { eventType: "order.paid", data: { n } });
  const rows = await eventually("all of them end", {
    ask: async () => (await deliveriesOf(tenantId)).rows.filter(({ webhookId }) => webhookId === id),
    holds: (found) => found.length === 40 && found.every(({ progress }) => progress.state === "exhausted"),
  });
  for (const { progress } of rows) {
    assert.deepEqual(
      [progress.reason, progress.attemptCount, progress.firstAttemptAt],
      ["internal_compose_failed", 0, null],
    );
  }
  const live = world.engine.webhook(id);
  assert.equal(live?.circuit.phase, "closed");
  assert.equal(live?.pausedUntil ?? null, null);
  const errors = world.logged.slice(loggedBefore).filter(({ level }) => level === "error");
  assert.equal(errors.length, 1, "one line for forty faults of one kind within a minute");

  bug = null;
  const [first] = rows;
  assert.ok(first !== undefined);
  const { webhook } = live;
  const result = await world.engine.retry({
    deliveryId: first.id,
    ...world.engine.placeOf(webhook, "order.paid"),
    priority: null,
    retry: { at: Date.now(), by: null, operationId: null },
  });
  assert.equal(result.kind, "accepted");
  await receiver.waitForRequests(1);
  assert.deepEqual(
    receiver.requests.map(({ path }) => path),
    ["/bug"],
  );
});

test("a passed-through message that cannot be built counts against no receiver", async () => {
  const tenantId = "passed";
  const { id } = await world.addWebhook({ url: receiver.url("/passed"), events: ["order.*"], tenantId });
  const forward = () =>
    world.engine.gateway.forward({
      webhookId: id,
      tenantId,
      eventType: "order.paid",
      contentType: "application/json",
      body: Buffer.from("{}"),
      source: "shop",
      timeoutMs: 5_000,
      retries: false,
      relayed: { key: null, webhookId: null, path: null, headers: [] },
      judge: () => ({ keeps: null }),
    });
  const unsent: TransportResult = {
    observation: { kind: "failure", category: "network", requestSent: false },
    responseSample: null,
    fields: noResponseFields,
    errorMessage: "not sent",
    durationMs: 0,
  };
  const faults = [
    { fault: new TypeError("a bug"), why: "internal_compose_failed" },
    { fault: { ...unsent, malformed: true as const }, why: "internal_compose_failed" },
    { fault: { ...unsent, shortage: "descriptors" as const }, why: "local_shortage" },
  ];
  for (const { fault, why } of faults) {
    bug = fault;
    for (let n = 0; n < 40; n++) assert.deepEqual(await forward(), { kind: "closed", why, waitMs: null });
  }
  assert.equal(world.engine.webhook(id)?.circuit.phase, "closed");
  bug = null;
  assert.equal((await forward()).kind, "answered");
});

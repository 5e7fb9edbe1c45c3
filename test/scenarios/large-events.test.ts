/** Events for more webhooks than fit into one transaction. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { fanOutRows, type NewDelivery } from "../../src/ports/store/deliveries.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

const tenantId = "large";
const following = 12;
const orderedCount = 3;
let world: EngineWorld;
let receiver: Receiver;

before(async () => {
  receiver = await startReceiver();
  world = await openEngineWorld();
  const url = (n: number) => receiver.url(`/hook/${n}`);
  for (let n = 0; n < fanOutRows + following - orderedCount; n++)
    await world.addWebhook({ url: url(n), events: ["order.*"], tenantId });
  // These webhooks subscribe last, but are among the first to receive the event.
  for (let n = 0; n < orderedCount; n++)
    await world.addWebhook({
      url: receiver.url(`/ordered/${n}`),
      events: ["order.*"],
      tenantId,
      ordering: "strict",
    });
});
after(async () => {
  await world.close();
  await receiver.close();
});

const pathsSeen = (): ReadonlySet<string> => new Set(receiver.requests.map(({ path }) => path));

test("an event for more webhooks than fit into one transaction reaches all of them, in order if configured", async () => {
  const publish = (n: number) =>
    world.engine.publisher.publish({ tenantId }, { eventType: "order.paid", data: { n } });
  const [first, second] = await Promise.all([publish(1), publish(2)]);
  for (const receipt of [first, second])
    assert.deepEqual([receipt.deliveries, receipt.deliveriesFollowing], [fanOutRows + following, following]);
  await eventually("each webhook gets both", {
    ask: async () => receiver.requests.length,
    holds: (count) => count === 2 * (fanOutRows + following),
  });
  assert.equal(pathsSeen().size, fanOutRows + following);
  for (let n = 0; n < orderedCount; n++) {
    const bodies = receiver.requests
      .filter(({ path }) => path === `/ordered/${n}`)
      .map(({ body }) => body.toString());
    assert.deepEqual(
      bodies.map((body) => (JSON.parse(body) as { data: { n: number } }).data.n),
      [1, 2],
    );
  }
});

test("the rest of an event whose process died after the first transaction is written by upkeep and delivered", async () => {
  receiver.clear();
  const { engine, store } = world;
  const live = [...engine.webhooks()].filter(({ webhook }) => webhook.ordering === "none").slice(0, 5);
  const now = Date.now();
  const later: NewDelivery[] = live.map(({ webhook }) => {
    const { lane, format } = engine.placeOf(webhook, "order.paid");
    return {
      id: engine.nextId(),
      lane,
      format,
      priority: "normal",
      state: "pending",
      reason: null,
      origin: "publish",
      claim: false,
      dueAt: now,
      createdAt: now,
      leaseUntil: now,
    };
  });
  const event = {
    ...({
      id: engine.nextId(),
      tenantId,
      eventType: "order.paid",
      timestamp: now,
      source: null,
      priority: "normal",
    } as const),
    idempotencyKey: null,
    fingerprint: null,
    createdAt: now,
    contentType: "application/json",
    raw: true,
    body: Buffer.from("{}"),
    trace: null,
    relayed: null,
  };
  const nothing = { requeues: [], retries: [], settlements: [], webhookStates: [] };
  const publishes = [{ event, deliveries: [], later, dedupUntil: null }];
  await store.deliveries.commit({ ...nothing, publishes });
  assert.equal(receiver.requests.length, 0);
  await engine.upkeepRound();
  await receiver.waitForRequests(5);
  assert.equal(pathsSeen().size, 5);
});

test("WDS-29 requests and timers of the process are served before the last part of an event is written", async (t) => {
  const rowsMax = 10;
  const parts = 40;
  const small = await openEngineWorld({ delivers: false, limits: { eventRowsMax: rowsMax } });
  t.after(() => small.close());
  for (let n = 0; n < rowsMax * (1 + parts); n++)
    await small.addWebhook({ url: `http://127.0.0.1:9/${n}`, events: ["order.*"] });
  // A server that responds like /livez and does nothing else, for comparison.
  const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  t.after(() => {
    agent.destroy();
    server.close();
  });
  const ask = async (): Promise<void> => {
    const [response] = await once(request({ port, agent }).end(), "response");
    await once(response.resume(), "end");
  };
  await ask();

  const order: string[] = [];
  const ended = Promise.withResolvers<null>();
  const { deliveries } = small.store;
  const fanOut = deliveries.fanOut.bind(deliveries);
  const probes: Promise<unknown>[] = [];
  t.mock.method(deliveries, "fanOut", async () => {
    if (order.length === 0) {
      setTimeout(() => order.push("timer"), 0);
      probes.push(ask().then(() => order.push("answer")));
    }
    const part = await fanOut();
    order.push(part === null ? "end" : "part");
    if (part === null) ended.resolve(null);
    return part;
  });
  const publish = { eventType: "order.paid", data: {} };
  const receipt = await small.engine.publisher.publish({ tenantId: "default" }, publish);
  assert.equal(receipt.deliveriesFollowing, parts * rowsMax);
  await Promise.all([ended.promise, ...probes]);
  assert.equal(order.filter((each) => each === "part").length, parts);
  for (const each of ["timer", "answer"])
    assert.ok(
      order.indexOf(each) < order.lastIndexOf("part"),
      `${each} after the last part: ${order.join(" ")}`,
    );
});

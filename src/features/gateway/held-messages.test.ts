import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ModelGateway } from "../../../test/simulation/model-store/gateway.ts";
import type { Connection } from "./source.ts";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import { GatewayDirectory } from "./gateway-directory.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { HeldMessages } from "./held-messages.ts";

const connectionOf = (id: string, more: Partial<Connection> = {}): Connection => ({
  id,
  tenantId: "t",
  sourceId: `source of ${id}`,
  webhookId: "w",
  name: "",
  required: true,
  pausedAt: null,
  releasingSince: 1,
  filter: null,
  delayMs: 0,
  deduplicate: null,
  retryDelaysMs: null,
  allowChain: false,
  createdAt: 0,
  updatedAt: 0,
  ...more,
});

/** A process whose store outlives it. */
async function process(store: ModelGateway, sent: string[], { failsAfter = Number.POSITIVE_INFINITY } = {}) {
  const directory = new GatewayDirectory(store);
  await directory.load();
  const access = {
    nextId: () => "delivery",
    placeOf: () => ({ lane: { webhookId: "w", subject: null }, format: "json" }) as never,
    webhook: () => ({ webhook: { status: "active" } }) as never,
    requeue: async ({ eventId }: { readonly eventId: string }) => {
      if (sent.length >= failsAfter) throw new Error("the process is killed");
      sent.push(eventId);
      return { kind: "accepted" } as never;
    },
    gateway: { known: async () => undefined } as never,
  };
  const event = { eventType: "relayed", priority: "normal", body: new Uint8Array() };
  const history = { getEvent: async (_tenantId: string | null, id: string) => ({ id, ...event }) as never };
  const log = { warn: () => undefined } as never;
  const clock = new ManualClock();
  const held = new HeldMessages({
    store,
    history,
    directory,
    access,
    changes: new KeyedQueue(),
    clock,
    log,
  });
  return { held, directory, clock };
}

async function hold(store: ModelGateway, connectionId: string, count: number): Promise<readonly string[]> {
  const events = Array.from({ length: count }, (_, n) => `${connectionId} ${String(n).padStart(4, "0")}`);
  const forward = { connectionId, webhookId: "w", result: "held", detail: null };
  await store.addRequests(
    events.map((event) => ({ id: event, eventId: event, forwards: [forward] }) as unknown as ReceivedRequest),
  );
  return events;
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 2_000; turn += 1) await Promise.resolve();
};

suite("held messages", () => {
  test("a release interrupted by a crash continues in the next process, in order", async () => {
    const store = new ModelGateway();
    await store.saveConnection(connectionOf("c"));
    const events = await hold(store, "c", 350);
    const sent: string[] = [];
    const first = await process(store, sent, { failsAfter: 230 });
    first.held.release("c");
    await turns();
    assert.equal(sent.length, 230);
    const second = await process(store, sent);
    second.held.start();
    for (let round = 0; round < 5; round += 1) {
      await turns();
      second.clock.advance(60_000);
    }
    await turns();
    assert.deepEqual([...new Set(sent)], events);
    assert.equal((await store.connections())[0]?.releasingSince, null);
    assert.equal(second.directory.connection("c")?.releasingSince, null);
    await second.held.stop();
  });

  test("connections take turns: a long queue of one does not delay another", async () => {
    const store = new ModelGateway();
    const ids = ["a", "b", "c", "d", "e", "f"];
    for (const id of ids) await store.saveConnection(connectionOf(id));
    for (const id of ids) await hold(store, id, id === "f" ? 10 : 1_000);
    const sent: string[] = [];
    const { held } = await process(store, sent);
    for (const id of ids) held.release(id);
    await turns();
    const last = sent.findLastIndex((event) => event.startsWith("f"));
    assert.ok(last > 0 && last < 1_000, `the last message of the short line was number ${last}`);
  });

  test("a connection that is paused again keeps its remaining messages", async () => {
    const store = new ModelGateway();
    await store.saveConnection(connectionOf("c"));
    await hold(store, "c", 150);
    const sent: string[] = [];
    const { held, directory } = await process(store, sent);
    held.release("c");
    const paused = connectionOf("c", { pausedAt: 2, releasingSince: null });
    await store.saveConnection(paused);
    directory.setConnection(paused);
    await turns();
    assert.ok(sent.length <= 100);
    assert.deepEqual((await store.connections())[0], paused);
    assert.equal((await held.counts([paused])).get("c"), 150 - sent.length);
  });

  test("a message waits while the last held messages are sent, and follows them", async () => {
    const store = new ModelGateway();
    await store.saveConnection(connectionOf("c"));
    const sent: string[] = [];
    const { held } = await process(store, sent);
    const early = await held.turn("source of c");
    held.release("c");
    await turns();
    let isRouted = false;
    const late = held.turn("source of c").then((turn) => {
      isRouted = true;
      return turn;
    });
    await turns();
    assert.equal(isRouted, false, "the early message is not stored yet");
    const [event] = await hold(store, "c", 1);
    early.ended();
    const { connections } = await late;
    assert.deepEqual(sent, [event]);
    assert.equal(connections[0]?.releasingSince, null);
  });

  test("messages of deleted connections are dropped", async () => {
    const store = new ModelGateway();
    await hold(store, "gone", 5);
    const { held, clock } = await process(store, []);
    held.start();
    clock.advance(1);
    await turns();
    assert.deepEqual(await store.connectionsWithHeld(), []);
    assert.match(JSON.stringify((await store.request("gone 0000"))?.forwards), /the connection was deleted/);
    await held.stop();
  });
});

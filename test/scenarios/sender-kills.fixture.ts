/** Sender threads are killed under load. A ledger records the published events. */
import assert from "node:assert/strict";
import type { Worker } from "node:worker_threads";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";
import type { EngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { inThreads } from "./sender-threads.fixture.ts";

const threads = 2;
const webhooks = 10;
const eventsPerKill = 20;
/** Delays are short, and enough attempts are allowed that none is the last one. */
const retry = {
  schedule: { kind: "list", delaysMs: new Array<number>(50).fill(1), jitter: { from: 1, to: 1 } },
  ageMsMax: null,
  timeoutMs: 30_000,
  timeoutGrowthFactor: null,
} as const;

/**
 * Checks that each event arrives even if its thread was killed in the meantime, and that threads are replaced each
 * time.
 */
export async function killSenders(kills: number): Promise<void> {
  const receiver = await startReceiver();
  const alive: Worker[] = [];
  const seen: Scene["threads"] = { started: 0, ready: 0, lost: [] };
  const transport = () =>
    inThreads(threads, {
      onStart: (worker) => {
        alive.push(worker);
        seen.started += 1;
        worker.once("message", () => (seen.ready += 1));
      },
      onLost: ({ cause }) => void seen.lost.push(cause),
    });
  const world = await openEngineWorld({ transport });
  try {
    const published = await killUnderLoad({ world, receiver, alive, threads: seen }, kills);
    const missing = new Set(Array.from({ length: published }, (_, n) => n + 1));
    let looked = 0;
    await eventually("every event has arrived", {
      ask: async () => {
        const arrived = receiver.requests.slice(looked);
        looked += arrived.length;
        for (const { body } of arrived) missing.delete(numberIn(body));
        return missing.size;
      },
      holds: (count) => count === 0,
    });
    await eventually("every delivery is settled", {
      ask: async () => (await world.store.deliveries.depth()).waiting,
      holds: (waiting) => Object.values(waiting).every((count) => count === 0),
    });
    assert.deepEqual(seen.lost, new Array(kills).fill("ended"));
  } finally {
    await world.close();
    await receiver.close();
  }
}

interface Scene {
  /** How many threads started, reported ready, and were lost, by cause. */
  readonly threads: { started: number; ready: number; lost: string[] };
  readonly world: EngineWorld;
  readonly receiver: Receiver;
  readonly alive: Worker[];
}

/** Resolves with the number of events that were published. */
async function killUnderLoad(scene: Scene, kills: number): Promise<number> {
  const { world, receiver, alive } = scene;
  for (let index = 0; index < webhooks; index += 1) {
    // Different origins, so that both sender threads are used.
    const url = `http://${index % 2 === 0 ? "127.0.0.1" : "localhost"}:${receiver.port}/${index}`;
    await world.addWebhook({ url, events: [`n${index}.made`], retry, circuitBreaker: { enabled: false } });
  }
  let published = 0;
  for (let killed = 0; killed < kills; killed += 1) {
    const inputs = Array.from({ length: eventsPerKill }, () => {
      published += 1;
      return { eventType: `n${published % webhooks}.made`, data: { n: published } };
    });
    await world.publishMany("default", inputs);
    // Some requests have arrived by now, and many are in flight or waiting.
    await explained(
      receiver.waitUntil(() => receiver.requestCount > killed * 5),
      scene,
      { killed, published },
    );
    await eventually("a thread is there", { ask: async () => alive.length, holds: (count) => count > 0 });
    await alive.splice(killed % alive.length, 1)[0]?.terminate();
  }
  return published;
}

/** Waits for the events to arrive. If they do not, adds the state of the engine to the error. */
async function explained(
  arrival: Promise<void>,
  { world, alive, threads }: Scene,
  counts: { readonly killed: number; readonly published: number },
): Promise<void> {
  try {
    await arrival;
  } catch (error) {
    const { engine, store, logged } = world;
    const { waiting } = await store.deliveries.depth();
    const webhooks = Array.from(engine.webhooks(), ({ webhook, pausedUntil, circuit }) => [
      webhook.status,
      pausedUntil,
      circuit.phase,
    ]);
    const state = {
      ...counts,
      waiting,
      alive: alive.length,
      threads,
      activity: engine.activity(),
      webhooks,
      logged: logged.slice(-5),
    };
    throw new Error(`it did not go on after a kill: ${JSON.stringify(state)}`, { cause: error });
  }
}

function numberIn(body: Buffer): number {
  return (JSON.parse(body.toString()) as { data: { n: number } }).data.n;
}

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Broker } from "../../../test/conformance/queue/in-process-queue.fixture.ts";
import type { LaneKey } from "../../domain/webhook.ts";
import type { PendingLane } from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { WorkQueue } from "../../ports/work-queue.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { QueuedWork } from "./queued-work.ts";

const key = (webhookId: string): LaneKey => ({ webhookId, ordering: "none", eventType: null });
const hint = (webhookId: string) => ({ lane: key(webhookId), pool: "default", priority: "normal" }) as const;

/** Workers with one broker and a scripted store. */
class Scene {
  readonly clock = new ManualClock();
  readonly broker = new Broker({ clock: this.clock });
  readonly sender = this.broker.open();
  /** Recorded calls in order, by worker. */
  readonly events: string[] = [];
  readonly unservable = new Set<string>();
  pending: (lane: LaneKey) => Promise<readonly PendingLane[]> = async () => [];

  /** A worker whose attempts to acquire these webhooks succeed. */
  worker(number: number, gets: readonly string[] = []): { owned: Set<string>; queue: WorkQueue } {
    const queue = this.broker.open();
    const owned = new Set<string>();
    queue.listenAs(number);
    new QueuedWork({
      queue,
      pool: "default",
      worker: () => number,
      store: { pendingLanes: async ([lane]) => (lane === undefined ? [] : this.pending(lane)) },
      endpoint: (id) =>
        ({ owned: owned.has(id), lane: (lane: LaneKey) => ({ key: lane }) }) as unknown as Endpoint,
      lookInto: (lane) => void this.events.push(`${number} looks into ${lane.key.webhookId}`),
      acquire: async (id) => {
        this.events.push(`${number} tries ${id}`);
        if (gets.includes(id)) owned.add(id);
      },
      isUnservable: (id) => this.unservable.has(id),
      missed: () => void this.events.push(`${number} missed something`),
    }).start();
    return { owned, queue };
  }

  async pass(ms: number): Promise<void> {
    for (let step = 0; step < 10; step += 1) {
      this.clock.advance(ms / 10);
      await this.clock.turn();
    }
  }
}

suite("hints from a queue", () => {
  test("a worker acquires the webhook of a hint and checks its lane", async () => {
    const scene = new Scene();
    scene.worker(1, ["a"]);
    scene.sender.send([hint("a")]);
    await scene.pass(10);
    assert.deepEqual(scene.events, ["1 tries a", "1 looks into a"]);
    assert.deepEqual(scene.broker.waiting, []);
  });

  test("it only checks the lane of a webhook that it already owns", async () => {
    const scene = new Scene();
    const { owned } = scene.worker(1);
    owned.add("a");
    scene.sender.send([hint("a")]);
    await scene.pass(10);
    assert.deepEqual(scene.events, ["1 looks into a"]);
  });

  test("the owner is notified if another worker received the hint", async () => {
    const scene = new Scene();
    scene.pending = async (lane) => [{ lane, worker: 2, pool: "default", priority: "high" }];
    scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(10);
    assert.deepEqual(scene.events, ["1 tries a"]);
    const { owned } = scene.worker(2);
    owned.add("a");
    scene.sender.notify(2, [key("a")]);
    await scene.pass(10);
    assert.deepEqual(scene.events, ["1 tries a", "2 looks into a"]);
  });

  test("the hint of a lane without work is done", async () => {
    const scene = new Scene();
    scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(1_000);
    assert.deepEqual(scene.events, ["1 tries a"]);
    assert.deepEqual(scene.broker.waiting, []);
  });

  test("a worker that has its share leaves the hint to another worker", async () => {
    const scene = new Scene();
    scene.pending = async (lane) => [{ lane, worker: null, pool: "default", priority: "normal" }];
    scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(10);
    scene.worker(2, ["a"]);
    await scene.pass(1_000);
    assert.equal(scene.events.at(-1), "2 looks into a");
  });

  test("a hint of a deleted webhook is not requeued before upkeep has cancelled the waiting deliveries", async () => {
    const scene = new Scene();
    scene.pending = async (lane) => [{ lane, worker: null, pool: "default", priority: "normal" }];
    scene.unservable.add("a");
    scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(1_000);
    assert.deepEqual(scene.events, ["1 tries a"]);
    assert.deepEqual(scene.broker.waiting, []);
  });

  test("a hint about a webhook that this worker is about to release is not requeued until it is released", async () => {
    const scene = new Scene();
    // The result is the same if the tenant has moved to another pool.
    for (const pool of ["default", "big"]) {
      scene.events.length = 0;
      scene.pending = async (lane) => [{ lane, worker: 1, pool, priority: "normal" }];
      scene.worker(1);
      scene.sender.notify(1, [key("a")]);
      await scene.pass(1_000);
      assert.ok(scene.events.every((event) => event === "1 tries a"));
      assert.ok(scene.events.length <= 2, scene.events.join());
      assert.deepEqual(scene.broker.waiting, []);
    }
  });

  test("a hint for a webhook that moved to another pool is sent there", async () => {
    const scene = new Scene();
    scene.pending = async (lane) => [{ lane, worker: null, pool: "big", priority: "low" }];
    scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(1_000);
    assert.deepEqual(scene.broker.waiting, [{ lane: key("a"), pool: "big", priority: "low" }]);
  });

  test("WDS-194 WDS-204 while the store is unavailable hints are requeued and none is lost", async () => {
    const scene = new Scene();
    scene.pending = async () => Promise.reject(new StoreUnavailableError("away"));
    const { owned } = scene.worker(1);
    scene.sender.send([hint("a")]);
    await scene.pass(1_000);
    assert.ok(scene.events.length > 1);
    owned.add("a");
    await scene.pass(1_000);
    assert.equal(scene.events.at(-1), "1 looks into a");
  });

  test("a notification about a webhook that the worker no longer owns becomes a hint", async () => {
    const scene = new Scene();
    scene.pending = async (lane) => [{ lane, worker: null, pool: "default", priority: "normal" }];
    const { queue } = scene.worker(1);
    scene.sender.notify(1, [key("a")]);
    await scene.pass(1);
    const stopped = queue.stopConsuming();
    await scene.pass(1_000);
    await stopped;
    scene.worker(2, ["a"]);
    await scene.pass(1_000);
    assert.equal(scene.events.at(-1), "2 looks into a");
  });
});

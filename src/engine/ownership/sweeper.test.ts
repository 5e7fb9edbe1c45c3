import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Broker } from "../../../test/conformance/queue/in-process-queue.fixture.ts";
import type { LaneLeft } from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { WorkNotice, WorkQueue } from "../../ports/work-queue.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Sweeper } from "./sweeper.ts";

const left = (webhookId: string, pool = "default"): LaneLeft => ({
  lane: { webhookId, ordering: "none", eventType: null },
  ...{ worker: null, pool, priority: "normal" },
});

/** The same queue, but for one pool that cannot be used. */
function refusing(queue: WorkQueue, refused: string): WorkQueue {
  return new Proxy(queue, {
    get: (target, name: keyof WorkQueue) => {
      if (name !== "send")
        return typeof target[name] === "function" ? target[name].bind(target) : target[name];
      return (notices: readonly WorkNotice[]) =>
        notices.some(({ pool }) => pool === refused) ? false : target.send(notices);
    },
  });
}

/** A sweeper over a store with these lanes, a page for each list. */
function begin(pages: readonly (readonly LaneLeft[])[], refused = "") {
  const clock = new ManualClock();
  const broker = new Broker({ clock });
  const asked: (string | null)[] = [];
  const warnings: string[] = [];
  const state = { isLeader: true, isAway: false };
  const queue = broker.open();
  const silent = (): void => undefined;
  const sweeper = new Sweeper({
    ...{ clock, queue: refusing(queue, refused), leads: async () => state.isLeader },
    random: { uniform: () => 0.5, bytes: (count) => new Uint8Array(count) },
    store: {
      unserved: async ({ after }) => {
        if (state.isAway) throw new StoreUnavailableError("away");
        asked.push(after);
        const page = Number(after ?? 0);
        return { left: pages[page] ?? [], next: page + 1 < pages.length ? String(page + 1) : null };
      },
    },
    telemetry: {
      log: { debug: silent, info: silent, error: silent, warn: (_, message) => void warnings.push(message) },
      metrics: {} as never,
    },
  });
  sweeper.start();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await clock.turn();
    }
  };
  const waiting = (): readonly string[] => broker.waiting.map(({ lane }) => lane.webhookId);
  return { broker, queue, sweeper, state, asked, warnings, pass, waiting };
}

suite("sweeper", () => {
  test("announces what nobody serves, page by page", async () => {
    const { pass, waiting, asked } = begin([[left("a"), left("b")], [], [left("c", "big")]]);
    await pass(2_500);
    assert.deepEqual(waiting().toSorted(), ["a", "b", "c"]);
    assert.deepEqual(asked, [null, "1", "2"]);
  });

  test("does not pile up notices that nobody takes, and repeats them only once in a while", async () => {
    const { pass, waiting } = begin([[left("a")]]);
    await pass(50_000);
    assert.deepEqual(waiting(), ["a"]);
    await pass(30_000);
    assert.equal(waiting().length, 2);
  });

  test("repeats at once what the queue lost", async () => {
    const { pass, waiting, broker } = begin([[left("a")]]);
    await pass(2_500);
    broker.lose();
    assert.deepEqual(waiting(), []);
    await pass(2_500);
    assert.deepEqual(waiting(), ["a"]);
  });

  test("a pool whose queues cannot be used keeps back nobody's notices but its own", async () => {
    const { pass, waiting } = begin([[left("a", "broken"), left("b")], [left("c")]], "broken");
    await pass(2_500);
    assert.deepEqual(waiting().toSorted(), ["b", "c"]);
  });

  test("of several one sweeps, and none while the queue is away", async () => {
    const { pass, asked, state, broker } = begin([[left("a")]]);
    state.isLeader = false;
    await pass(5_000);
    assert.deepEqual(asked, []);
    state.isLeader = true;
    broker.disconnect();
    await pass(5_000);
    assert.deepEqual(asked, []);
    broker.reconnect();
    await pass(2_500);
    assert.deepEqual(asked, [null]);
  });

  test("goes on after the store was away", async () => {
    const { pass, waiting, state, warnings } = begin([[left("a")]]);
    state.isAway = true;
    await pass(2_500);
    assert.equal(warnings.length, 1);
    state.isAway = false;
    await pass(10_000);
    assert.deepEqual(waiting(), ["a"]);
  });

  test("ends", async () => {
    const { pass, asked, sweeper } = begin([[left("a")]]);
    await sweeper.stop();
    await pass(10_000);
    assert.deepEqual(asked, []);
  });
});

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Broker } from "../../../test/conformance/queue/in-process-queue.fixture.ts";
import type { PendingLane } from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { WorkHint, WorkQueue } from "../../ports/work-queue.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Reannouncer } from "./queued-work.ts";

const pending = (webhookId: string, pool = "default"): PendingLane => ({
  lane: { webhookId, ordering: "none", eventType: null },
  worker: null,
  pool,
  priority: "normal",
});

/** The given queue, but sending to one pool fails. */
function refusing(queue: WorkQueue, refused: string): WorkQueue {
  return new Proxy(queue, {
    get: (target, name: keyof WorkQueue) => {
      if (name !== "send")
        return typeof target[name] === "function" ? target[name].bind(target) : target[name];
      return (hints: readonly WorkHint[]) =>
        hints.some(({ pool }) => pool === refused) ? false : target.send(hints);
    },
  });
}

/** A reannouncer whose store has these lanes, one page per list. */
function begin(pages: readonly (readonly PendingLane[])[], refused = "") {
  const clock = new ManualClock();
  const broker = new Broker({ clock });
  const asked: (string | null)[] = [];
  const warnings: string[] = [];
  const state = { isLeader: true, isAway: false };
  const queue = broker.open();
  const silent = (): void => undefined;
  const reannouncer = new Reannouncer(
    {
      clock,
      random: { uniform: () => 0.5, bytes: (count) => new Uint8Array(count) },
      telemetry: {
        log: {
          debug: silent,
          info: silent,
          error: silent,
          warn: (_, message) => void warnings.push(message),
        },
        metrics: {} as never,
      },
    },
    refusing(queue, refused),
    {
      unownedLanes: async (after) => {
        if (state.isAway) throw new StoreUnavailableError("away");
        asked.push(after);
        const page = Number(after ?? 0);
        return { lanes: pages[page] ?? [], next: page + 1 < pages.length ? String(page + 1) : null };
      },
    },
    async () => state.isLeader,
  );
  reannouncer.start();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await clock.turn();
    }
  };
  const waiting = (): readonly string[] => broker.waiting.map(({ lane }) => lane.webhookId);
  return { broker, queue, reannouncer, state, asked, warnings, pass, waiting };
}

suite("reannouncer", () => {
  test("announces lanes without an owner, page by page", async () => {
    const { pass, waiting, asked } = begin([[pending("a"), pending("b")], [], [pending("c", "big")]]);
    await pass(2_500);
    assert.deepEqual(waiting().toSorted(), ["a", "b", "c"]);
    assert.deepEqual(asked, [null, "1", "2"]);
  });

  test("does not accumulate unhandled hints, and repeats them only occasionally", async () => {
    const { pass, waiting } = begin([[pending("a")]]);
    await pass(50_000);
    assert.deepEqual(waiting(), ["a"]);
    await pass(30_000);
    assert.equal(waiting().length, 2);
  });

  test("repeats lost hints at once", async () => {
    const { pass, waiting, broker } = begin([[pending("a")]]);
    await pass(2_500);
    broker.lose();
    assert.deepEqual(waiting(), []);
    await pass(2_500);
    assert.deepEqual(waiting(), ["a"]);
  });

  test("a pool with unusable queues delays only its own hints", async () => {
    const { pass, waiting } = begin([[pending("a", "broken"), pending("b")], [pending("c")]], "broken");
    await pass(2_500);
    assert.deepEqual(waiting().toSorted(), ["b", "c"]);
  });

  test("one of several announces, and none while the queue is unavailable", async () => {
    const { pass, asked, state, broker } = begin([[pending("a")]]);
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

  test("continues after the store was unavailable", async () => {
    const { pass, waiting, state, warnings } = begin([[pending("a")]]);
    state.isAway = true;
    await pass(2_500);
    assert.equal(warnings.length, 1);
    state.isAway = false;
    await pass(10_000);
    assert.deepEqual(waiting(), ["a"]);
  });

  test("ends", async () => {
    const { pass, asked, reannouncer } = begin([[pending("a")]]);
    await reannouncer.stop();
    await pass(10_000);
    assert.deepEqual(asked, []);
  });
});

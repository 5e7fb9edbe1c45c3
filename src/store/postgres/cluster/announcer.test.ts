import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { suite, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PendingLane } from "../../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import type { Membership, StoreState } from "../state.ts";
import { Announcer, lanesOf, Notifications, type NotificationsOptions } from "./announcer.ts";

type Row = [lane: number, worker: number | null, pool: string, free: number | null, leased: number | null];

/** An announcer over a database with these owners. Records what was announced. */
function scene({ hasQueue }: { readonly hasQueue: boolean }) {
  const owners = new Map<number, number>();
  const state = { failures: 0, gate: Promise.resolve() };
  const notified: unknown[] = [];
  const queued: PendingLane[] = [];
  const database = {
    rows: async (sql: string, [first, second]: readonly unknown[] = []) => {
      await state.gate;
      if (state.failures > 0) {
        state.failures -= 1;
        throw new StoreUnavailableError("a connection was lost");
      }
      if (sql.includes("pg_notify")) return void notified.push(...String(second).slice(2, -2).split('","'));
      const lanes = String(first).slice(1, -1).split(",").map(Number);
      return lanes.map((lane): Row => [lane, owners.get(lane) ?? null, "default", 1, null]);
    },
  };
  const lanes = { load: async () => undefined, byRef: (ref: number) => ({ key: { webhookId: `w${ref}` } }) };
  const queue = {
    isOpen: () => true,
    announce: (pending: readonly PendingLane[]) => queued.push(...pending) > 0,
  };
  const membership: Membership = { worker: null, joined: null, former: new Set() };
  const announcer = new Announcer(
    { database, lanes, processNumber: 5, membership } as unknown as StoreState,
    hasQueue ? queue : null,
  );
  return { owners, state, notified, queued, membership, announcer };
}

async function until(holds: () => boolean): Promise<void> {
  for (let waitedMs = 0; !holds() && waitedMs < 5_000; waitedMs += 10) await sleep(10);
  assert.ok(holds(), "not within five seconds");
}

suite("announcing work", () => {
  test("a process does not notify itself of what it owns", async () => {
    const { announcer, membership, owners, queued, notified } = scene({ hasQueue: true });
    membership.worker = 7;
    owners.set(1, 7);
    owners.set(2, 8);
    announcer.announce([1, 2, 3]);
    await until(() => queued.length > 0);
    const announced = queued.map(({ lane, worker }) => [lane.webhookId, worker]);
    assert.deepEqual(announced, [
      ["w2", 8],
      ["w3", null],
    ]);
    assert.deepEqual(notified, []);
    await announcer.close();
  });

  test("lanes that could not be announced, because a connection was lost, are announced a little later", async () => {
    for (const hasQueue of [true, false]) {
      const { announcer, state, queued, notified } = scene({ hasQueue });
      state.failures = 1;
      announcer.announce([1]);
      await until(() => state.failures === 0);
      announcer.announce([2]);
      await until(() => queued.length + notified.length > 0);
      if (hasQueue) assert.deepEqual(queued.map(({ lane }) => lane.webhookId).toSorted(), ["w1", "w2"]);
      else assert.deepEqual(notified, ["5:1,2"]);
      await announcer.close();
    }
  });

  test("many lanes are announced in several notifications, so that no process has to look everywhere", async () => {
    const { announcer, notified } = scene({ hasQueue: false });
    const lanes = Array.from({ length: 5_000 }, (_, index) => 1_000_000 + index);
    announcer.announce(lanes);
    await until(() => notified.length > 0);
    assert.ok(notified.every((payload) => String(payload).length < 8_000));
    assert.deepEqual(
      notified.flatMap((payload) => lanesOf(String(payload), 6)),
      lanes,
    );
    notified.length = 0;
    announcer.announce(Array.from({ length: 50_000 }, (_, index) => 1_000_000 + index));
    await until(() => notified.length > 0);
    assert.deepEqual(notified, ["5:*"]);
    await announcer.close();
  });

  test("closing waits for running announcements", async () => {
    const { announcer, state, notified } = scene({ hasQueue: false });
    const gate = Promise.withResolvers<undefined>();
    state.gate = gate.promise;
    announcer.announce([1]);
    await sleep(40);
    let isClosed = false;
    const closed = announcer.close().then(() => (isClosed = true));
    await sleep(20);
    assert.equal(isClosed, false);
    gate.resolve(undefined);
    await closed;
    assert.deepEqual(notified, ["5:1"]);
  });
});

/**
 * Simulates the server that receives notifications. The listening connection leads either to it or to a server that the
 * other connections have left.
 */
function openScene(t: TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  let opened: (client: never) => Promise<void> = () => assert.fail("no user wants it open");
  let connections = 0;
  let listener = new EventEmitter();
  const connect = async (): Promise<void> => {
    connections += 1;
    listener = Object.assign(new EventEmitter(), { query: async () => ({ rows: [] }) });
    await opened(listener as never);
  };
  const scene = {
    /** Whether notifications reach the listening connection. */
    isHeard: true,
    told: [] as string[],
    connections: () => connections,
    async pass(ms: number): Promise<void> {
      for (const end = nowMs + ms; nowMs < end; ) {
        nowMs += 100;
        t.mock.timers.tick(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
  const notifications = new Notifications({
    control: {
      isOpen: true,
      keepOpen: (user: { opened: typeof opened }) => {
        ({ opened } = user);
        void connect();
      },
      abandon: () => {
        // From now on, the address leads to the right server.
        scene.isHeard = true;
        void connect();
      },
    },
    announcing: {
      rows: async (_: string, [channel]: readonly string[]) => {
        if (scene.isHeard) listener.emit("notification", { channel, payload: "" });
        return [];
      },
    },
    numbers: () => assert.fail("nothing was announced"),
  } as unknown as NotificationsOptions);
  t.after(() => notifications.close());
  notifications.subscribe((change) => {
    const { silentMs } = change.kind === "unknown" ? change : {};
    scene.told.push(silentMs === undefined ? change.kind : `${change.kind}, silent`);
  });
  return scene;
}

test("a listener that receives its own notifications keeps listening", async (t) => {
  const scene = openScene(t);
  await scene.pass(120_000);
  assert.deepEqual([scene.connections(), scene.told], [1, ["unknown"]]);
});

test("a listener at a server that others left, which still answers, listens again within 10 s", async (t) => {
  const scene = openScene(t);
  await scene.pass(30_000);
  scene.isHeard = false;
  await scene.pass(10_000);
  assert.equal(scene.connections(), 2);
  assert.deepEqual(scene.told, ["unknown", "unknown, silent"], "it may have missed something");
  await scene.pass(60_000);
  assert.equal(scene.connections(), 2);
});

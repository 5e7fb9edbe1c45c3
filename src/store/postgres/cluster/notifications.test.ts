import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test, type TestContext } from "node:test";
import { Notifications, type NotificationsOptions } from "./notifications.ts";

/** A server that receives notifications, and a connection that listens there, or at a server that others left. */
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
    /** Notifications reach the listening connection. */
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
        // The address leads to the right server now.
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

/** Alerts about Posthorn's dependencies: real servers are disconnected and reconnected. */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { ManualClock } from "../../src/engine/manual-clock.fixture.ts";
import type { Store } from "../../src/ports/store.ts";
import { AlertWatch } from "../../src/features/alerts/alert-watch.ts";
import { Wording } from "../../src/features/notifications/messages.ts";
import { NotificationDesk } from "../../src/features/notifications/notification-desk.ts";
import { createTestVirtualHost, RabbitMqBroker } from "../conformance/queue/rabbitmq-broker.fixture.ts";
import { openRedis } from "../conformance/shared-state/redis-state.fixture.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { CuttingProxy } from "../services/cutting-proxy.fixture.ts";
import { RedisServer } from "../services/redis-server.fixture.ts";
import { calm, channelFor, look, stateOf, subjectsTold } from "./alert-scene.fixture.ts";
import { openWorld } from "./world.fixture.ts";

const second = 1_000;
const [database, virtualHost] = [await createTestDatabase(), await createTestVirtualHost()];
after(() => database.drop());
after(() => virtualHost.drop());

const isTrue = (found: boolean): boolean => found;

test("WDS-205 a database that fails five times in a row is logged at once, and announced when it is back", async (t) => {
  const network = await CuttingProxy.to(Number(new URL(database.url).port || "5432"));
  t.after(() => network.close());
  const scene = await openScene(t, network.addressOf(database.url));
  const { clock, store, lines, alerts, told } = scene;
  clock.advance(15 * second);
  await eventually("a look at the rules", { ask: async () => scene.looks() > 0, holds: isTrue });
  await network.cut();
  clock.advance(15 * second);
  for (let failures = 1; failures <= 5; failures += 1) {
    await eventually(`failure ${failures}`, {
      ask: async () => lines.filter((line) => line.includes('"failures"')).length,
      holds: (count) => count === failures,
    });
    const fired = lines.filter((line) => line.startsWith("error"));
    assert.equal(fired.length, failures < 5 ? 0 : 1);
    if (failures < 5) clock.advance(3 * second);
  }
  await network.restore();
  await eventually("the database to be back", {
    ask: async () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    holds: isTrue,
  });
  clock.advance(3 * second);
  await eventually("the alert to fire", { ask: alerts, holds: (states) => states.includes("firing") });
  assert.deepEqual(await told(), ["Alert: The database does not respond"]);
  await eventually("the alert to be over, and told", {
    async ask() {
      clock.advance(60 * second);
      return told();
    },
    holds: (subjects) => subjects.length === 2,
  });
  assert.deepEqual(
    [await alerts(), (await told())[1]],
    [["resolved"], "Resolved: The database does not respond"],
  );
});

test("WDS-209 unavailable Redis is critical until it is back", async (t) => {
  const server = await RedisServer.start([]);
  t.after(() => server.remove());
  const network = await CuttingProxy.to(server.port);
  t.after(() => network.close());
  const sharedState = await openRedis({ url: network.addressOf(server.url), callTimeoutMs: 250 });
  t.after(() => sharedState.close());
  const world = await openWorld(t, { watched: { sharedState } });
  await channelFor(world, null);
  await look(world);
  assert.equal(await stateOf(world, "shared-state-away"), null);
  await network.cut();
  await eventually("Redis to be away", { ask: async () => !sharedState.isAvailable, holds: isTrue });
  await look(world);
  assert.equal(await stateOf(world, "shared-state-away"), "firing");
  await world.restart();
  await look(world);
  assert.deepEqual(await subjectsTold(world), ["Alert: Redis is unavailable"], "a restart repeats nothing");
  await network.restore();
  await eventually("Redis to be back", { ask: async () => sharedState.isAvailable, holds: isTrue });
  await calm(world, 6);
  assert.equal(await stateOf(world, "shared-state-away"), "resolved");
  assert.deepEqual(await subjectsTold(world), [
    "Alert: Redis is unavailable",
    "Resolved: Redis is unavailable",
  ]);
});

test("WDS-212 RabbitMQ that could not be reached three times is critical until it is back", async (t) => {
  const broker = await RabbitMqBroker.open(virtualHost);
  t.after(() => broker.close(["default"]));
  const { queue, network } = await broker.join();
  const world = await openWorld(t, { watched: { queue } });
  await channelFor(world, null);
  await look(world);
  await network.cut();
  await eventually("three attempts to fail", {
    ask: async () => broker.log.lines.some(({ level }) => level === "error"),
    holds: isTrue,
  });
  await look(world);
  world.skipTime(15 * second);
  await look(world);
  assert.equal(await stateOf(world, "queue-away"), "firing");
  await world.restart();
  await look(world);
  assert.deepEqual(
    await subjectsTold(world),
    ["Alert: RabbitMQ is unavailable"],
    "a restart repeats nothing",
  );
  await network.restore();
  await eventually("RabbitMQ to be back", { ask: async () => queue.isConnected, holds: isTrue });
  await calm(world, 6);
  assert.equal(await stateOf(world, "queue-away"), "resolved");
  assert.deepEqual(await subjectsTold(world), [
    "Alert: RabbitMQ is unavailable",
    "Resolved: RabbitMQ is unavailable",
  ]);
});

/** A scheduler with a database and the test's clock. */
async function openScene(t: TestContext, url: string) {
  const store: Store = await openPostgresStore({
    url,
    now: Date.now(),
    masterKeyIds: { current: "test", previous: [] },
  });
  const { alerts, notifications } = store;
  const clock = new ManualClock();
  const lines: string[] = [];
  let [ids, looks] = [0, 0];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${JSON.stringify(fields)} ${message}`);
  const nextId = () => `00000000-0000-7000-8000-${String(++ids).padStart(12, "0")}`;
  const watch = new AlertWatch({
    store: alerts,
    clock,
    nextId,
    leaderships: null,
    events: notifications,
    sources: {
      store,
      queue: null,
      sharedState: null,
      tenants: { all: () => [] },
      access: {
        webhooks() {
          looks += 1;
          return [];
        },
        webhook: () => undefined,
        refresh: async () => undefined,
      },
    },
    wording: new Wording(),
    desk: new NotificationDesk(notifications, clock, nextId),
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
  });
  await channelFor({ store }, null);
  watch.start();
  t.after(async () => {
    await watch.stop();
    await store.close();
  });
  return {
    clock,
    store,
    lines,
    looks: () => looks,
    alerts: async () => (await alerts.current(0)).map(({ state }) => state),
    told: () => subjectsTold({ store }),
  };
}

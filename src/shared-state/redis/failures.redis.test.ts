import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { inspect } from "node:util";
import {
  connectOperator,
  type LogLine,
  newPrefix,
  openRedis,
  type Operator,
} from "../../../test/conformance/shared-state/redis-state.fixture.ts";
import { systemClock } from "../../system/clock.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { CuttingProxy } from "../../../test/services/cutting-proxy.fixture.ts";
import { RedisServer } from "../../../test/services/redis-server.fixture.ts";
import type { Clock } from "../../ports/clock.ts";
import type { StoreChange } from "../../ports/store/changes.ts";

type Redis = Awaited<ReturnType<typeof openRedis>>;

const limit = { requestsPerMinute: 1 / 60, burst: 10 };
const unavailable = { name: "SharedStateUnavailableError" };
const callTimeoutMs = 250;

interface World {
  readonly server: RedisServer;
  /** The proxy between the process and the server. */
  readonly proxy: CuttingProxy;
  readonly state: Redis;
  readonly lines: LogLine[];
  /** The notifications that watchers received. */
  readonly flips: boolean[];
  readonly operator: (password?: string) => Promise<Operator>;
}

/** A dedicated server for the test, and a process that uses it. */
async function newWorld(
  t: TestContext,
  { settings = [], password = "" }: { settings?: readonly string[]; password?: string } = {},
): Promise<World> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = await RedisServer.start(settings);
  stack.defer(() => server.remove());
  const proxy = await CuttingProxy.to(server.port);
  stack.defer(() => proxy.close());
  const url = new URL(proxy.addressOf(server.url));
  url.password = password;
  const lines: LogLine[] = [];
  const flips: boolean[] = [];
  const state = await openRedis({ url: url.href, prefix: "posthorn", lines, callTimeoutMs });
  stack.defer(() => state.close());
  state.watch((isAvailable) => flips.push(isAvailable));
  const operator = async (operatorPassword = ""): Promise<Operator> => {
    const operatorUrl = new URL(server.url);
    operatorUrl.password = operatorPassword;
    const client = await connectOperator(operatorUrl.href);
    stack.defer(() => client.destroy());
    return client;
  };
  return { server, proxy, state, lines, flips, operator };
}

async function drawn(state: Redis, tokens = 1): Promise<number> {
  const [grant] = await state.limits.draw([{ key: "k", limit, tokens }]);
  return grant?.granted ?? Number.NaN;
}

/**
 * Callers do not wait for a server that is known to be unavailable. The time is measured over many calls, because
 * single calls can be slow on a busy machine.
 */
async function refusedAtOnce(state: Redis): Promise<void> {
  let tookMs = 0;
  for (let calls = 0; calls < 50; calls += 1) tookMs += await refused(state);
  assert.ok(tookMs / 50 < callTimeoutMs / 2, `${tookMs / 50} ms each`);
}

async function refused(state: Redis): Promise<number> {
  const begun = performance.now();
  await assert.rejects(drawn(state), unavailable);
  return performance.now() - begun;
}

async function isAway(state: Redis): Promise<void> {
  await eventually("the loss", { ask: async () => state.isAvailable, holds: (isAvailable) => !isAvailable });
}

async function isBack(state: Redis): Promise<void> {
  await eventually("the way back", { ask: async () => state.isAvailable, holds: Boolean });
}

/** Each outage logs exactly one warning and one line when it ends. */
function toldOnce({ lines, flips }: World, reason: RegExp): void {
  assert.deepEqual(
    lines.filter(({ level }) => level !== "debug").map(({ level, message }) => `${level} ${message}`),
    [
      "warn the shared state is unavailable, continuing without it",
      "info the shared state is available again",
    ],
  );
  assert.match(String(lines[0]?.fields["reason"]), reason);
  assert.deepEqual(flips, [false, true]);
}

for (const end of ["stop", "kill"] as const) {
  test(`WDS-208 a lost server (${end}) is noticed at once, calls fail without waiting, and it is found again`, async (t) => {
    const world = await newWorld(t);
    const { server, state } = world;
    assert.equal(await drawn(state, 10), 10);
    await server[end]();
    await isAway(state);
    await refusedAtOnce(state);
    assert.deepEqual(state.status, { isAvailable: false, callsMade: 51, callsFailed: 50 });
    await server.start();
    await isBack(state);
    assert.equal(await drawn(state, 10), 10, "an empty server has no used tokens");
    toldOnce(world, /connection to Redis was lost/);
  });
}

test("calls in flight when the server dies are refused", async (t) => {
  const { server, state, operator } = await newWorld(t);
  await (await operator()).sendCommand(["CLIENT", "PAUSE", "60000", "ALL"]);
  const calls = Array.from({ length: 20 }, () => refused(state));
  const news = assert.rejects(state.news.announce({ kind: "tenants" }), unavailable);
  await server.kill();
  await Promise.all([...calls, news]);
});

test("a server that accepts and answers nothing counts as away after the deadline", async (t) => {
  const world = await newWorld(t);
  const { server, state } = world;
  await drawn(state);
  server.pause();
  const tookMs = await refused(state);
  assert.ok(tookMs >= callTimeoutMs - 5 && tookMs < 20 * callTimeoutMs, `${tookMs} ms`);
  assert.equal(state.isAvailable, false);
  await refusedAtOnce(state);
  server.resume();
  await isBack(state);
  // The rejected call may have been executed when the server resumed.
  const left = await drawn(state, 10);
  assert.ok(left === 8 || left === 9, `${left}`);
  toldOnce(world, /does not respond/);
});

test("a server that pauses its clients counts as away, and is back when it resumes", async (t) => {
  const world = await newWorld(t);
  const { state, operator } = world;
  await (await operator()).sendCommand(["CLIENT", "PAUSE", "1500", "ALL"]);
  await refused(state);
  await isBack(state);
  await drawn(state);
  toldOnce(world, /does not respond/);
});

test("lost packets are an outage after the deadline, and the connection recovers", async (t) => {
  const { state, proxy, flips } = await newWorld(t);
  await drawn(state);
  proxy.stall();
  await refused(state);
  await refusedAtOnce(state);
  await proxy.restore();
  await isBack(state);
  await drawn(state);
  assert.deepEqual(flips, [false, true]);
});

test("a slow answer within the deadline is an answer", async (t) => {
  const { state, proxy, flips } = await newWorld(t);
  proxy.delay(60);
  assert.equal(await drawn(state, 10), 10);
  assert.deepEqual(flips, []);
});

test("a busy process does not consider its server dead", async (t) => {
  const { server } = await newWorld(t);
  // Connects directly. The proxy runs in this process, so it would be just as busy.
  const state = await openRedis({ url: server.url, callTimeoutMs });
  t.after(() => state.close());
  const flips: boolean[] = [];
  state.watch((isAvailable) => flips.push(isAvailable));
  for (let rounds = 0; rounds < 3; rounds += 1) {
    const before = drawn(state);
    const busyUntil = performance.now() + 2 * callTimeoutMs;
    while (performance.now() < busyUntil);
    const written = drawn(state);
    await new Promise((resolve) => setImmediate(resolve));
    while (performance.now() < busyUntil + 2 * callTimeoutMs);
    assert.equal(await before, 1);
    assert.equal(await written, 1);
  }
  assert.deepEqual(flips, []);
});

test("scripts that the server has forgotten are sent again", async (t) => {
  const { state, flips, operator } = await newWorld(t);
  const admin = await operator();
  await drawn(state);
  for (let rounds = 0; rounds < 3; rounds += 1) {
    await admin.scriptFlush();
    const grants = await state.limits.draw(
      Array.from({ length: 20 }, () => ({ key: `round-${rounds}`, limit, tokens: 1 })),
    );
    assert.equal(
      grants.reduce((sum, { granted }) => sum + granted, 0),
      10,
    );
  }
  assert.deepEqual(flips, []);
});

test("a flush deletes everything and is not an outage", async (t) => {
  const { state, flips, operator } = await newWorld(t);
  const key = { tenantId: "t", idempotencyKey: "i" };
  const publish = {
    fingerprint: null,
    id: "p",
    eventType: "e",
    timestamp: 1,
    sequenceNumber: 1,
    deliveries: 1,
  };
  await state.publishes.remember([{ key, publish, until: Date.now() + 60_000 }]);
  assert.equal(await drawn(state, 10), 10);
  await (await operator()).flushAll();
  assert.deepEqual(await state.publishes.recall([key]), [null]);
  assert.equal(await drawn(state, 10), 10);
  assert.deepEqual(flips, []);
});

for (const { what, reason, begin, end } of [
  {
    what: "without memory",
    reason: /no memory left/,
    begin: (operator: Operator) => operator.configSet("maxmemory", "1"),
    end: (operator: Operator) => operator.configSet("maxmemory", "0"),
  },
  {
    what: "that has become a replica",
    reason: /read-only replica|lost its primary/,
    begin: (operator: Operator) => operator.sendCommand(["REPLICAOF", "127.0.0.1", "1"]),
    end: (operator: Operator) => operator.sendCommand(["REPLICAOF", "NO", "ONE"]),
  },
  {
    what: "that lacks its replicas",
    reason: /too few replicas/,
    begin: (operator: Operator) => operator.configSet("min-replicas-to-write", "1"),
    end: (operator: Operator) => operator.configSet("min-replicas-to-write", "0"),
  },
  {
    what: "whose rules have changed",
    reason: /lacks permissions/,
    begin: (operator: Operator) => operator.sendCommand(["ACL", "SETUSER", "default", "-time"]),
    end: (operator: Operator) => operator.sendCommand(["ACL", "SETUSER", "default", "+time"]),
  },
]) {
  test(`a server ${what} is away until it serves again`, async (t) => {
    const world = await newWorld(t, { settings: ["--maxmemory-policy", "noeviction"] });
    const { state, operator } = world;
    const admin = await operator();
    await drawn(state);
    await begin(admin);
    await refused(state);
    for (let calls = 0; calls < 20; calls += 1) await refused(state);
    await end(admin);
    await isBack(state);
    await drawn(state);
    toldOnce(world, reason);
  });
}

test("WDS-209 a login that is refused later is logged as an error, once", async (t) => {
  const { state, lines, operator } = await newWorld(t, {
    settings: ["--requirepass", "hunter2"],
    password: "hunter2",
  });
  const admin = await operator("hunter2");
  await admin.configSet("requirepass", "another");
  await admin.sendCommand(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
  await isAway(state);
  const errors = () => lines.filter(({ level }) => level === "error");
  await eventually("it is told", { ask: async () => errors().length, holds: (count) => count === 1 });
  assert.match(String(errors()[0]?.fields["reason"]), /refuses the login.*POSTHORN_REDIS_URL/);
  const connections = async () => /total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1];
  const before = Number(await connections());
  await eventually("more attempts", { ask: connections, holds: (now) => Number(now) > before + 2 });
  assert.equal(errors().length, 1);
  assert.doesNotMatch(inspect(lines, { depth: 9 }), /hunter2/);
  await admin.configSet("requirepass", "hunter2");
  await isBack(state);
});

test("a connection closed by an operator is reopened, and listeners are notified of the gap", async (t) => {
  const { state, operator } = await newWorld(t);
  const heard: StoreChange[] = [];
  state.news.subscribe((change) => heard.push(change));
  await (await operator()).sendCommand(["CLIENT", "KILL", "TYPE", "pubsub"]);
  await eventually("the gap", { ask: async () => heard, holds: ({ length }) => length > 0 });
  assert.deepEqual(heard, [{ kind: "unknown" }]);
  assert.equal(state.isAvailable, true);
});

test("both connections detect that the other side is gone", async (t) => {
  const { proxy, server } = await newWorld(t);
  const lines: LogLine[] = [];
  // Timers run ten times as fast, because the heartbeat runs only every five seconds.
  const clock: Clock = {
    ...systemClock,
    schedule: (delayMs, callback) => systemClock.schedule(delayMs / 10, callback),
  };
  const state = await openRedis({ url: proxy.addressOf(server.url), clock, lines });
  t.after(() => state.close());
  const heard: StoreChange[] = [];
  state.news.subscribe((change) => heard.push(change));
  proxy.stall();
  await eventually("both losses", { ask: async () => lines, holds: ({ length }) => length === 2 });
  assert.deepEqual(lines.map(({ level }) => level).toSorted(), ["debug", "warn"]);
  assert.equal(state.status.callsMade, 0);
  await proxy.restore();
  await isBack(state);
  await eventually("the gap", { ask: async () => heard, holds: ({ length }) => length > 0 });
  assert.deepEqual(heard, [{ kind: "unknown" }]);
});

test("a key with a foreign value fails only its call, and is logged once", async (t) => {
  const { state, lines, flips, operator } = await newWorld(t);
  const admin = await operator();
  await admin.lPush("posthorn:limit:{k}", "not ours");
  for (let calls = 0; calls < 5; calls += 1) await refused(state);
  const [grant] = await state.limits.draw([{ key: "other", limit, tokens: 1 }]);
  assert.equal(grant?.granted, 1);
  assert.deepEqual(flips, []);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ["error"],
  );
  assert.deepEqual(state.status, { isAvailable: true, callsMade: 6, callsFailed: 5 });
});

test("log lines about an outage show no password", async (t) => {
  const { server, state, lines } = await newWorld(t, {
    settings: ["--requirepass", "hunter2"],
    password: "hunter2",
  });
  await server.kill();
  await isAway(state);
  await assert.rejects(drawn(state), (error) => {
    assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2/);
    return true;
  });
  assert.doesNotMatch(inspect(lines, { depth: 9 }), /hunter2/);
});

test("closing while it is away, or on its way back, leaves nothing behind", async (t) => {
  const { server, state, operator } = await newWorld(t);
  server.pause();
  await refused(state);
  const begun = performance.now();
  await state.close();
  await state.close();
  assert.ok(performance.now() - begun < 20 * callTimeoutMs);
  await assert.rejects(drawn(state), unavailable);
  server.resume();
  const admin = await operator();
  await eventually("the last connection", {
    ask: async () => admin.clientList(),
    holds: ({ length }) => length === 1,
  });
});

test("closing waits for calls in flight", async (t) => {
  const { state } = await newWorld(t);
  const drawing = drawn(state, 3);
  await state.close();
  assert.equal(await drawing, 3);
});

test("two deployments on one server share nothing", async (t) => {
  const { server, state } = await newWorld(t);
  const other = await openRedis({ url: server.url, prefix: newPrefix() });
  t.after(() => other.close());
  const heard: StoreChange[] = [];
  other.news.subscribe((change) => heard.push(change));
  assert.equal(await drawn(state, 10), 10);
  assert.equal(await drawn(other, 10), 10);
  await state.news.announce({ kind: "tenants" });
  await other.limits.draw([]);
  assert.deepEqual(heard, []);
});

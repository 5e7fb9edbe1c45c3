/** A server that responds but rejects writes, or whose responses do not arrive. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, suite, test } from "node:test";
import { publish, start } from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { CuttingProxy } from "../../../test/services/cutting-proxy.fixture.ts";
import { PostgresServer } from "../../../test/services/postgres-server.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

const masterKeyIds = { current: "key", previous: [] };
const connectionsMax = 6;

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

suite("a primary that cannot be reached", () => {
  const stack = new AsyncDisposableStack();
  let server: PostgresServer;
  let proxy: CuttingProxy;
  let store: Store;

  before(async () => {
    server = await PostgresServer.start();
    stack.defer(() => server.remove());
    proxy = await CuttingProxy.to(server.port);
    stack.defer(() => proxy.close());
  });

  beforeEach(async () => {
    const url = proxy.addressOf(server.url);
    const limits = { connectionsMax, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 };
    store = await openPostgresStore({ url, now: start, masterKeyIds, ...limits });
  });

  afterEach(() => store.close());

  after(() => stack.disposeAsync());

  const publishes = (): Promise<boolean> => succeeds(publish(store));

  test("without its synchronous standby it holds no more connections than a process may have, and says why", async () => {
    await publish(store);
    store.changes?.subscribe(() => undefined);
    await server.loseStandby();
    const counts: number[] = [];
    const count = async (): Promise<void> => {
      const [row] = await server.query(
        "SELECT count(*)::int AS held FROM pg_stat_activity WHERE application_name LIKE 'posthorn%'",
      );
      counts.push(Number(row?.["held"]));
    };
    // More calls than connections. The caller of each one abandons it.
    const refused: Promise<unknown>[] = [];
    for (let round = 0; round < 3 * connectionsMax; round += 1) {
      refused.push(assert.rejects(publish(store), { name: "StoreUnavailableError" }));
      await count();
      if (round % connectionsMax === 0) await refused[round];
    }
    await Promise.all(refused);
    await count();
    const known = { name: "StoreUnavailableError", message: /synchronous standby/ };
    await eventually("it says what commits wait for", {
      ask: () => succeeds(assert.rejects(store.ping(), known)),
      holds: Boolean,
    });
    await server.needNoStandby();
    await eventually("publishing works again", { ask: publishes, holds: Boolean, withinMs: 30_000 });
    // The other commits may resume a moment later than this one.
    await eventually("it is well again", {
      ask: () => succeeds(store.ping()),
      holds: Boolean,
    });
    await count();
    assert.ok(Math.max(...counts) <= connectionsMax, `there were ${counts.join()} connections`);
  });

  test("a listener that receives nothing any more listens again", async () => {
    let told = Promise.withResolvers<undefined>();
    store.changes?.subscribe(({ kind }) => {
      if (kind === "unknown") told.resolve(undefined);
    });
    await told.promise;
    told = Promise.withResolvers();
    proxy.strand();
    // The timing is checked in notifications.test.ts, where it does not depend on the machine's load.
    await told.promise;
    await eventually("publishing works again", { ask: publishes, holds: Boolean, withinMs: 30_000 });
  });

  test("a standby is not mistaken for it until it is promoted", async () => {
    const standby = { name: "StoreUnavailableError", message: /standby/ };
    await publish(store);
    await server.stop();
    server.becomeStandby();
    await server.start();
    await eventually("the standby is known", {
      ask: () => succeeds(assert.rejects(store.ping(), standby)),
      holds: Boolean,
    });
    await assert.rejects(publish(store), standby);
    await assert.rejects(openPostgresStore({ url: server.url, now: start, masterKeyIds }), {
      name: "DatabaseSetupError",
      problem: "read_only",
      message: /standby/,
    });
    await server.query("SELECT pg_promote()");
    await eventually("publishing works again", { ask: publishes, holds: Boolean });
    await store.ping();
  });
});

/**
 * How many connections a server holds for a process. The process counts a connection until the server has closed it.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "../../../../test/scenarios/eventually.fixture.ts";
import { PostgresServer } from "../../../../test/services/postgres-server.fixture.ts";
import { Connections } from "./connections.ts";
import { ControlConnection } from "./control-connection.ts";
import { loadDriver } from "./driver.ts";
import { Incarnations } from "./server.ts";

const connectTimeoutMs = 60_000;
/** Each check opens a separate connection, so the checks take much longer than opening one connection. */
const looks = 10;

suite("connections that the server has not ended yet", () => {
  const stack = new AsyncDisposableStack();
  let server: PostgresServer;

  before(async () => {
    server = await PostgresServer.start();
    stack.defer(() => server.remove());
  });

  after(() => stack.disposeAsync());

  const held = async (): Promise<readonly number[]> => {
    const rows = await server.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'posthorn%' ORDER BY backend_start",
    );
    return rows.map(({ pid }) => Number(pid));
  };

  /** Returns the highest number of connections while a server process is stopped and cannot close its connection. */
  const mostWhileStopped = async (pid: number): Promise<number> => {
    let most = 0;
    try {
      for (let look = 0; look < looks; look += 1) most = Math.max(most, (await held()).length);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    return most;
  };

  test("one at the end of its lifetime is replaced when the server has ended it", async () => {
    const connections = new Connections(await loadDriver(), {
      url: server.url,
      connectionsMax: 1,
      connectTimeoutMs,
      bounds: null,
      unanswered: null,
      lifetimeMs: 1,
      preparedStatements: "off",
      incarnations: new Incarnations(),
    });
    const old = await connections.use(async ({ greeting }) => {
      // Longer than the connection lifetime, so that the connection is closed when it is returned.
      await held();
      process.kill(greeting.pid, "SIGSTOP");
      return greeting.pid;
    });
    const looked = Promise.withResolvers<undefined>();
    const replaced = connections.use(async ({ greeting }) => {
      await looked.promise;
      return greeting.pid;
    });
    assert.equal(await mostWhileStopped(old), 1);
    looked.resolve(undefined);
    assert.notEqual(await replaced, old);
    await connections.close();
  });

  test("the control connection is replaced when the server has ended it", async () => {
    const incarnations = new Incarnations();
    const control = new ControlConnection({
      driver: await loadDriver(),
      url: server.url,
      connectTimeoutMs,
      incarnations,
    });
    control.keepOpen({ opened: async () => undefined });
    await eventually("it is open", { ask: async () => control.isOpen, holds: Boolean });
    const [old = 0] = await held();
    process.kill(old, "SIGSTOP");
    control.renew();
    assert.equal(await mostWhileStopped(old), 1);
    await eventually("another one is open", {
      ask: held,
      holds: ([pid = old]) => pid !== old,
    });
    await control.close();
  });
});

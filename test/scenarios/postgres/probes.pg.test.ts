/**
 * Processes without the role `api` report their state at /livez, /readyz and /metrics, and do not serve any other path.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { ask, metricsOf, post, Probed, readiness, reasonsOf } from "./probed.fixture.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

suite("probes of processes without the role api", () => {
  for (const roles of ["worker", "scheduler"]) {
    test(`a ${roles} answers /livez, /healthz, /readyz and /metrics, and nothing else`, async (t) => {
      const { probed } = await Probed.open(t);
      const { command, url } = await probed.start(roles);
      assert.match(command.stderr, /"url":null/);
      for (const path of ["/livez", "/healthz", "/readyz"])
        assert.deepEqual(await ask(url + path), { status: 200, body: { status: "ok", reasons: [] } }, path);
      const metrics = await fetch(`${url}/metrics`);
      assert.match(metrics.headers.get("content-type") ?? "", /^text\/plain/);
      assert.match(await metrics.text(), /^webhook_queue_depth\{priority="normal"\} 0$/m);
      for (const path of ["/", "/v1/webhooks", "/openapi.json", "/docs", "/livez/x"]) {
        const { status, body } = await ask(url + path);
        assert.deepEqual([status, body["code"], body["status"]], [404, "not_found", 404], path);
      }
      assert.equal((await ask(`${url}/livez`, { method: "POST" })).status, 405);
      assert.equal((await command.stop()).status, 0);
      assert.doesNotMatch(command.stderr, /"level":"?(warn|error|40|50)/);
    });
  }

  test("they respond before startup is complete, and say so", async (t) => {
    const { database, probed } = await Probed.open(t);
    const first = await probed.start("scheduler");
    await first.command.stop();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    // Blocks the loading of webhooks, which a worker does before it serves any.
    const lock = "BEGIN; LOCK TABLE posthorn.webhooks IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)";
    const held = database.query(lock).catch(() => "ended");
    await eventually("the lock is held", {
      ask: () => database.query("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"),
      holds: (rows) => rows.length > 0,
    });
    const worker = probed.spawn("worker", port);
    const starting = await eventually("an answer", {
      ask: () => readiness(url),
      holds: (answer) => answer !== null,
    });
    assert.deepEqual(starting, { status: 503, body: { status: "unavailable", reasons: ["starting"] } });
    assert.equal((await ask(`${url}/livez`)).status, 200);
    assert.doesNotMatch(worker.stderr, /posthorn is running/);
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE%'",
    );
    await held;
    await worker.until(/posthorn is running/);
    assert.equal((await readiness(url))?.status, 200);
  });

  test("without its database a worker is not ready, then suspended, and alive throughout", async (t) => {
    const { database, probed } = await Probed.open(t);
    const elsewhere = await createTestDatabase();
    t.after(() => elsewhere.drop());
    const { url } = await probed.start("worker");
    const name = new URL(database.url).pathname.slice(1);
    const reachable = (yes: boolean) => elsewhere.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${yes}`);
    await reachable(false);
    await elsewhere.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    const away = await eventually("the store is missed", {
      ask: () => readiness(url),
      holds: (answer) => answer?.status === 503,
    });
    assert.deepEqual(reasonsOf(away), ["store_unavailable"]);
    const suspended = await eventually("it may not deliver any more", {
      ask: () => readiness(url),
      holds: (answer) => reasonsOf(answer).includes("worker_suspended"),
    });
    assert.deepEqual(reasonsOf(suspended), ["store_unavailable", "worker_suspended"]);
    assert.equal((await ask(`${url}/livez`)).status, 200);
    // Values that cannot be read are omitted. The rest of the scrape is complete.
    const metrics = await metricsOf(url);
    assert.match(metrics, /^webhook_worker_pool_utilization\{/m);
    assert.doesNotMatch(metrics, /^webhook_queue_depth\{/m);
    await reachable(true);
    await eventually("it is ready again", {
      ask: () => readiness(url),
      holds: (answer) => answer?.status === 200,
    });
  });

  test("while a worker finishes requests in flight it responds and is not ready", async (t) => {
    const { probed } = await Probed.open(t);
    const receiver = await probed.receiver();
    const answering = Promise.withResolvers<Record<string, never>>();
    receiver.script(() => answering.promise);
    const [api, worker] = await Promise.all([probed.start("api"), probed.start("worker")]);
    await post(`${api.url}/v1/webhooks`, { url: receiver.url("/"), events: ["*"] });
    await post(`${api.url}/v1/events`, { event_type: "order.paid", data: { id: 1 } });
    await receiver.waitForRequests(1);
    worker.command.child.kill("SIGTERM");
    const draining = await eventually("it drains", {
      ask: () => readiness(worker.url),
      holds: (answer) => answer?.status !== 200,
    });
    assert.equal(draining?.status, 503);
    assert.ok(reasonsOf(draining).includes("draining"), JSON.stringify(draining));
    assert.equal((await ask(`${worker.url}/livez`)).status, 200);
    assert.match(await metricsOf(worker.url), /^posthorn_requests_in_flight 1$/m);
    answering.resolve({});
    assert.equal((await worker.command.finished).status, 0);
    await assert.rejects(fetch(`${worker.url}/livez`));
  });

  test("two workers with the same port both deliver, one of them without probes; an API process refuses to start", async (t) => {
    const { database, probed } = await Probed.open(t);
    const receiver = await probed.receiver();
    const port = await freePort();
    const [api, ...workers] = await Promise.all([
      probed.start("api"),
      probed.start("worker", port),
      probed.start("worker", port),
    ]);
    const warnings = workers.flatMap(({ command }) => command.stderr.match(/.*POSTHORN_PORT.*/g) ?? []);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /"level":"warn".*taken.*\/livez, \/readyz and \/metrics/);
    assert.deepEqual(workers.map(({ url }) => url).toSorted(), ["", `http://127.0.0.1:${port}`]);
    for (let n = 0; n < 10; n += 1) {
      await post(`${api.url}/v1/webhooks`, { url: receiver.url(`/${n}`), events: [`load.n${n}`] });
      await post(`${api.url}/v1/events`, { event_type: `load.n${n}`, data: { id: 1 } });
    }
    await receiver.waitForRequests(10);
    await eventually("both workers serve webhooks", {
      ask: () => database.query("SELECT DISTINCT worker FROM posthorn.ownership WHERE worker IS NOT NULL"),
      holds: (owners) => owners.length === 2,
    });
    const second = await probed.spawn("api", port).finished;
    assert.equal(second.status, 1);
    assert.match(second.stderr, new RegExp(`port ${port} is in use.*\\n.*\\n.*probes`));
    for (const { command } of workers) assert.equal((await command.stop()).status, 0);
  });
});

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { posthorn, RunningCommand, temporaryFolder } from "./command-line.fixture.ts";

const dev = ["serve", "--dev", "--port", "0", "--data-dir", "data"] as const;

suite("posthorn serve", () => {
  test("says its address, where the key is and what to try; files are readable only by their owner", async () => {
    using folder = temporaryFolder();
    const server = new RunningCommand(dev, { cwd: folder.path });
    const [, url = ""] = await server.until(/address +(\S+)/);
    await server.until(/Stop with Ctrl-C/);
    assert.match(server.stderr, /admin key +data\/admin\.key/);
    assert.match(server.stderr, new RegExp(`API docs +${url}/docs`));
    assert.equal(server.stdout, "");
    assert.equal(statSync(join(folder.path, "data")).mode & 0o777, 0o700);
    for (const file of ["admin.key", "master.key", "posthorn.db"]) {
      assert.equal(statSync(join(folder.path, "data", file)).mode & 0o077, 0, file);
    }
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    const adminKey = readFileSync(join(folder.path, "data/admin.key"), "utf8").trim();
    const { status } = await server.stop("SIGINT");
    assert.equal(status, 0);
    assert.ok(!(server.stderr + server.stdout).includes(adminKey), "the key itself is never printed");
  });

  test("a second server on the same folder or port is rejected with an explanation", async () => {
    using folder = temporaryFolder();
    const server = new RunningCommand(dev, { cwd: folder.path });
    const [, port = ""] = await server.until(/address +http:\/\/127\.0\.0\.1:(\d+)/);
    const sameFolder = await posthorn(dev, { cwd: folder.path });
    assert.equal(sameFolder.status, 1);
    assert.match(sameFolder.stderr, /in use by process \d+[^]*--data-dir/);
    const samePort = await posthorn(["serve", "--data-dir", "other", "--port", port], { cwd: folder.path });
    assert.equal(samePort.status, 1);
    assert.match(samePort.stderr, new RegExp(`port ${port} is in use`));
    await server.stop();
  });

  test("finishes a running request on a stop signal, and a second signal ends it at once", async () => {
    using folder = temporaryFolder();
    const slow = await slowReceiver(1_500);
    const server = new RunningCommand(dev, { cwd: folder.path });
    const [, url = ""] = await server.until(/address +(\S+)/);
    const env = { POSTHORN_URL: url, POSTHORN_DATA_DIR: join(folder.path, "data") };
    await posthorn(["webhooks", "create", slow.url, "--events", "*"], { env });
    await posthorn(["publish", "a.b"], { env });
    await slow.requested;
    const startedAt = performance.now();
    assert.equal((await server.stop("SIGTERM")).status, 0);
    assert.equal(slow.answered(), 1, "the request in flight was waited for");
    assert.ok(performance.now() - startedAt < 100_000);

    const hanging = await slowReceiver(20_000);
    const again = new RunningCommand(dev, { cwd: folder.path });
    const [, secondUrl = ""] = await again.until(/address +(\S+)/);
    const secondEnv = { ...env, POSTHORN_URL: secondUrl };
    await posthorn(["webhooks", "create", hanging.url, "--events", "*"], { env: secondEnv });
    await posthorn(["publish", "a.b"], { env: secondEnv });
    await hanging.requested;
    again.child.kill("SIGTERM");
    await again.until(/a second signal exits immediately/);
    const killedAt = performance.now();
    assert.equal((await again.stop("SIGTERM")).status, 143);
    assert.ok(performance.now() - killedAt < 20_000);
    slow.close();
    hanging.close();
  });

  test("no secret of the settings is ever printed", async () => {
    using folder = temporaryFolder();
    const env = {
      POSTHORN_ADMIN_KEY: "canary-admin-key-canary-admin-key",
      POSTHORN_MASTER_KEY: "Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5YWI=",
      POSTHORN_LOG_LEVEL: "debug",
    };
    const printed = await posthorn(["config", "--json"], { cwd: folder.path, env });
    assert.equal(printed.status, 0, printed.stderr);
    const server = new RunningCommand(dev, { cwd: folder.path, env });
    const [, url = ""] = await server.until(/address +(\S+)/);
    await fetch(`${url}/v1/events`, { headers: { authorization: "Bearer wrong-canary-key" } });
    await fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${env.POSTHORN_ADMIN_KEY}` } });
    await server.stop();
    const everything = [printed.stdout, printed.stderr, server.stdout, server.stderr].join("\n");
    assert.doesNotMatch(everything, /canary|Y2FuYXJ5/);
    assert.ok(!existsSync(join(folder.path, "data/admin.key")), "a key that was given is not written");
  });

  test("with only the role api events are stored, and delivered once a worker runs", async () => {
    using folder = temporaryFolder();
    const quick = await slowReceiver(0);
    const accepting = new RunningCommand([...dev, "--roles", "api"], { cwd: folder.path });
    const [, url = ""] = await accepting.until(/address +(\S+)/);
    const env = { POSTHORN_URL: url, POSTHORN_DATA_DIR: join(folder.path, "data") };
    await posthorn(["webhooks", "create", quick.url, "--events", "*"], { env });
    await posthorn(["publish", "a.b"], { env });
    await accepting.stop();
    assert.equal(quick.answered(), 0);
    const working = new RunningCommand([...dev, "--roles", "scheduler,worker"], { cwd: folder.path });
    await quick.requested;
    await working.stop();
    assert.equal(quick.answered(), 1);
    quick.close();
  });

  test("backup and migrate", async () => {
    using folder = temporaryFolder();
    const plan = await posthorn(["migrate", "--plan"], { cwd: folder.path });
    assert.match(plan.stdout, /would apply 1 /);
    assert.match((await posthorn(["migrate"], { cwd: folder.path })).stdout, /applied 1 /);
    const server = new RunningCommand(dev, { cwd: folder.path });
    await server.until(/address/);
    const busy = await posthorn(["migrate"], { cwd: folder.path });
    assert.equal(busy.status, 1);
    const copy = await posthorn(["backup", "copy.db", "--json"], { cwd: folder.path });
    assert.equal(copy.status, 0, copy.stderr);
    assert.equal((JSON.parse(copy.stdout) as { file: string }).file, "copy.db");
    assert.match(copy.stderr, /master\.key/);
    assert.equal(statSync(join(folder.path, "copy.db")).mode & 0o077, 0);
    assert.equal((await posthorn(["backup", "copy.db"], { cwd: folder.path })).status, 1);
    await server.stop();
    assert.match((await posthorn(["migrate"], { cwd: folder.path })).stdout, /up to date/);
  });
});

interface SlowReceiver {
  readonly url: string;
  readonly requested: Promise<true>;
  readonly answered: () => number;
  readonly close: () => void;
}

async function slowReceiver(answerMs: number): Promise<SlowReceiver> {
  const { promise: requested, resolve } = Promise.withResolvers<true>();
  let answered = 0;
  const server: Server = createServer((request, response) => {
    request.resume();
    resolve(true);
    setTimeout(() => {
      answered += 1;
      response.end();
    }, answerMs).unref();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requested,
    answered: () => answered,
    close,
  };
}

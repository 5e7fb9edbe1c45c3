import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { type RabbitMqQueueOptions, openRabbitMqQueue } from "../../../src/queue/rabbitmq/open.ts";
import { WorkQueueSetupError, type WorkQueueProblem } from "../../../src/queue/rabbitmq/errors.ts";
import { systemClock } from "../../../src/system/clock.ts";
import { createSystemRandom } from "../../../src/system/random.ts";
import { type KeyPair, selfSignedPair, testAuthority, validPair } from "../../peers/certificates.ts";
import { freePort } from "../../services/own-process.fixture.ts";
import { listen, startAlteringProxy } from "./altering-proxy.fixture.ts";
import {
  createTestVirtualHost,
  RabbitMqBroker,
  rabbitmqctl,
  RecordedLog,
} from "./rabbitmq-broker.fixture.ts";
import { hint, sent, notifiedUntilHeard, until, Worker } from "./scene.fixture.ts";

const virtualHost = await createTestVirtualHost();
after(() => virtualHost.drop());

const port = Number(new URL(virtualHost.url).port || "5672");
const password = "hunter2";
const log = new RecordedLog();

function open(url: string, more: Partial<RabbitMqQueueOptions> = {}): ReturnType<typeof openRabbitMqQueue> {
  const parts = { clock: systemClock, random: createSystemRandom(), telemetry: { log } };
  return openRabbitMqQueue({ url, prefix: "never-made", ...parts, ...more });
}

/**
 * Asserts that opening fails within ten seconds with this reason, and that the message names the setting and does not
 * contain a secret.
 */
async function refused(problem: WorkQueueProblem, attempt: Promise<unknown>): Promise<string> {
  const startedAt = performance.now();
  let failure: unknown = null;
  await attempt.catch((error: unknown) => (failure = error));
  assert.ok(failure instanceof WorkQueueSetupError, String(failure));
  assert.equal(failure.problem, problem, failure.message);
  assert.match(failure.message, /setting POSTHORN_QUEUE_URL/);
  assert.ok(!failure.message.includes(password), failure.message);
  assert.ok(performance.now() - startedAt < 100_000);
  return failure.message;
}

/** The test's virtual host through a different port of this machine. */
function urlAt(
  otherPort: number,
  more: { readonly protocol?: string; readonly search?: string } = {},
): string {
  const url = new URL(virtualHost.url);
  const credentials = url.username === "" ? "" : `${url.username}:${url.password}@`;
  return `${more.protocol ?? "amqp"}://${credentials}127.0.0.1:${otherPort}${url.pathname}${more.search ?? ""}`;
}

async function withServer(server: Server, body: (serverPort: number) => Promise<unknown>): Promise<void> {
  const serverPort = await listen(server);
  try {
    await body(serverPort);
  } finally {
    server.close();
  }
}

suite("RabbitMQ start", () => {
  test("a port without a listener", async () => {
    const free = await freePort();
    const message = await refused("unreachable", open(`amqp://user:${password}@127.0.0.1:${free}/x`));
    assert.match(message, new RegExp(`127\\.0\\.0\\.1:${free}/x`));
  });

  test("an unknown host name", async () => {
    await refused("unreachable", open(`amqp://user:${password}@nowhere.invalid/x`));
  });

  test("an invalid address", async () => {
    await refused("invalid_url", open(`rabbit:${password}`));
  });

  test("a silent server is given up in time, and its socket is closed", async () => {
    let openSockets = 0;
    const silent = createServer((socket) => {
      openSockets += 1;
      socket.on("close", () => (openSockets -= 1)).on("error", () => undefined);
      socket.resume();
    });
    await withServer(silent, async (at) => {
      const url = `amqp://user:${password}@127.0.0.1:${at}`;
      await refused("no_answer", open(url));
      await refused("no_answer", open(url, { connectTimeoutMs: 300 }));
      await until("no socket is left", () => openSockets === 0);
    });
  });

  test("a server that sends single bytes is given up in time", async () => {
    const dripping = createServer((socket) => {
      const timer = setInterval(() => socket.write("\u0001"), 20);
      socket.on("close", () => clearInterval(timer)).on("error", () => undefined);
    });
    await withServer(dripping, (at) =>
      refused("no_answer", open(`amqp://u:${password}@127.0.0.1:${at}`, { connectTimeoutMs: 500 })),
    );
  });

  test("a server of another kind is recognized", async () => {
    const web = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .resume()
        .end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    await withServer(web, (at) => refused("no_answer", open(`amqp://u:${password}@127.0.0.1:${at}`)));
    const rude = createServer((socket) => socket.on("error", () => undefined).destroy());
    await withServer(rude, (at) => refused("no_answer", open(`amqp://u:${password}@127.0.0.1:${at}`)));
  });

  test("a rejected login", async () => {
    await refused("login_refused", open(`amqp://nobody:${password}@127.0.0.1:${port}`));
  });

  test("a missing virtual host", async () => {
    const url = new URL(virtualHost.url);
    url.pathname = "/no-such-host";
    const message = await refused("virtual_host", open(url.href));
    assert.match(message, /no-such-host.*add_vhost/);
  });

  test("a broker that is too old", async () => {
    const proxy = await startAlteringProxy({ target: port, alter: withVersion("3.9.29") });
    const message = await refused("too_old", open(urlAt(proxy.port)));
    assert.match(message, /3\.9\.29.*3\.10/);
    await proxy.close();
  });

  for (const version of ["3.10.0", "3.13.7", "4.3.1"]) {
    test(`version ${version} is not too old`, async () => {
      const proxy = await startAlteringProxy({ target: port, alter: withVersion(version) });
      const broker = await RabbitMqBroker.open(virtualHost);
      const { queue } = await broker.join({ url: urlAt(proxy.port) });
      assert.equal(queue.isConnected, true);
      await broker.close([]);
      await proxy.close();
    });
  }

  test("a queue of ours with other properties", async () => {
    const broker = await RabbitMqBroker.open(virtualHost);
    await broker.operator.assertQueue(broker.parkedQueue, { durable: true });
    const message = await refused("mismatch", broker.join());
    assert.ok(message.includes(broker.parkedQueue), message);
    assert.match(message, /delete it.*POSTHORN_QUEUE_PREFIX/);
    await broker.close([]);
  });

  test("a user without rights for the virtual host, or to create queues in it", async (t) => {
    const user = `posthorn-test-${process.pid}`;
    try {
      await rabbitmqctl("add_user", user, password);
    } catch {
      t.skip("no right to make users here");
      return;
    }
    t.after(() => rabbitmqctl("delete_user", user));
    const url = new URL(virtualHost.url);
    url.username = user;
    url.password = password;
    await refused("virtual_host", open(url.href));
    await rabbitmqctl("set_permissions", "-p", virtualHost.name, user, "^other", ".*", ".*");
    const message = await refused("no_permission", open(url.href));
    assert.match(message, /never-made\.parked.*set_permissions/);
  });

  test("the documented rights are enough, and without the default exchange they are not", async (t) => {
    const user = `posthorn-test-rights-${process.pid}`;
    try {
      await rabbitmqctl("add_user", user, password);
    } catch {
      t.skip("no right to make users here");
      return;
    }
    t.after(() => rabbitmqctl("delete_user", user));
    const broker = await RabbitMqBroker.open(virtualHost);
    t.after(() => broker.close(["default"]));
    const own = `^${broker.prefix}\\.`;
    const allow = (write: string) =>
      rabbitmqctl("set_permissions", "-p", virtualHost.name, user, own, write, own);
    const url = new URL(virtualHost.url);
    url.username = user;
    url.password = password;
    await allow(own);
    const message = await refused("no_permission", broker.join({ url: url.href }));
    assert.match(message, /default.*write permission for amq\.default/);
    await allow(`^(${broker.prefix}\\..*|amq\\.default)$`);
    const { queue } = await broker.join({ url: url.href });
    const worker = new Worker(queue);
    queue.listenAs(3);
    await sent(queue, [hint("allowed")]);
    await until("it is handled", () => worker.doneIds.includes("allowed"));
    await notifiedUntilHeard(queue, { to: worker, worker: 3, webhookId: "told" });
    broker.operator.sendToQueue(broker.workQueue("default"), Buffer.from("garbage"));
    await until("it is parked", () => queue.status.parked === 1);
    assert.equal((await queue.depth()).waiting.length, 3);
    assert.deepEqual(broker.log.ofLevel("error"), []);
  });
});

/** Encrypts the connection, like a broker with TLS. */
function tlsProxy(pair: KeyPair): ReturnType<typeof startAlteringProxy> {
  return startAlteringProxy({ target: port, tls: { key: pair.key, cert: pair.cert } });
}

suite("RabbitMQ start with TLS", () => {
  test("a port that does not speak TLS", async () => {
    await refused("tls", open(`amqps://u:${password}@127.0.0.1:${port}`));
  });

  test("a certificate without a known authority", async () => {
    const proxy = await tlsProxy(selfSignedPair);
    await refused("tls", open(urlAt(proxy.port, { protocol: "amqps" })));
    await proxy.close();
  });

  test("a missing file", async () => {
    const message = await refused(
      "tls",
      open(`amqps://u:${password}@127.0.0.1:${port}?cacertfile=/no/such.pem`),
    );
    assert.match(message, /\/no\/such\.pem/);
  });

  test("the authority in cacertfile is accepted", async () => {
    const folder = await mkdtemp(join(tmpdir(), "posthorn-queue-"));
    await writeFile(join(folder, "ca.pem"), testAuthority);
    const proxy = await tlsProxy(validPair);
    const broker = await RabbitMqBroker.open(virtualHost);
    const search = `?cacertfile=${encodeURIComponent(join(folder, "ca.pem"))}`;
    const { queue } = await broker.join({ url: urlAt(proxy.port, { protocol: "amqps", search }) });
    const worker = new Worker(queue);
    await sent(queue, [hint("encrypted")]);
    await until("it is handled", () => worker.doneIds.includes("encrypted"));
    await broker.close(["default"]);
    await proxy.close();
    await rm(folder, { recursive: true });
  });
});

/** Replaces the server's version with one of the same length in bytes. */
function withVersion(version: string): (chunk: Buffer) => Buffer {
  const name = Buffer.from("\u0007versionS");
  return (chunk) => {
    const at = chunk.indexOf(name);
    if (at < 0) return chunk;
    const lengthAt = at + name.length;
    const bytes = chunk.readUInt32BE(lengthAt);
    chunk.write(version.padEnd(bytes, "+").slice(0, bytes), lengthAt + 4, "latin1");
    return chunk;
  };
}

/**
 * Startup failures caused by RabbitMQ or Redis. The program must quickly print one sentence that names the setting and
 * the fix.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { after, suite, test } from "node:test";
import { freePort } from "../../services/own-process.fixture.ts";
import { RedisServer } from "../../services/redis-server.fixture.ts";
import { posthorn } from "./command-line.fixture.ts";

const queueUrl = process.env["POSTHORN_TEST_QUEUE_URL"] ?? "amqp://guest:guest@127.0.0.1:5672";
/** The requirement is ten seconds. On a busy machine, starting the process may take that long as well. */
const withinMs = 240_000;
/** Part of every URL below that has a password. It must never occur in the output. */
const password = "hunter2";
const databaseUrl = `postgres://posthorn:${password}@127.0.0.1:1/posthorn`;

const lockedRedis = await RedisServer.start(["--requirepass", "something else"]);
after(() => lockedRedis.remove());

/** Accepts connections and any data, but never responds. */
const silent = createServer((socket) => socket.on("error", () => undefined).resume()).listen(0, "127.0.0.1");
await once(silent, "listening");
after(() => silent.close());
const silentPort = (silent.address() as AddressInfo).port;
const closedPort = await freePort();

interface Case {
  readonly what: string;
  readonly env: Readonly<Record<string, string>>;
  readonly says: readonly RegExp[];
  /**
   * Contradictory settings are a usage error. The program does not connect, and prints a headline before the sentence.
   */
  readonly isUsage?: boolean;
}

/** The URL of the test broker with a different path or login. */
function brokerUrl(change: (url: URL) => void): string {
  const url = new URL(queueUrl);
  change(url);
  return url.href;
}

const rabbitMq: readonly Case[] = [
  {
    what: "nothing listens",
    env: { POSTHORN_QUEUE_URL: `amqp://posthorn:${password}@127.0.0.1:${closedPort}/` },
    says: [new RegExp(`127\\.0\\.0\\.1:${closedPort}`), /nothing listens there/, /check host and port/],
  },
  {
    what: "nothing answers",
    env: { POSTHORN_QUEUE_URL: `amqp://posthorn:${password}@127.0.0.1:${silentPort}/` },
    says: [/no RabbitMQ server responds in time/, /check host, port and firewall/],
  },
  {
    what: "another password",
    env: { POSTHORN_QUEUE_URL: brokerUrl((url) => (url.password = password)) },
    says: [/refuses the login/, /check user and password/],
  },
  {
    what: "no such virtual host",
    env: { POSTHORN_QUEUE_URL: brokerUrl((url) => (url.pathname = "/posthorn-has-no-such-host")) },
    says: [/virtual host/, /posthorn-has-no-such-host/, /rabbitmqctl add_vhost/],
  },
  {
    what: "another scheme",
    env: { POSTHORN_QUEUE_URL: `https://posthorn:${password}@127.0.0.1:15672/` },
    says: [/not a URL like amqp:\/\//],
  },
  {
    what: "the address of PostgreSQL",
    env: { POSTHORN_QUEUE_URL: databaseUrl },
    says: [/not a URL like amqp:\/\//],
  },
  {
    what: "without a database",
    env: { POSTHORN_DATABASE_URL: "", POSTHORN_QUEUE_URL: queueUrl },
    says: [/requires PostgreSQL/, /set POSTHORN_DATABASE_URL too, or unset the queue/],
    isUsage: true,
  },
];

const redis: readonly Case[] = [
  {
    what: "nothing listens",
    env: { POSTHORN_REDIS_URL: `redis://:${password}@127.0.0.1:${closedPort}/0` },
    says: [new RegExp(`127\\.0\\.0\\.1:${closedPort}`), /cannot be reached/, /check host and port/],
  },
  {
    what: "nothing answers",
    env: { POSTHORN_REDIS_URL: `redis://:${password}@127.0.0.1:${silentPort}/0` },
    says: [/no Redis server responds/, /check host and port/],
  },
  {
    what: "another password",
    env: { POSTHORN_REDIS_URL: `redis://:${password}@127.0.0.1:${lockedRedis.port}/0` },
    says: [/refuses the login/, /check user and password/],
  },
  {
    what: "no password",
    env: { POSTHORN_REDIS_URL: lockedRedis.url },
    says: [/refuses the login/, /check user and password/],
  },
  {
    what: "no database with that number",
    env: { POSTHORN_REDIS_URL: `redis://:something%20else@127.0.0.1:${lockedRedis.port}/9999` },
    says: [/no database with that number/, /use \/0/],
  },
  {
    what: "another scheme",
    env: { POSTHORN_REDIS_URL: `http://:${password}@127.0.0.1:6379/0` },
    says: [/not a URL like redis:\/\//],
  },
  {
    what: "the address of PostgreSQL",
    env: { POSTHORN_REDIS_URL: databaseUrl },
    says: [/not a URL like redis:\/\//],
  },
  {
    what: "without a database",
    env: { POSTHORN_DATABASE_URL: "", POSTHORN_REDIS_URL: lockedRedis.url },
    says: [/SQLite allows only one/, /set POSTHORN_DATABASE_URL too, or unset Redis/],
    isUsage: true,
  },
];

for (const { name, setting, cases } of [
  { name: "RabbitMQ", setting: "POSTHORN_QUEUE_URL", cases: rabbitMq },
  { name: "Redis", setting: "POSTHORN_REDIS_URL", cases: redis },
])
  suite(`a start with ${name} says what is missing`, () => {
    for (const { what, env, says, isUsage = false } of cases)
      test(what, async (t) => {
        const startedMs = performance.now();
        const { status, stdout, stderr } = await posthorn(["serve", "--port", "0"], {
          env: {
            POSTHORN_DATABASE_URL: databaseUrl,
            POSTHORN_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
            ...env,
          },
        });
        const tookMs = performance.now() - startedMs;
        t.diagnostic(`after ${Math.round(tookMs)} ms: ${stderr.trim()}`);
        assert.equal(status, isUsage ? 2 : 1, stderr);
        assert.equal(stdout, "");
        assert.match(stderr, new RegExp(setting));
        for (const each of says) assert.match(stderr, each);
        assert.doesNotMatch(stderr, new RegExp(`${password}|something else|guest:guest|\\n\\s+at `));
        assert.equal(stderr.trim().split("\n").length, isUsage ? 2 : 1, stderr);
        assert.ok(tookMs < withinMs, `took ${Math.round(tookMs)} ms`);
      });
  });

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { type TestContext, test } from "node:test";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { inspect } from "node:util";
import {
  connectOperator,
  newPrefix,
  openRedis,
} from "../../../test/conformance/shared-state/redis-state.fixture.ts";
import { selfSignedPair, testAuthority, validPair } from "../../../test/peers/certificates.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { freePort, ownFolder } from "../../../test/services/own-process.fixture.ts";
import { leftovers } from "../../../test/services/leftovers.fixture.ts";
import { RedisServer } from "../../../test/services/redis-server.fixture.ts";

const rightsOfManual = ["+@read", "+@write", "+@scripting", "+@pubsub", "+@connection", "+time", "+info"];

type Options = Parameters<typeof openRedis>[0];

async function newServer(t: TestContext, settings: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start(settings);
  t.after(() => server.remove());
  return server;
}

/** Starts a server that is not Redis. */
async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Sends the same reply to every command. */
function parrot(answer: string): Server {
  return createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      for (const _ of chunk.toString().matchAll(/^\*\d+\r$/gm)) socket.write(answer);
    });
  });
}

/**
 * Asserts that opening fails quickly with this problem, and that the message names the setting but not the credentials.
 */
async function refuses(url: string, problem: string, options: Options = {}): Promise<Error> {
  const begun = performance.now();
  let refusal: Error | undefined;
  await assert.rejects(openRedis({ ...options, url }), (error: Error & { readonly problem?: string }) => {
    refusal = error;
    assert.equal(error.name, "SharedStateSetupError", inspect(error));
    assert.equal(error.problem, problem, inspect(error));
    assert.match(error.message, /POSTHORN_REDIS_URL/);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /hunter2|somebody/);
    return true;
  });
  assert.ok(performance.now() - begun < 60_000);
  return refusal ?? new Error("nothing was refused");
}

async function opens(url: string, options: Options = {}): Promise<void> {
  const state = await openRedis({ ...options, url });
  assert.equal(state.isAvailable, true);
  await state.close();
}

test("an invalid address of Redis is refused without being shown", async () => {
  for (const url of [
    "",
    "hunter2",
    "http://somebody:hunter2@127.0.0.1",
    "redis://somebody:hunter2@127.0.0.1:not-a-port",
    "redis://somebody:hunter2%@127.0.0.1",
    "redis://somebody:hunter2@127.0.0.1/database",
    "redis://somebody:hunter2@127.0.0.1/-1",
    "redis://hunter2:1?x@127.0.0.1",
    "redis://hunter2:1#x@127.0.0.1",
    "redis://somebody:hunter2@127.0.0.1/0?db=1",
    "unix:",
    "unix:/no/such/socket",
    "unix:hunter2",
    "unix://somebody:1/hunter2@/no/such/socket",
    "unix:///no/such/socket?hunter2",
    "unix://somebody:hunter2@/",
  ]) {
    await refuses(url, "invalid_url");
  }
});

test("a server that does not listen, does not answer or does not exist is reported in time", async (t) => {
  const silent = await listening(
    t,
    createTcpServer(() => undefined),
  );
  const closed = createTcpServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, "close");
  await refuses(`redis://somebody:hunter2@127.0.0.1:${port}`, "unreachable");
  await refuses("redis://somebody:hunter2@no-such-host.invalid", "unreachable");
  await refuses("unix:///no/such/socket", "unreachable");
  const { message } = await refuses(`redis://somebody:hunter2@127.0.0.1:${silent}`, "no_answer");
  assert.match(message, new RegExp(`127\\.0\\.0\\.1:${silent}`));
  const hangsUp = await listening(
    t,
    createTcpServer((socket) => socket.end()),
  );
  await refuses(`redis://somebody:hunter2@127.0.0.1:${hangsUp}`, "unreachable");
});

test("a server that is not Redis is reported", async (t) => {
  const http = await listening(t, parrot("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await refuses(`redis://127.0.0.1:${http}`, "no_answer");
  const other = await listening(
    t,
    parrot("-ERR unknown command `AUTH`, with args beginning with: `somebody`, `hunter2`,\r\n"),
  );
  await refuses(`redis://somebody:hunter2@127.0.0.1:${other}`, "no_answer");
});

test("a login that is missing or wrong is refused, the right one is accepted", async (t) => {
  const { port } = await newServer(t, ["--requirepass", "pass word/hunter2"]);
  await refuses(`redis://127.0.0.1:${port}`, "login_refused");
  await refuses(`redis://:hunter2@127.0.0.1:${port}`, "login_refused");
  await refuses(`redis://somebody:hunter2@127.0.0.1:${port}`, "login_refused");
  await opens(`redis://:pass%20word%2Fhunter2@127.0.0.1:${port}`);
  await opens(`redis://default:pass%20word%2Fhunter2@127.0.0.1:${port}/3`);
});

test("a password for a server without one is refused too", async (t) => {
  const { port } = await newServer(t);
  await refuses(`redis://somebody:hunter2@127.0.0.1:${port}`, "login_refused");
  await refuses(`redis://:hunter2@127.0.0.1:${port}`, "login_refused");
});

test("a user without the rights is refused, one with exactly the documented rights is accepted", async (t) => {
  const server = await newServer(t);
  const operator = await connectOperator(server.url);
  t.after(() => operator.destroy());
  const allow = (...rules: readonly string[]) =>
    operator.sendCommand(["ACL", "SETUSER", "somebody", "reset", "on", ">hunter2", ...rules]);
  const url = `redis://somebody:hunter2@127.0.0.1:${server.port}`;
  const rights = rightsOfManual;
  const prefix = newPrefix();
  for (const missing of [
    [],
    ["+@all"],
    ["+@all", "~*", "resetchannels"],
    ["+@all", "&*", "~other:*"],
    [...rights.filter((right) => right !== "+@write"), `~${prefix}:*`, "&*"],
    [...rights.filter((right) => right !== "+@scripting"), `~${prefix}:*`, "&*"],
    [...rights.filter((right) => right !== "+time"), `~${prefix}:*`, "&*"],
    [...rights, "-subscribe", `~${prefix}:*`, "&*"],
    [...rights, "-publish", `~${prefix}:*`, "&*"],
  ]) {
    await allow(...missing);
    await refuses(url, "no_permission", { prefix });
  }
  await allow(...rights, `~${prefix}:*`, `&${prefix}:config`);
  await opens(url, { prefix });
});

test("missing TLS and an unknown certificate are each reported", async (t) => {
  const plain = await newServer(t);
  const quick = { connectTimeoutMs: 500 };
  await refuses(`rediss://somebody:hunter2@127.0.0.1:${plain.port}`, "tls", quick);
  const tls = await listening(
    t,
    createTlsServer(selfSignedPair, (socket) => socket.on("error", () => undefined)).on(
      "tlsClientError",
      () => undefined,
    ),
  );
  await refuses(`rediss://somebody:hunter2@localhost:${tls}`, "tls");
  const { message } = await refuses(`redis://somebody:hunter2@127.0.0.1:${tls}`, "unreachable");
  assert.match(message, /rediss:/);
});

test("a certificate of a known authority is accepted, by name and by address", async (t) => {
  const server = await newServer(t);
  const tls = await listening(
    t,
    createTlsServer(validPair, (near) => {
      const far = connect(server.port, "127.0.0.1");
      for (const socket of [near, far]) socket.on("error", () => undefined);
      near.pipe(far).pipe(near);
    }),
  );
  const known = getCACertificates();
  setDefaultCACertificates([...known, testAuthority]);
  t.after(() => setDefaultCACertificates(known));
  await opens(`rediss://localhost:${tls}`);
  await opens(`rediss://127.0.0.1:${tls}`);
});

test("a Unix socket is an address too", async (t) => {
  const folder = ownFolder("redis-socket", null);
  t.after(() => leftovers.removeFolder(folder));
  await newServer(t, ["--unixsocket", join(folder, "redis.sock")]);
  await opens(`unix://${join(folder, "redis.sock")}`);
});

test("a database that the server does not have is missing", async (t) => {
  const server = await newServer(t);
  await refuses(`${server.url}/99`, "missing");
});

test("a Redis before 6.2 is refused", async (t) => {
  const info = "# Server\r\nredis_version:6.0.16\r\n";
  const old = await listening(t, parrot(`$${info.length}\r\n${info}\r\n`));
  const { message } = await refuses(`redis://127.0.0.1:${old}`, "too_old");
  assert.match(message, /6\.0\.16/);
});

test("a replica and a server without memory are reported as refusing writes", async (t) => {
  const server = await newServer(t, ["--maxmemory-policy", "noeviction"]);
  const operator = await connectOperator(server.url);
  t.after(() => operator.destroy());
  await operator.configSet("maxmemory", "1");
  await refuses(server.url, "refuses_writes");
  await operator.configSet("maxmemory", "0");
  await operator.sendCommand(["REPLICAOF", "127.0.0.1", "1"]);
  await operator.configSet("replica-serve-stale-data", "yes");
  await refuses(server.url, "refuses_writes");
  await operator.sendCommand(["REPLICAOF", "NO", "ONE"]);
  await opens(server.url);
});

test("opening waits for a server that is still loading, until the time is up", async (t) => {
  const server = await newServer(t, ["--key-load-delay", "200", "--enable-debug-command", "yes"]);
  const operator = await connectOperator(server.url);
  t.after(() => operator.destroy());
  await operator.sendCommand(["DEBUG", "POPULATE", "10000"]);
  await operator.sendCommand(["CONFIG", "SET", "loading-process-events-interval-bytes", "1024"]);
  // Reloads the data that was just written. Each key delays the reload.
  const loading = operator.sendCommand(["DEBUG", "RELOAD"]).catch(() => undefined);
  const isLoading = await connectOperator(server.url);
  t.after(() => isLoading.destroy());
  await assert.rejects(isLoading.get("key:1"), /LOADING/);
  await refuses(server.url, "refuses_writes", { connectTimeoutMs: 300 });
  await opens(server.url, { connectTimeoutMs: 60_000 });
  await loading;
});

test("a cluster of several nodes is refused, one of a single node is not", async (t) => {
  const ports = [String(await freePort()), String(await freePort())] as const;
  const newNode = (port: string) => newServer(t, ["--cluster-enabled", "yes", "--cluster-port", port]);
  const servers = [await newNode(ports[0]), await newNode(ports[1])] as const;
  const operators = [await connectOperator(servers[0].url), await connectOperator(servers[1].url)] as const;
  t.after(() => {
    for (const operator of operators) operator.destroy();
  });
  const becomes = (size: number) =>
    eventually(`a cluster of ${size}`, {
      ask: () => operators[0].clusterInfo(),
      holds: (info) => info.includes("cluster_state:ok") && info.includes(`cluster_size:${size}\r`),
    });
  await operators[0].sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
  await becomes(1);
  await opens(servers[0].url);
  const rules = ["on", ">hunter2", "~*", "&*", ...rightsOfManual];
  await operators[0].sendCommand(["ACL", "SETUSER", "somebody", ...rules]);
  const restricted = `redis://somebody:hunter2@127.0.0.1:${servers[0].port}`;
  await opens(restricted);
  await operators[0].sendCommand(["CLUSTER", "DELSLOTSRANGE", "8000", "16383"]);
  await operators[1].sendCommand(["CLUSTER", "ADDSLOTSRANGE", "8000", "16383"]);
  await operators[0].sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(servers[1].port), ports[1]]);
  await becomes(2);
  await refuses(servers[0].url, "cluster");
  await refuses(restricted, "cluster");
});

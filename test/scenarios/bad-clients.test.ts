/**
 * Callers that disconnect, send slowly, smuggle requests or send numbers that exceed a double are refused. Other
 * callers are not affected.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { assertProblem, createClient, fieldsOf, itemsOf } from "./api/client.fixture.ts";
import type { Client } from "./api/client.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

let posthorn: PosthornProcess;
let api: Client;

before(async () => {
  // Production settings: http and loopback addresses are not allowed.
  posthorn = await PosthornProcess.start({ env: { POSTHORN_DEV: "false" } });
  api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
});
after(async () => {
  await posthorn.remove();
});

const body = '{"event_type":"order.paid","data":{"n":1}}';

test("two lengths, or a length and chunks, are rejected and the connection is closed", async () => {
  const length = `Content-Length: ${body.length}\r\n`;
  for (const [name, head, sent] of [
    ["the same length twice", length + length, body],
    ["two lengths", `${length}Content-Length: 3\r\n`, body],
    ["a list of lengths", `Content-Length: ${body.length}, ${body.length}\r\n`, body],
    ["a signed length", `Content-Length: +${body.length}\r\n`, body],
    ["chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"],
    ["an unknown coding", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n"],
    ["a negative chunk", "Transfer-Encoding: chunked\r\n", `-5\r\n${body}\r\n0\r\n\r\n`],
    ["an endless chunk size", "Transfer-Encoding: chunked\r\n", `FFFFFFFFFFFFFFFFF\r\n${body}\r\n0\r\n\r\n`],
  ] as const) {
    const smuggled = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    const answer = await exchange(`${requestHead()}${head}\r\n${sent}${smuggled}`);
    assert.match(answer, /^HTTP\/1\.1 400 /, name);
    assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1, `${name}: one answer, and the rest is not read`);
  }
  await assertNothingStored();
});

test("a caller that disconnects in the middle of a body is not an error of the server", async () => {
  for (const cut of [0, 1, body.length - 1]) {
    const socket = await open();
    socket.write(`${requestHead()}Content-Length: ${body.length}\r\n\r\n${body.slice(0, cut)}`);
    // A response on another connection shows that the server has read the data on the first one.
    assert.equal((await api.get("/livez")).status, 200);
    socket.resetAndDestroy();
  }
  await assertNothingStored();
  assert.doesNotMatch(posthorn.output, /failed unexpectedly/);
});

test("two hundred callers that never finish their headers do not slow down the others", async () => {
  const sockets = await Promise.all(Array.from({ length: 200 }, open));
  for (const socket of sockets) socket.write("GET /livez HTTP/1.1\r\nHost: a\r\nX-Slow:");
  const startedAt = performance.now();
  assert.equal((await api.get("/readyz")).status, 200);
  // The server closes such connections after ten seconds. Because it polls for them, closing takes up to a minute.
  assert.ok(performance.now() - startedAt < 60_000);
  for (const socket of sockets) socket.destroy();
});

test("unfinished heads on all connections block no publisher, and no probe", async () => {
  const own = await PosthornProcess.start({ env: { POSTHORN_MAX_CONNECTIONS: "20" } });
  const client = createClient({ baseUrl: own.url, key: own.adminKey });
  const { hostname, port } = new URL(own.url);
  const strangers: Socket[] = [];
  for (let count = 0; count < 60; count += 1) {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    strangers.push(socket);
    await once(socket, "connect");
    socket.write("GET /livez HTTP/1.1\r\nHost: a\r\nX-Slow:");
    const published = await client.post("/v1/events", { event_type: "order.paid", data: { n: count } });
    assert.equal(published.status, 202, published.text);
    assert.equal((await client.get("/livez")).status, 200);
  }
  for (const socket of strangers) socket.destroy();
  await own.remove();
});

test("a server on :: answers over IPv4 and IPv6, and the audit log has plain IPv4 addresses", async (t) => {
  const own = await PosthornProcess.start({ env: { POSTHORN_HOST: "::", POSTHORN_DEV: "false" } });
  t.after(() => own.remove());
  for (const host of ["127.0.0.1", "[::1]"]) {
    const client = createClient({ baseUrl: `http://${host}:${own.port}`, key: own.adminKey });
    const made = await client.call("PUT", "/v1/tenants/acme", { body: { name: host } });
    assert.ok(made.status < 300, made.text);
  }
  const audited = await createClient({ baseUrl: own.url, key: own.adminKey }).get("/v1/audit-log");
  const addresses = itemsOf(audited.body["data"]).map((row) => row["address"] as unknown);
  assert.ok(addresses.includes("127.0.0.1") && addresses.includes("::1"), JSON.stringify(addresses));
  assert.doesNotMatch(audited.text, /::ffff:/);
});

test("a number beyond a double is rejected with its position, not stored as null", async () => {
  for (const [path, raw, field] of [
    ["/v1/event-types/a.b", '{"examples":[{"sum":[1,1e999]}]}', "examples[0].sum[1]"],
    ["/v1/webhooks", '{"url":"https://example.com/","events":["a"],"metadata":{"x":1E+400}}', "metadata.x"],
  ] as const) {
    const reply = await api.call(path.endsWith("a.b") ? "PUT" : "POST", path, { raw });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.deepEqual(fieldsOf(reply), [field]);
  }
  await assertNothingStored();
});

test("invalid ids, names and rates are reported by their own rule", async () => {
  const batch = (filter: object): Promise<Awaited<ReturnType<Client["post"]>>> =>
    api.post("/v1/dlq/retry-batch", { filter });
  assert.match(
    (await batch({ webhook_ids: ["nope"] })).text,
    /filter\.webhook_ids\[0\]","message":"must be an id/,
  );
  assert.match(
    (await batch({ from: "yesterday" })).text,
    /filter\.from","message":"must be an RFC 3339 time/,
  );
  const tenant = await api.call("PUT", "/v1/tenants/acme%20corp", { body: {} });
  assertProblem(tenant, { status: 400, code: "invalid_request" });
  assert.match(tenant.text, /"id","message":"must be a name of a-z/);
  const type = await api.call("PUT", "/v1/event-types/order%20paid", { body: {} });
  assertProblem(type, { status: 400, code: "invalid_request" });
  assertProblem(await api.get("/v1/tenants/acme%20corp"), { status: 404, code: "not_found" });
});

test("a stop does not wait for connections that are only kept open", async () => {
  const own = await PosthornProcess.start();
  const client = createClient({ baseUrl: own.url, key: own.adminKey });
  let stopping = false;
  const callers = Array.from({ length: 8 }, async () => {
    while (!stopping) await client.get("/v1/events").catch(() => null);
  });
  await client.get("/v1/events");
  const startedAt = performance.now();
  const status = await own.stop();
  const elapsedMs = performance.now() - startedAt;
  stopping = true;
  await Promise.all(callers);
  await own.remove();
  assert.equal(status, 0);
  assert.ok(elapsedMs < 25_000, `of a grace of 30 s the stop took ${elapsedMs} ms`);
});

function requestHead(): string {
  return (
    "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
    `Authorization: Bearer ${posthorn.adminKey}\r\n`
  );
}

async function open(): Promise<Socket> {
  const socket = connect(posthorn.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Resolves with all bytes received until the server closed the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = await open();
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.write(bytes);
  await once(socket, "close");
  return text;
}

async function assertNothingStored(): Promise<void> {
  for (const path of ["/v1/events", "/v1/webhooks"])
    assert.deepEqual(itemsOf((await api.get(path)).body["data"]), [], path);
}

test("a request rejected by its head gets a problem that says why", async () => {
  const heads: Readonly<Record<string, readonly [head: string, status: number]>> = {
    "no Host": ["GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    "two Hosts": ["GET /livez HTTP/1.1\r\nHost: a\r\nhost: a\r\nConnection: close\r\n\r\n", 400],
    "an expectation": ["GET /livez HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n", 417],
    "no HTTP": ["GET\r\n\r\n", 400],
  };
  for (const [what, [head, status]] of Object.entries(heads)) {
    const answer = await exchange(head);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what);
    assert.match(answer, /content-type: application\/problem\+json/i, what);
    const problem = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as Record<string, unknown>;
    assert.equal(problem["status"], status, what);
    assert.equal(typeof problem["detail"], "string", what);
  }
});

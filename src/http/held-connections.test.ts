import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { HeldConnections } from "./server.ts";

async function serve(t: TestContext, connectionsMax: number, answer: RequestListener) {
  let nowMs = 1_000;
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    if (!held.refuses(request.socket, request.url ?? "")) return answer(request, response);
    return response.writeHead(503, { connection: "close" }).end();
  });
  const held = new HeldConnections(server, connectionsMax, { monotonicMs: () => nowMs });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  /** Opens a connection and waits until the server accepts it. */
  const open = async (text = ""): Promise<Socket> => {
    const accepted = once(server, "connection");
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    await Promise.all([once(socket, "connect"), accepted]);
    if (text !== "") socket.write(text);
    return socket;
  };
  const ask = async (path: string, socket?: Socket): Promise<string> => {
    const over = socket ?? (await open());
    const answered = once(over, "data");
    over.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return String((await answered)[0]).split("\r\n", 1)[0] ?? "";
  };
  return { open, ask, wait: (ms: number) => (nowMs += ms) };
}

const ok = "HTTP/1.1 200 OK";
const quick: RequestListener = (_request, response) => void response.end("ok");

test("connections that never finish a head are closed first, oldest first", async (t) => {
  const { open, ask } = await serve(t, 10, quick);
  const served = await open();
  assert.equal(await ask("/a", served), ok);
  const strangers: Socket[] = [];
  for (let n = 0; n < 30; n += 1) strangers.push(await open("GET / HTTP/1.1\r\nHost: a\r\nX-Slow:"));
  await Promise.all(strangers.slice(0, 21).map(async (one) => one.closed || once(one.resume(), "close")));
  assert.ok(strangers.slice(21).every(({ closed }) => !closed));
  // Clients that already sent a request keep their connections, and new clients are served.
  assert.equal(await ask("/b", served), ok);
  assert.equal(await ask("/c"), ok);
});

test("idle connections are closed next, those idle longest first", async (t) => {
  const { open, ask } = await serve(t, 3, quick);
  const [first, second, third] = [await open(), await open(), await open()];
  for (const one of [first, second, third]) assert.equal(await ask("/", one), ok);
  assert.equal(await ask("/again", first), ok);
  const closed = once(second, "close");
  assert.equal(await ask("/new"), ok);
  await closed;
  assert.equal(await ask("/", first), ok);
  assert.equal(await ask("/", third), ok);
});

test("if all connections are busy, probes are answered and other requests are rejected", async (t) => {
  const hanging: (() => void)[] = [];
  const { open, ask } = await serve(t, 2, (request, response) => {
    if (request.url === "/hang") hanging.push(() => void response.end("ok"));
    else response.end("ok");
  });
  const busy = [await open(), await open()];
  const answers = busy.map((socket) => ask("/hang", socket));
  while (hanging.length < 2) await new Promise(setImmediate);
  assert.equal(await ask("/livez"), ok);
  assert.equal(await ask("/readyz?verbose"), ok);
  assert.equal(await ask("/v1/events"), "HTTP/1.1 503 Service Unavailable");
  // Clients that occupy the slots reserved for probes without sending anything do not block probes.
  for (let n = 0; n < 40; n += 1) await open();
  assert.equal(await ask("/livez"), ok);
  for (const end of hanging) end();
  assert.deepEqual(await Promise.all(answers), [ok, ok]);
});

test("a slowly sent body is closed after some seconds, and not before", async (t) => {
  const arrived = Promise.withResolvers<null>();
  const { open, ask, wait } = await serve(t, 1, (request, response) => {
    arrived.resolve(null);
    request.resume().on("end", () => void response.end("ok"));
  });
  const dripping = await open("POST /in/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx");
  await arrived.promise;
  assert.equal(await ask("/v1/events"), "HTTP/1.1 503 Service Unavailable");
  wait(5_000);
  const closed = once(dripping, "close");
  assert.equal(await ask("/v1/events"), ok);
  await closed;
});

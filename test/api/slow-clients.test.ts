/** Slow clients must not keep a connection or memory for longer than the limits allow. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import type { ApiTimeouts } from "../../src/http/context.ts";
import { createClient } from "../scenarios/api/client.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

const timeouts: ApiTimeouts = {
  headersTimeoutMs: 300,
  requestTimeoutMs: 600,
  // Long enough not to interfere with the limits under test.
  idleTimeoutMs: 600_000,
  keepAliveTimeoutMs: 600_000,
  checkIntervalMs: 50,
  goodbyeMs: 100,
  answerTimeoutMs: 300,
};

let standIn: StandIn;
const sockets: Socket[] = [];

before(async () => {
  standIn = await openStandIn(() => ({ timeouts }));
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  await standIn.close();
});

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(standIn.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

/** Resolves when the server has closed the connection. A client that does not read notices this only when it sends. */
async function endsWhileSending(socket: Socket, text: string): Promise<void> {
  socket.pause();
  const { promise: closed, resolve } = Promise.withResolvers<null>();
  socket.once("close", () => resolve(null));
  const timer = setInterval(() => socket.write(text), 20);
  await closed;
  clearInterval(timer);
}

test("a client that sends its headers byte by byte, reads no response and does not hang up, is disconnected", async () => {
  const socket = await open();
  socket.write("POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Slow: ");
  await endsWhileSending(socket, "a");
});

test("a client that sends its body byte by byte, reads no response and does not hang up, is disconnected", async () => {
  const socket = await open();
  socket.write(`${uploadHead(100_000)}{`);
  await endsWhileSending(socket, " ");
});

test("a client that sends request after request and reads nothing is disconnected", async () => {
  const socket = await open();
  await endsWhileSending(socket, "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20));
});

test("unfinished bodies do not fill the memory, and leave capacity for others", async () => {
  // Long enough that the bodies stay unfinished.
  const forEver = { ...timeouts, headersTimeoutMs: 300_000, requestTimeoutMs: 300_000 };
  const patient = await openStandIn(() => ({ timeouts: forEver }));
  try {
    const { hostname, port } = new URL(patient.baseUrl);
    const before = process.memoryUsage().arrayBuffers;
    const body = Buffer.alloc(15_000_000, " ");
    const refused: Promise<string>[] = [];
    for (let upload = 0; upload < 40; upload += 1) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => undefined);
      sockets.push(socket);
      refused.push(once(socket, "data").then(([answer]) => String(answer)));
      socket.write(uploadHead(body.length + 1, { path: "/v1/events/batch", key: patient.adminKey }));
      socket.write(body);
    }
    // Some requests are refused immediately because too many are open. An accepted request never completes.
    const answer = await Promise.race(refused);
    assert.match(answer, /^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n[^]*"code":"unavailable"/i);
    const held = process.memoryUsage().arrayBuffers - before - body.length;
    assert.ok(held < 512 * 1024 * 1024, `${held} bytes are held`);
    const client = createClient({ baseUrl: patient.baseUrl, key: patient.adminKey });
    const event = { event_type: "shop.paid", data: { text: "x".repeat(10_000) } };
    assert.equal((await client.post("/v1/events", event)).status, 202);
  } finally {
    for (const socket of sockets) socket.destroy();
    await patient.close();
  }
});

function uploadHead(
  length: number,
  { path = "/v1/events", key = standIn.adminKey }: { readonly path?: string; readonly key?: string } = {},
): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  );
}

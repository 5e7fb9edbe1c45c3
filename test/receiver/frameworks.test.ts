import assert from "node:assert/strict";
import { connect } from "node:net";
import { suite, test } from "node:test";
import type { VerifiedMessage } from "../../src/receiver/message/message.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { frameworks, type Framework } from "./frameworks.fixture.ts";
import { nowMs } from "./messages.fixture.ts";

/** The body is not valid UTF-8, so decoding would corrupt it. */
const bytes = new Uint8Array([0x7b, 0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x7d]);
const bodyBytesMax = 200_000;

const headers = {
  "content-type": "application/json",
  "idempotency-key": '"key-1"',
  "x-producer": "shop",
  "x-time": String(nowMs / 1_000),
};

async function start(
  t: { after(cleanup: () => Promise<void>): void },
  framework: Framework,
  handle: (received: VerifiedMessage) => object | undefined = () => undefined,
) {
  const endpoint = endpointWith({ bodyBytesMax, handler: handle });
  const server = await framework.start(endpoint.receiver);
  t.after(() => server.close());
  const url = `${server.url}/app/hooks`;
  const send = (init: RequestInit = {}, query = "") =>
    fetch(url + query, { method: "POST", headers, body: bytes, redirect: "manual", ...init });
  return { ...endpoint, server, url, send };
}

for (const framework of frameworks) {
  suite(`receiver in ${framework.name}`, () => {
    test("the handler gets the sent bytes, and its response arrives", async (t) => {
      let seen: VerifiedMessage | undefined;
      const { send } = await start(t, framework, (received) => {
        seen = received;
        return { status: 201, body: bytes, contentType: "application/x-test" };
      });
      const response = await send({}, "?a=%20b&c");
      assert.equal(response.status, 201);
      assert.equal(response.headers.get("content-type"), "application/x-test");
      assert.deepEqual(new Uint8Array(await response.arrayBuffer()), bytes);
      assert.deepEqual(new Uint8Array(seen!.message.body), bytes);
      assert.equal(seen!.message.method, "POST");
      assert.match(seen!.message.url, /\/app\/hooks\?a=%20b&c$/);
      assert.equal(seen!.message.headers.get("X-Producer"), "shop");
      assert.ok(Symbol.iterator in seen!.message.headers);
    });

    test("CEW-2.2-5 a processed message is 204 without content", async (t) => {
      const { send } = await start(t, framework);
      const response = await send();
      assert.deepEqual([response.status, await response.text()], [204, ""]);
      assert.equal(response.headers.get("content-length"), null);
      assert.equal(response.headers.get("content-type"), null);
    });

    test("every other response arrives as well", async (t) => {
      const { send, url } = await start(t, framework);
      const problem = await send({ headers: { ...headers, "content-type": "text/plain" } });
      assert.equal(problem.status, 415);
      assert.equal(problem.headers.get("content-type"), "application/problem+json");
      assert.equal(((await problem.json()) as { status: number }).status, 415);
      assert.equal((await send({ headers: { ...headers, "content-type": "no type" } })).status, 415);
      assert.equal((await send({ headers: { ...headers, "x-producer": "" } })).status, 204);
      assert.equal((await fetch(url)).status, 405);
      const options = await fetch(url, { method: "OPTIONS" });
      assert.deepEqual([options.status, options.headers.get("allow")], [405, "POST"]);
      assert.equal((await fetch(url, { method: "HEAD" })).status, 405);
    });

    test("the receiver decides about every Content-Type, even one that is not a media type", async (t) => {
      const seen: (string | null)[] = [];
      const endpoint = endpointWith({
        contentTypes: "any",
        handler: ({ message }) => void seen.push(message.headers.get("content-type")),
      });
      const server = await framework.start(endpoint.receiver);
      t.after(() => server.close());
      const types = ["json", ";", "a/b/c", "application/json"];
      for (const [at, type] of types.entries()) {
        const init = {
          method: "POST",
          body: bytes,
          headers: { ...headers, "content-type": type, "idempotency-key": `"key-${at}"` },
        };
        assert.equal((await fetch(`${server.url}/app/hooks`, init)).status, 204, type);
      }
      assert.deepEqual(seen, types);
    });

    test("a message without a body and without a type is answered", async (t) => {
      const { url } = await start(t, framework);
      assert.equal((await fetch(url, { method: "POST" })).status, 415);
    });

    test("a body over the limit is 413, with and without a length", async (t) => {
      const { send, seen } = await start(t, framework);
      const tooLarge = new Uint8Array(bodyBytesMax + 1);
      assert.equal((await send({ body: tooLarge })).status, 413);
      const stream = new Blob([tooLarge]).stream();
      assert.equal((await send({ body: stream, duplex: "half" })).status, 413);
      assert.equal((await send({ body: tooLarge.subarray(1) })).status, 204);
      assert.equal(seen.runs, 1);
    });

    test("the receiver's limit applies, not the framework's own", async (t) => {
      const { receiver } = endpointWith({ bodyBytesMax: 8_000_000 });
      const server = await framework.start(receiver);
      t.after(() => server.close());
      const body = new Uint8Array(4_000_000);
      const response = await fetch(`${server.url}/app/hooks`, { method: "POST", headers, body });
      assert.equal(response.status, 204);
    });

    test("an endless body is cut off", async (t) => {
      const { server } = await start(t, framework);
      const sent = await sendWithoutEnd(server.url);
      assert.ok(sent < 100 * bodyBytesMax, `${sent} bytes`);
    });

    test("repeated header fields are combined into one list", async (t) => {
      let seen: string | null = null;
      const { send } = await start(t, framework, ({ message }) => {
        seen = message.headers.get("x-list");
        return undefined;
      });
      await send({ headers: [...Object.entries(headers), ["x-list", "a"], ["x-list", "b"]] });
      assert.equal(seen, "a, b");
    });
  });
}

/** Writes a chunked body until the other side closes the connection; resolves with the number of bytes written. */
function sendWithoutEnd(serverUrl: string): Promise<number> {
  const { port } = new URL(serverUrl);
  const fields = Object.entries({ ...headers, "transfer-encoding": "chunked", host: "localhost" });
  const head = `POST /app/hooks HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, 0x61), Buffer.from("\r\n")]);
  return new Promise((resolve) => {
    const socket = connect(Number(port), "127.0.0.1", () => {
      socket.write(head);
      pump();
    });
    const pump = (): void => {
      while (!socket.destroyed && socket.bytesWritten < 200 * bodyBytesMax && socket.write(chunk));
      if (socket.bytesWritten >= 200 * bodyBytesMax) socket.destroy();
    };
    socket.on("drain", pump);
    socket.on("error", () => undefined);
    socket.resume();
    socket.on("close", () => resolve(socket.bytesWritten));
  });
}

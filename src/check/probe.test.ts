import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { suite, test } from "node:test";
import { probe } from "./probe.ts";
import type { ProbeAnswer, ProbeRequest } from "./probe.ts";

async function ask(server: Server, request: Partial<ProbeRequest> = {}): Promise<ProbeAnswer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/`);
  try {
    return await probe({
      method: "POST",
      url,
      headers: [],
      body: Buffer.alloc(0),
      timeoutMs: 5_000,
      ...request,
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A server that sends this text on every connection. */
function saying(text: string, then: (socket: Socket) => void = (socket) => socket.end()): Server {
  return createTcpServer((socket) => {
    socket.on("error", () => undefined).resume();
    socket.write(text);
    then(socket);
  });
}

suite("one request of a check", () => {
  test("an endless body is cut off at the end of the response", async () => {
    let bytes = 0;
    const server = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > 200_000 && !response.headersSent) response.writeHead(413).end();
      });
    });
    const answer = await ask(server, { body: { bytesMax: 1024 ** 3 } });
    assert.ok(answer.kind === "answer" && answer.status === 413 && !answer.isBodyTaken);
    assert.ok(bytes < 64 * 1024 ** 2, `${bytes} bytes`);
  });

  test("a completely read body is reported as such", async () => {
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.writeHead(401).end("no"));
    });
    const answer = await ask(server, { body: { bytesMax: 300_000 } });
    assert.ok(answer.kind === "answer" && answer.isBodyTaken);
    assert.equal(answer.body, "no");
  });

  test("the reason for a missing response is reported", async () => {
    const hangUp = createTcpServer((socket) => socket.destroy());
    const closed = await ask(hangUp);
    assert.ok(closed.kind === "failure" && closed.cause === "closed");
    const noHttp = await ask(saying("220 mail.test ESMTP\r\n"));
    assert.ok(noHttp.kind === "failure" && noHttp.cause === "no_http");
    const silent = await ask(
      saying("", () => undefined),
      { timeoutMs: 100 },
    );
    assert.ok(silent.kind === "failure" && silent.cause === "timeout");
    assert.equal(silent.message, "no response within 100 ms");
  });

  test("a response with an endless body is limited in time and bytes", async () => {
    const dripping = await ask(
      saying("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", () => undefined),
      { timeoutMs: 200 },
    );
    assert.ok(dripping.kind === "failure" && dripping.cause === "timeout");
    const flood = createServer((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, "y"))) continue;
      };
      response.on("drain", more).writeHead(200);
      more();
    });
    const answer = await ask(flood);
    assert.ok(answer.kind === "answer");
    assert.equal(answer.body.length, 64 * 1024);
  });
});

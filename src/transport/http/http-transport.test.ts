import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { testAuthority, validPair } from "../../../test/peers/certificates.ts";
import { answering, behaviours, startHostileReceiver } from "../../../test/peers/hostile-receiver.ts";
import { receive, send, start, statusOf } from "./loopback.fixture.ts";

async function eventually(condition: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 5000;
  while (!condition()) {
    assert.ok(performance.now() < giveUpAtMs, "it never came true");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("http transport: sockets", () => {
  it("never has more than socketsMax, and lets requests wait for one", async (t) => {
    const transport = start(t, { socketsMax: 3 });
    const receiver = await receive(t);
    const gate = Promise.withResolvers<object>();
    receiver.script(() => gate.promise);
    const pending = Array.from({ length: 10 }, () => send(transport, receiver.origin));
    await receiver.waitForRequests(3);
    assert.equal(transport.openSockets(), 3);
    gate.resolve({});
    assert.deepEqual(new Set((await Promise.all(pending)).map(statusOf)), new Set([200]));
    assert.equal(receiver.connectionCount, 3);
    assert.equal(receiver.concurrencyPeak, 3);
  });

  it("closes the connection that was idle longest to make room for another origin", async (t) => {
    const transport = start(t, { socketsMax: 2 });
    const [a, b, c] = [await receive(t), await receive(t), await receive(t)];
    for (const receiver of [a, b, a, c]) assert.equal(statusOf(await send(transport, receiver.origin)), 200);
    await b.waitUntil(() => b.connectionsOpen === 0);
    await a.waitUntil(() => a.connectionsOpen === 1);
    await c.waitUntil(() => c.connectionsOpen === 1);
    assert.equal(transport.openSockets(), 2);
  });

  it("times out requests that wait for a socket, without having sent them", async (t) => {
    const transport = start(t, { socketsMax: 1 });
    const receiver = await receive(t);
    receiver.script(() => "hang");
    const first = send(transport, receiver.origin, 400);
    const third = send(transport, receiver.origin);
    const second = await send(transport, receiver.origin, 100);
    assert.deepEqual(second.observation, { kind: "failure", category: "timeout", requestSent: false });
    receiver.script(() => ({}));
    assert.deepEqual((await first).observation, { kind: "failure", category: "timeout", requestSent: true });
    assert.equal(statusOf(await third), 200);
    assert.equal(receiver.requestCount, 2);
  });

  it("serves waiting requests when the receiver closes after each answer", async (t) => {
    const transport = start(t, { socketsMax: 2 });
    const receiver = await receive(t);
    receiver.script(() => ({ headers: { Connection: "close" } }));
    const results = await Promise.all(Array.from({ length: 20 }, () => send(transport, receiver.origin)));
    assert.deepEqual(new Set(results.map(statusOf)), new Set([200]));
    assert.equal(receiver.connectionCount, 20);
    await eventually(() => receiver.connectionsOpen === 0 && transport.openSockets() === 0);
  });

  it("closes idle sockets, and keeps those that the receiver offers to keep", async (t) => {
    const transport = start(t, { idleSocketMs: 50 });
    const silent = await startHostileReceiver({
      behave: answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    });
    t.after(() => silent.close());
    const offering = await receive(t);
    for (const { origin } of [silent, offering]) await send(transport, origin);
    assert.equal(transport.openSockets(), 2);
    await silent.untilAllClosed();
    await eventually(() => transport.openSockets() === 1);
    // The server sends `Keep-Alive: timeout=5`.
    assert.equal(offering.connectionsOpen, 1);
  });

  it("notices that a receiver closed an idle connection", async (t) => {
    const transport = start(t);
    const receiver = await receive(t);
    for (let count = 0; count < 5; count++) {
      assert.equal(statusOf(await send(transport, receiver.origin)), 200);
      receiver.closeIdleConnections();
      await receiver.waitUntil(() => receiver.connectionsOpen === 0);
    }
    assert.equal(receiver.connectionCount, 5);
  });

  it("sends again over a new connection when the receiver closes the one to be reused", async (t) => {
    const transport = start(t);
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const requests: number[] = [];
    let connections = 0;
    const peer = await startHostileReceiver({
      behave: async (connection) => {
        const number = (connections += 1);
        await connection.request();
        requests.push(number);
        connection.socket.write(ok);
        // The server's FIN and the client's next request cross in transit, so the request gets no response.
        await connection.request();
        requests.push(number);
        if (number === 1) connection.socket.end();
        else connection.socket.resetAndDestroy();
      },
    });
    t.after(() => peer.close());
    for (let count = 0; count < 3; count++) {
      const result = await send(transport, peer.origin);
      assert.equal(statusOf(result), 200, String(count));
    }
    // Requests 2 and 3 were lost on the previous connection and sent again on a new connection.
    assert.deepEqual(requests, [1, 1, 2, 2, 3]);
  });

  it("does not repeat a request on a new connection, after a part of the answer, or a second time", async (t) => {
    const transport = start(t);
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const counts = { first: 0, partial: 0, again: 0 };
    const peers = {
      first: await startHostileReceiver({
        behave: async (connection) => {
          await connection.request();
          counts.first += 1;
          connection.socket.end();
        },
      }),
      partial: await startHostileReceiver({
        behave: async (connection) => {
          await connection.request();
          connection.socket.write(ok);
          await connection.request();
          counts.partial += 1;
          connection.socket.end("HTTP/1.1 2");
        },
      }),
      again: await startHostileReceiver({
        behave: async (connection) => {
          await connection.request();
          counts.again += 1;
          if (counts.again > 1) return void connection.socket.end();
          connection.socket.write(ok);
          await connection.request();
          counts.again += 1;
          return void connection.socket.end();
        },
      }),
    };
    for (const peer of Object.values(peers)) t.after(() => peer.close());
    const lost = { kind: "failure", category: "network", requestSent: true };
    assert.deepEqual((await send(transport, peers.first.origin)).observation, lost);
    assert.equal(counts.first, 1);
    for (const [peer, expected] of [
      [peers.partial, 1],
      [peers.again, 3],
    ] as const) {
      assert.equal(statusOf(await send(transport, peer.origin)), 200);
      const { observation } = await send(transport, peer.origin);
      assert.deepEqual(observation, lost);
      assert.equal(peer === peers.partial ? counts.partial : counts.again, expected);
    }
  });

  it("does not mistake leftovers of one answer for the next answer", async (t) => {
    const transport = start(t);
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const peer = await startHostileReceiver({
      behave: answering(`${ok}HTTP/1.1 500 Poison\r\nContent-Length: 0\r\n\r\n`),
    });
    t.after(() => peer.close());
    for (let count = 0; count < 3; count++) assert.equal(statusOf(await send(transport, peer.origin)), 200);
    assert.equal(peer.connectionCount, 3);
  });

  it("drops the connection when a body is longer than it reads", async (t) => {
    const transport = start(t);
    const receiver = await receive(t);
    receiver.script((_, index) => ({ body: "b".repeat(index === 0 ? 64 * 1024 : 80 * 1024) }));
    for (const openSockets of [1, 0]) {
      const result = await send(transport, receiver.origin);
      assert.deepEqual(result.observation, { kind: "response", status: 200, complete: true });
      assert.equal(transport.openSockets(), openSockets);
    }
  });

  it("resolves the name again after it could not connect", async (t) => {
    const receiver = await receive(t);
    const answers = ["127.0.0.9", "127.0.0.1"];
    let queries = 0;
    const dns = {
      resolve: async () => [{ address: answers[queries++] ?? "", ttlMs: 60_000 }],
      close: () => undefined,
    };
    const transport = start(t, { dns });
    const origin = `http://moved.test:${receiver.port}`;
    const refused = await send(transport, origin);
    assert.equal(refused.trace?.peerAddress, "127.0.0.9");
    assert.equal(
      statusOf(refused),
      `connect ECONNREFUSED ***:${receiver.port}`,
      "an inner address is hidden",
    );
    assert.equal(statusOf(await send(transport, origin)), 200);
  });

  it("tries the next address in parallel with one that does not answer", async (t) => {
    const receiver = await receive(t, { tls: validPair, hostname: "a.receiver.test" });
    const silent = createServer((socket) => socket.on("error", () => socket.destroy()).resume());
    await new Promise<void>((resolve) => silent.listen(receiver.port, "127.0.0.2", resolve));
    t.after(() => silent.close());
    const dns = {
      resolve: async () => ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, ttlMs: 60_000 })),
      close: () => undefined,
    };
    const transport = start(t, { dns, tls: { ca: testAuthority } });
    const result = await send(transport, receiver.origin);
    assert.equal(statusOf(result), 200);
    assert.ok(result.durationMs >= 200 && result.durationMs < 15_000, `${result.durationMs} ms`);
  });

  it("gives up connecting at the deadline and frees the socket", async (t) => {
    const transport = start(t, { addressPolicy: { judge: () => ({ allowed: true }) } });
    const peer = await startHostileReceiver({ behave: behaviours.silent });
    t.after(() => peer.close());
    const result = await send(transport, `https://127.0.0.1:${peer.port}`, 150);
    assert.deepEqual(result.observation, { kind: "failure", category: "timeout", requestSent: false });
    assert.equal(transport.openSockets(), 0);
    await peer.untilAllClosed();
  });

  it("is not held up by a name server that never answers", async (t) => {
    const dns = { resolve: () => new Promise<never>(() => undefined), close: () => undefined };
    const transport = start(t, { dns });
    const receiver = await receive(t);
    const slow = send(transport, "https://slow.test", 200);
    assert.equal(statusOf(await send(transport, receiver.origin)), 200);
    assert.deepEqual((await slow).observation, { kind: "failure", category: "timeout", requestSent: false });
    assert.equal(transport.openSockets(), 1);
  });

  it("resolves localhost without a query", async (t) => {
    const transport = start(t);
    const receiver = await receive(t);
    assert.equal(statusOf(await send(transport, `http://localhost:${receiver.port}`)), 200);
  });

  it("lets the process end once closed", async (t) => {
    const receiver = await receive(t);
    const script = `
      const { createHttpTransport } = await import(${JSON.stringify(new URL("http-transport.ts", import.meta.url).href)});
      const clock = { monotonicMs: () => performance.now(), schedule: (ms, call) => {
        const timer = setTimeout(call, ms);
        return { cancel: () => clearTimeout(timer) };
      } };
      const { createHostNames } = await import(${JSON.stringify(new URL("../../system/host-names.ts", import.meta.url).href)});
      const addressPolicy = { judge: () => ({ allowed: true }) };
      const transport = createHttpTransport({ addressPolicy, clock, dns: createHostNames(), socketsMax: 9,
        idleSocketMs: 60_000 });
      const request = { method: "POST", origin: "${receiver.origin}", path: "/", headers: [], body: Buffer.from("x"),
        timeoutMs: 600_000, http2: false, clientCertificate: null };
      await transport.send(request);
      void transport.send({ ...request, origin: "https://name-that-does-not-exist.test" });
      void transport.send(request);
      await transport.close();
      console.log("closed");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const killer = setTimeout(() => child.kill(), 60_000);
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    clearTimeout(killer);
    assert.equal(code, 0);
    assert.equal(output, "closed\n");
  });
});

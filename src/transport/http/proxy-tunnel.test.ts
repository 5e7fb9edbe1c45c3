import { strict as assert } from "node:assert";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { testAuthority, validPair } from "../../../test/peers/certificates.ts";
import { behaviours, startHostileReceiver } from "../../../test/peers/hostile-receiver.ts";
import { receive, send, start, statusOf } from "./loopback.fixture.ts";

interface FakeProxy {
  readonly url: string;
  readonly heads: string[];
}

/** Opens a tunnel to 127.0.0.1 regardless of the requested host, or responds with `refusal`. */
async function startProxy(t: TestContext, refusal?: string): Promise<FakeProxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client.on("error", () => client.destroy()));
    client.once("data", (chunk: Buffer) => {
      const head = chunk.toString("latin1");
      heads.push(head);
      if (refusal !== undefined) {
        client.end(refusal);
        return;
      }
      const port = Number(/^CONNECT \S+:(\d+) /.exec(head)?.[1]);
      const upstream = createUpstream(port, client);
      sockets.add(upstream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://user:canary@127.0.0.1:${(server.address() as AddressInfo).port}`, heads };
}

function createUpstream(port: number, client: Socket): Socket {
  const upstream = connect(port, "127.0.0.1", () => {
    client.write("HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n");
    client.pipe(upstream).pipe(client);
  });
  upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
  client.on("close", () => upstream.destroy());
  return upstream;
}

describe("http transport: through a CONNECT proxy", () => {
  it("TS16-126 tunnels TLS and plain HTTP, names unresolved, and reuses the tunnel", async (t) => {
    const proxy = await startProxy(t);
    const transport = start(t, { proxyUrl: proxy.url, tls: { ca: testAuthority } });
    const secure = await receive(t, { tls: validPair, hostname: "a.receiver.test" });
    const plain = await receive(t, { hostname: "plain.receiver.test" });
    for (const origin of [secure.origin, secure.origin, plain.origin, plain.origin]) {
      assert.equal(statusOf(await send(transport, origin)), 200);
    }
    assert.equal(proxy.heads.length, 2);
    assert.match(
      proxy.heads[0] ?? "",
      new RegExp(`^CONNECT a\\.receiver\\.test:${secure.port} HTTP/1\\.1\r\nHost: `),
    );
    const credentials = Buffer.from("user:canary").toString("base64");
    assert.match(proxy.heads[0] ?? "", new RegExp(`Proxy-Authorization: Basic ${credentials}`));
    assert.doesNotMatch(JSON.stringify(secure.requests), /Proxy-Authorization/i);
  });

  it("verifies the certificate through the tunnel", async (t) => {
    const proxy = await startProxy(t);
    const transport = start(t, { proxyUrl: proxy.url, tls: { ca: testAuthority } });
    const receiver = await receive(t, { tls: validPair, hostname: "elsewhere.test" });
    const result = await send(transport, receiver.origin);
    assert.deepEqual(result.observation, { kind: "failure", category: "ssl", requestSent: false });
    assert.equal(receiver.requestCount, 0);
  });

  it("judges literals before asking the proxy", async (t) => {
    const proxy = await startProxy(t);
    const transport = start(t, { proxyUrl: proxy.url });
    const result = await send(transport, "https://10.0.0.1");
    assert.equal(statusOf(result), "egress refused: 10.0.0.1 is private");
    assert.equal(proxy.heads.length, 0);
  });

  it("reports what the proxy refuses, without credentials", async (t) => {
    for (const { answer, message } of [
      { answer: "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", message: /^proxy refused .* 407$/ },
      { answer: "SSH-2.0\r\n\r\n", message: /^proxy did not respond with HTTP$/ },
      { answer: "", message: /^proxy closed the connection$/ },
      { answer: `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}`, message: /^proxy response is too large$/ },
    ]) {
      const proxy = await startProxy(t, answer);
      const result = await send(start(t, { proxyUrl: proxy.url }), "https://a.receiver.test");
      assert.deepEqual(result.observation, { kind: "failure", category: "network", requestSent: false });
      assert.match(result.errorMessage ?? "", message);
    }
  });

  it("ends within the deadline when the proxy hangs", async (t) => {
    const peer = await startHostileReceiver({ behave: behaviours.silent });
    t.after(() => peer.close());
    const transport = start(t, { proxyUrl: peer.origin });
    const result = await send(transport, "https://a.receiver.test", 150);
    assert.deepEqual(result.observation, { kind: "failure", category: "timeout", requestSent: false });
    await peer.untilAllClosed();
  });
});

/**
 * Opt-in HTTP/2: which requests are sent, how a stream may affect a response, and which requests share a connection.
 */
import { strict as assert } from "node:assert";
import { describe, it, type TestContext } from "node:test";
import type { AttemptObservation } from "../../../src/domain/classify.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { testAuthority, validPair } from "../../peers/certificates.ts";
import { type Behaviour, type HostileReceiver, startHostileReceiver } from "../../peers/hostile-receiver.ts";
import { answeringFrames, frames, http2Pair, refusesPush } from "../../peers/http2-frames.ts";
import { type Http2Receiver, startHttp2Receiver } from "../../peers/http2-receiver.ts";
import { startReceiver } from "../../peers/receiver.ts";
import {
  checkMessage,
  type CreateTransport,
  loopbackOnly,
  sentInTime,
  testRequest,
} from "./transport.suite.ts";

const request = { ...testRequest, http2: true };
const ok = { kind: "response", status: 200, complete: true } as const;
const cutShort = { kind: "response", status: 200, complete: false } as const;
const lost = { kind: "failure", category: "network", requestSent: true } as const;
const broken = { kind: "failure", category: "protocol", requestSent: true } as const;

const codes = { none: 0, internal: 2, refused: 7, cancel: 8, calm: 11 };
const head = frames.ok;
const partOf = [head, frames.data("part")];

interface FrameRow {
  readonly title: string;
  readonly behave: Behaviour;
  readonly expected: AttemptObservation;
  readonly message?: RegExp;
}

const resets: readonly FrameRow[] = [
  ...Object.entries(codes).flatMap(([name, code]) => [
    {
      title: `EDS-9.9-2 a stream that is reset (${name}) instead of an answer is a network failure`,
      behave: answeringFrames([frames.reset(code)]),
      expected: lost,
    },
    {
      title: `EDS-9.9-2 EDS-9.3-2 a stream that is reset (${name}) in its body is an incomplete answer`,
      behave: answeringFrames([...partOf, frames.reset(code)]),
      expected: cutShort,
      message: /bytes of its body/,
    },
  ]),
  {
    title: "EDS-9.9-2 a connection that ends before a response is a network failure",
    behave: answeringFrames([], { afterwards: "close" }),
    expected: lost,
  },
  {
    title: "EDS-9.3-2 a connection that ends in the body is an incomplete response",
    behave: answeringFrames(partOf, { afterwards: "close" }),
    expected: cutShort,
  },
  {
    title: "EDS-9.3-2 a connection told to go away in the body is an incomplete response",
    behave: answeringFrames([...partOf, frames.goAway({ lastStreamId: 1, code: codes.internal })]),
    expected: cutShort,
  },
];

const others: readonly FrameRow[] = [
  {
    title: "a response is complete with its last frame, whatever follows",
    behave: answeringFrames([head, frames.lastData("whole"), frames.reset(codes.none)]),
    expected: ok,
  },
  {
    title: "a request that the connection still answers survives a GOAWAY",
    behave: answeringFrames([
      frames.goAway({ lastStreamId: 1, code: codes.none }),
      head,
      frames.lastData("x"),
    ]),
    expected: ok,
  },
  {
    title: "EDS-9.2.4-1 interim responses are not an outcome over HTTP/2",
    behave: answeringFrames([frames.earlyHints, frames.earlyHints, head, frames.lastData("")]),
    expected: ok,
  },
  {
    title: "a flood of interim responses breaks the protocol",
    behave: answeringFrames(Array.from({ length: 100 }, () => frames.earlyHints)),
    expected: broken,
    message: /1xx/,
  },
  {
    title: "bytes that are not frames break the protocol",
    behave: answeringFrames([Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]),
    expected: broken,
  },
  {
    title: "EDS-9.9-4 a pushed stream breaks the protocol",
    behave: answeringFrames([frames.push, head, frames.lastData("")]),
    expected: broken,
  },
  {
    title: "a flood of pings is cut",
    behave: answeringFrames([], { afterwards: "flood" }),
    expected: broken,
    // nghttp2 may detect the flood before the limit is reached.
    message: /bytes without a complete response head|Flooding was detected/,
  },
  {
    title: "a hanging receiver reaches the deadline",
    behave: answeringFrames([]),
    expected: { ...lost, category: "timeout" },
  },
  {
    title: "a receiver that hangs in its body reaches the deadline",
    behave: answeringFrames(partOf),
    expected: { ...lost, category: "timeout" },
  },
];

export function http2Suite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: HTTP/2 frames`, { concurrency: 4 }, () => {
    for (const row of [...resets, ...others]) {
      it(row.title, async (t) => {
        const { peer, transport } = await startFrames(t, { create, behave: row.behave });
        const { result } = await sentInTime(transport, { ...request, origin: peer.origin }, row.expected);
        assert.deepEqual(result.observation, row.expected, result.errorMessage ?? "");
        checkMessage(result, row.message);
        assert.ok(peer.bytesWritten < 12 * 1024 * 1024, `${peer.bytesWritten} bytes were read`);
        if (result.observation.kind === "failure" || !result.observation.complete)
          await peer.untilAllClosed();
      });
    }

    it("EDS-9.9-4 push is disabled in the settings", async (t) => {
      let refused = false;
      const seen: Parameters<typeof answeringFrames>[1] = { seen: (found) => (refused = refusesPush(found)) };
      const { peer, transport } = await startFrames(t, {
        create,
        behave: answeringFrames([head, frames.lastData("")], seen),
      });
      assert.deepEqual((await transport.send({ ...request, origin: peer.origin })).observation, ok);
      assert.equal(refused, true);
    });

    it("a request that the receiver did not process (GOAWAY) is sent over another connection, once", async (t) => {
      const goAway = answeringFrames([frames.goAway({ lastStreamId: 0, code: codes.none })]);
      const answer = answeringFrames([head, frames.lastData("")]);
      let accepting = true;
      const { peer, transport } = await startFrames(t, {
        create,
        behave: (connection) => (accepting && peer.connectionCount === 2 ? answer : goAway)(connection),
      });
      assert.deepEqual((await transport.send({ ...request, origin: peer.origin })).observation, ok);
      accepting = false;
      const before = peer.connectionCount;
      // The idle connection does not accept further requests to this peer, and such requests would count as hanging.
      // The test therefore uses a new transport.
      const fresh = create({ policy: loopbackOnly, names: localhost, ca: testAuthority });
      t.after(() => fresh.close());
      const refused = await fresh.send({ ...request, origin: peer.origin });
      assert.deepEqual(refused.observation, { ...lost, requestSent: false });
      assert.equal(peer.connectionCount - before, 2);
    });
  });

  describe(`transport ${name}: HTTP/2 requests`, () => {
    it("CEW-1.2-1 carries method, path, headers and body, over one connection for consecutive requests", async (t) => {
      const { receiver, transport } = await start(t, create);
      for (let sent = 0; sent < 3; sent++)
        assert.deepEqual((await transport.send({ ...request, origin: receiver.origin })).observation, ok);
      assert.equal(receiver.sessionCount, 1);
      assert.equal(transport.openSockets(), 1);
      const [first] = receiver.requests;
      assert.deepEqual(first?.body, testRequest.body);
      const { headers } = first;
      assert.equal(headers[":method"], "POST");
      assert.equal(headers[":path"], testRequest.path);
      assert.equal(headers[":authority"], new URL(receiver.origin).host);
      assert.equal(headers["x-canary"], "canary-value");
      assert.equal(headers["content-type"], "application/json");
      assert.equal(headers["content-length"], String(testRequest.body.length));
    });

    it("sends a body larger than the receiver's window, and requests without one", async (t) => {
      const { receiver, transport } = await start(t, create);
      const body = Buffer.alloc(300_000, "b");
      await transport.send({ ...request, origin: receiver.origin, body });
      await transport.send({ ...request, origin: receiver.origin, method: "OPTIONS", body: Buffer.alloc(0) });
      assert.deepEqual(
        receiver.requests.map((one) => [
          one.headers[":method"],
          one.body.length,
          one.headers["content-length"],
        ]),
        [
          ["POST", 300_000, "300000"],
          ["OPTIONS", 0, undefined],
        ],
      );
    });

    it("reports status, fields and the requested number of body bytes", async (t) => {
      const { receiver, transport } = await start(t, create);
      receiver.answer((stream) => {
        stream.respond({ ":status": 503, "retry-after": "7", sunset: "Sat, 31 Oct 2026 00:00:00 GMT" });
        stream.end("b".repeat(70_000));
      });
      const result = await transport.send({ ...request, origin: receiver.origin });
      assert.deepEqual(result.observation, {
        kind: "response",
        status: 503,
        complete: true,
        retryAfter: "7",
      });
      assert.deepEqual(result.fields, { sunset: "Sat, 31 Oct 2026 00:00:00 GMT" });
      assert.equal(result.responseSample?.length, 1024);
    });

    it("opens one connection per concurrent request, and keeps them", async (t) => {
      const { receiver, transport } = await start(t, create);
      const round = (): Promise<unknown> =>
        Promise.all(Array.from({ length: 5 }, () => transport.send({ ...request, origin: receiver.origin })));
      await round();
      await round();
      assert.equal(receiver.requests.length, 10);
      assert.equal(receiver.sessionCount, 5);
    });

    it("survives a graceful restart of the receiver between requests", async (t) => {
      const { receiver, transport } = await start(t, create);
      for (let sent = 0; sent < 5; sent++) {
        const result = await transport.send({ ...request, origin: receiver.origin });
        assert.deepEqual(result.observation, ok, result.errorMessage ?? "");
        receiver.goAway();
      }
      assert.equal(receiver.requests.length, 5);
    });

    it("returns an error instead of throwing if a request cannot be sent", async (t) => {
      const { receiver, transport } = await start(t, create);
      for (const bad of [
        { headers: ["X-Bad", "canary-value\r\nX-Injected: 1"] },
        { headers: ["Bad Name", "canary-value"] },
        { headers: ["Connection", "close"] },
        { path: "no slash" },
      ]) {
        const result = await transport.send({ ...request, origin: receiver.origin, ...bad });
        assert.equal(result.observation.kind === "failure" && !result.observation.requestSent, true);
        assert.equal(result.malformed, true);
        checkMessage(result, undefined);
      }
      assert.equal(receiver.requests.length, 0);
    });

    it("uses HTTP/1.1 with a receiver that does not offer HTTP/2, and keeps that connection", async (t) => {
      const receiver = await startReceiver({ tls: validPair, hostname: "localhost" });
      t.after(() => receiver.close());
      const transport = create({ policy: loopbackOnly, names: localhost, ca: testAuthority });
      t.after(() => transport.close());
      for (let sent = 0; sent < 3; sent++)
        assert.deepEqual((await transport.send({ ...request, origin: receiver.origin })).observation, ok);
      assert.equal(receiver.connectionCount, 1);
      receiver.closeIdleConnections();
      await receiver.waitUntil(() => receiver.connectionsOpen === 0);
      assert.deepEqual((await transport.send({ ...request, origin: receiver.origin })).observation, ok);
    });

    it("never mixes connections of requests that want HTTP/2 with those that do not", async (t) => {
      const receiver = await startReceiver({ tls: validPair, hostname: "localhost" });
      t.after(() => receiver.close());
      const transport = create({ policy: loopbackOnly, names: localhost, ca: testAuthority });
      t.after(() => transport.close());
      for (const http2 of [true, false, true, false])
        await transport.send({ ...request, origin: receiver.origin, http2 });
      assert.deepEqual(
        receiver.requests.map((one) => one.connectionId),
        [1, 2, 1, 2],
      );
    });

    it("checks addresses before anything is sent, and verifies the certificate", async (t) => {
      const receiver = await startHttp2Receiver();
      t.after(() => receiver.close());
      const closed = { judge: () => ({ allowed: false, addressClass: "loopback", reason: "test" }) as const };
      for (const setup of [
        { policy: closed, ca: testAuthority, category: "network" },
        { policy: loopbackOnly, category: "ssl" },
      ]) {
        const transport = create({ ...setup, names: localhost });
        t.after(() => transport.close());
        const result = await transport.send({ ...request, origin: receiver.origin });
        assert.deepEqual(result.observation, {
          kind: "failure",
          category: setup.category,
          requestSent: false,
        });
      }
      assert.equal(receiver.sessionCount, 0);
    });

    it("fails requests in flight when it is closed, and leaves no session", async (t) => {
      const { receiver, transport } = await start(t, create);
      let arrived = (): void => undefined;
      const arrival = new Promise<void>((resolve) => (arrived = resolve));
      receiver.answer(() => arrived());
      const pending = transport.send({ ...request, origin: receiver.origin, timeoutMs: 60_000 });
      await arrival;
      await transport.close();
      assert.deepEqual((await pending).observation, lost);
      assert.equal(transport.openSockets(), 0);
    });
  });
}

const localhost = { localhost: () => ["127.0.0.1"] };

async function start(
  t: TestContext,
  create: CreateTransport,
): Promise<{ receiver: Http2Receiver; transport: Transport }> {
  const receiver = await startHttp2Receiver();
  t.after(() => receiver.close());
  const transport = create({ policy: loopbackOnly, names: localhost, ca: testAuthority });
  t.after(() => transport.close());
  return { receiver, transport };
}

async function startFrames(
  t: TestContext,
  { create, behave }: { create: CreateTransport; behave: Behaviour },
): Promise<{ peer: HostileReceiver; transport: Transport }> {
  const peer = await startHostileReceiver({ behave, tls: http2Pair, hostname: "localhost" });
  t.after(() => peer.close());
  const transport = create({ policy: loopbackOnly, names: localhost, ca: testAuthority });
  t.after(() => transport.close());
  return { peer, transport };
}

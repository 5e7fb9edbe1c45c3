/** What a transport reports about the steps of a request, and for which requests. */
import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { tracedCharactersMax, tracedFieldsMax } from "../../../src/ports/transport.ts";
import type { Transport, WireTrace } from "../../../src/ports/transport.ts";
import { testAuthority } from "../../peers/certificates.ts";
import { answering, startHostileReceiver } from "../../peers/hostile-receiver.ts";
import { startHttp2Receiver } from "../../peers/http2-receiver.ts";
import { startReceiver } from "../../peers/receiver.ts";
import type { Receiver } from "../../peers/receiver.ts";
import { deadlineMs, loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

export function traceSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: traces`, () => {
    it("reports nothing about a 2xx response, unless requested", async (t) => {
      const { transport, receiver } = await start(t, create);
      const request = { ...testRequest, origin: receiver.origin };
      assert.equal("trace" in (await transport.send(request)), false);
      assert.equal("trace" in (await transport.send({ ...request, traced: false })), false);
      assert.equal((await transport.send({ ...request, traced: true })).trace?.httpVersion, "1.1");
      receiver.script(() => ({ status: 207 }));
      assert.ok((await transport.send(request)).trace !== undefined, "207 is accepted by few");
    });

    it("a new connection has its own timings, a reused one has none", async (t) => {
      const { transport, receiver } = await start(t, create);
      receiver.script(() => ({ status: 503, delayMs: 60, headers: { "X-One": "1" } }));
      const request = { ...testRequest, origin: `http://name.test:${new URL(receiver.origin).port}` };
      const first = traceOf(await transport.send(request));
      assert.equal(first.httpVersion, "1.1");
      assert.equal(first.peerAddress, "127.0.0.1");
      assert.ok((first.timings.dnsMs ?? -1) >= 0);
      assert.ok((first.timings.connectMs ?? -1) >= 0);
      assert.equal(first.timings.tlsMs, null);
      assert.ok((first.timings.waitMs ?? 0) >= 55, `${first.timings.waitMs} ms`);
      assert.equal(valueOf(first, "x-one"), "1");
      const second = traceOf(await transport.send(request));
      assert.deepEqual({ ...second.timings, waitMs: 0 }, { ...unknown, waitMs: 0 });
      assert.ok((second.timings.waitMs ?? 0) >= 55);
      assert.equal(second.peerAddress, "127.0.0.1");
    });

    it("a request without a connection says which address was tried", async (t) => {
      const { transport, receiver } = await start(t, create);
      const { origin } = receiver;
      await receiver.close();
      const trace = traceOf(await transport.send({ ...testRequest, origin }));
      const expected = {
        httpVersion: null,
        peerAddress: "127.0.0.1",
        responseHeaders: [],
        headersCut: false,
      };
      assert.deepEqual(trace, { ...expected, timings: unknown });
      const nameless = traceOf(await transport.send({ ...testRequest, origin: "http://none.test" }));
      assert.deepEqual(nameless, { ...expected, peerAddress: null, timings: unknown });
    });

    it("a request that reached its deadline waited until then", async (t) => {
      const { transport, receiver } = await start(t, create);
      receiver.script(() => "hang");
      const request = { ...testRequest, origin: receiver.origin, timeoutMs: deadlineMs };
      const { timings } = traceOf(await transport.send(request));
      assert.ok((timings.waitMs ?? 0) >= deadlineMs * 0.9, `${timings.waitMs} ms`);
    });

    it("HTTP/2 and the time of the handshake are reported", async (t) => {
      const receiver = await startHttp2Receiver();
      const transport = create({ ...setup, ca: testAuthority });
      t.after(() => Promise.all([transport.close(), receiver.close()]));
      const request = { ...testRequest, origin: receiver.origin, http2: true, traced: true };
      const { httpVersion, timings } = traceOf(await transport.send(request));
      assert.equal(httpVersion, "2");
      assert.ok((timings.tlsMs ?? 0) > 0, `${timings.tlsMs} ms`);
      assert.ok((timings.waitMs ?? -1) >= 0);
    });

    it("keeps a bounded number of fields and characters, and marks omissions", async (t) => {
      for (const head of [
        Array.from({ length: 80 }, (_, at) => `X-${at}: ${at}`),
        Array.from({ length: 5 }, (_, at) => `X-${at}: ${"v".repeat(2_000)}`),
      ]) {
        const hostile = await startHostileReceiver({
          behave: answering(`HTTP/1.1 500 no\r\n${head.join("\r\n")}\r\nContent-Length: 0\r\n\r\n`),
        });
        const transport = create(setup);
        t.after(() => Promise.all([transport.close(), hostile.close()]));
        const trace = traceOf(await transport.send({ ...testRequest, origin: hostile.origin }));
        assert.ok(trace.headersCut);
        assert.ok(trace.responseHeaders.length <= 2 * tracedFieldsMax);
        assert.ok(trace.responseHeaders.join("").length <= tracedCharactersMax);
        assert.equal(trace.responseHeaders[0], "x-0");
      }
    });
  });
}

const unknown = { dnsMs: null, connectMs: null, tlsMs: null, waitMs: null };
const setup = {
  policy: loopbackOnly,
  names: { "name.test": () => ["127.0.0.1"], localhost: () => ["127.0.0.1"] },
};

async function start(
  t: TestContext,
  create: CreateTransport,
): Promise<{ readonly transport: Transport; readonly receiver: Receiver }> {
  const receiver = await startReceiver();
  const transport = create(setup);
  t.after(() => Promise.all([transport.close(), receiver.close()]));
  return { transport, receiver };
}

function traceOf({ trace }: { readonly trace?: WireTrace }): WireTrace {
  assert.ok(trace !== undefined, "a trace");
  return trace;
}

function valueOf({ responseHeaders }: WireTrace, name: string): string | undefined {
  const at = responseHeaders.indexOf(name);
  return at < 0 ? undefined : responseHeaders[at + 1];
}

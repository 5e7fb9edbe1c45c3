/** Which parts of a response are stored, and which requests have content. */
import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { noResponseFields } from "../../../src/ports/transport.ts";
import type { OutboundRequest, Transport } from "../../../src/ports/transport.ts";
import { answering, startHostileReceiver } from "../../peers/hostile-receiver.ts";
import { startReceiver } from "../../peers/receiver.ts";
import type { Receiver } from "../../peers/receiver.ts";
import { loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

const empty = new Uint8Array();

export function answerSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: answers`, () => {
    it("keeps the fields that are used, and shares one object if there are none", async (t) => {
      const { transport, receiver } = await start(t, create);
      const request = { ...testRequest, origin: receiver.origin };
      receiver.script(() => ({ headers: { "Content-Type": "text/plain", "X-Other": "1" } }));
      assert.equal((await transport.send(request)).fields, noResponseFields);
      const fields = {
        sunset: "Sat, 31 Oct 2026 00:00:00 GMT",
        "webhook-allowed-origin": "posthorn.example",
        "webhook-allowed-rate": "120",
        allow: "POST",
        "www-authenticate": "Bearer",
      };
      receiver.script(() => ({ headers: { ...fields, "Content-Type": "text/plain" } }));
      assert.deepEqual((await transport.send(request)).fields, fields);
      const curious = await transport.send({ ...request, responseBodyBytesMax: 10 });
      assert.deepEqual(curious.fields, { ...fields, "content-type": "text/plain" });
    });

    it("cuts long fields and takes the first of several", async (t) => {
      const { transport, receiver } = await start(t, create);
      receiver.script(() => ({
        headers: { "WWW-Authenticate": ["Bearer", "Basic"], Sunset: "s".repeat(9000) },
      }));
      const { fields } = await transport.send({ ...testRequest, origin: receiver.origin });
      assert.equal(fields["www-authenticate"]?.split(",")[0], "Bearer");
      assert.equal(fields.sunset?.length, 2048);
    });

    it("decodes unrequested content codings, and keeps a sample in UTF-8", async (t) => {
      const { transport, receiver } = await start(t, create);
      const text = "größe ".repeat(500);
      const first = Buffer.from(text)
        .subarray(0, 1024)
        .toString()
        .replace(/\ufffd$/, "");
      const latin1 = { "Content-Type": "text/plain; charset=iso-8859-1" };
      const answers: readonly (readonly [name: string, headers: Record<string, string>, body: Buffer])[] = [
        ["gzip", { "Content-Encoding": "gzip" }, gzipSync(text)],
        ["x-gzip", { "Content-Encoding": "X-GZIP" }, gzipSync(text)],
        ["br", { "Content-Encoding": "br" }, brotliCompressSync(text)],
        ["deflate", { "Content-Encoding": "deflate" }, deflateSync(text)],
        ["deflate without a wrapper", { "Content-Encoding": "deflate" }, deflateRawSync(text)],
        ["two", { "Content-Encoding": "gzip, br" }, brotliCompressSync(gzipSync(text))],
        ["identity", { "Content-Encoding": "identity" }, Buffer.from(text)],
        ["Latin-1", latin1, Buffer.from(text, "latin1")],
        ["Latin-1 in gzip", { ...latin1, "Content-Encoding": "gzip" }, gzipSync(Buffer.from(text, "latin1"))],
      ];
      for (const [what, headers, body] of answers) {
        receiver.script(() => ({ headers, body }));
        const { responseSample } = await transport.send({ ...testRequest, origin: receiver.origin });
        const sample = Buffer.from(responseSample ?? []);
        assert.ok(sample.length <= 1024, what);
        assert.equal(sample.toString().replace(/\ufffd$/, ""), first, what);
      }
    });

    it("shows the start of endlessly expanding content, and undecodable content unchanged", async (t) => {
      const { transport, receiver } = await start(t, create);
      const bomb = Buffer.alloc(64 * 1024 * 1024, "a");
      for (const [coding, body] of [
        ["gzip", gzipSync(bomb)],
        ["br", brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ] as const) {
        receiver.script(() => ({ headers: { "Content-Encoding": coding }, body }));
        const { responseSample, observation } = await transport.send({
          ...testRequest,
          origin: receiver.origin,
        });
        assert.equal(observation.kind, "response");
        assert.ok((responseSample?.length ?? 0) <= 1024, coding);
        assert.equal(
          Buffer.from(responseSample ?? [])
            .toString()
            .slice(0, 100),
          "a".repeat(100),
          coding,
        );
      }
      for (const coding of ["gzip", "unknown", "gzip, gzip, gzip"]) {
        receiver.script(() => ({ headers: { "Content-Encoding": coding }, body: "plain" }));
        const { responseSample } = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.equal(Buffer.from(responseSample ?? []).toString(), "plain", coding);
      }
    });

    it("gives a program the whole body without its content coding, with the charset unchanged", async (t) => {
      const { transport, receiver } = await start(t, create);
      const body = Buffer.from('{"access_token":"größe"}', "latin1");
      const headers = { "Content-Encoding": "gzip", "Content-Type": "application/json; charset=iso-8859-1" };
      receiver.script(() => ({ headers, body: gzipSync(body) }));
      const request = { ...testRequest, origin: receiver.origin, responseBodyBytesMax: 64 * 1024 };
      const { responseSample } = await transport.send(request);
      assert.deepEqual(Buffer.from(responseSample ?? []), body);
    });

    it("keeps as much of the body as requested, up to 64 KiB, in whatever chunks it arrives", async (t) => {
      const { transport, receiver } = await start(t, create);
      const body = Buffer.from(Array.from({ length: 66_000 }, (_, index) => index % 251));
      receiver.script(() => ({ body }));
      for (const [responseBodyBytesMax, expected] of [
        [0, 0],
        [5000, 5000],
        [64 * 1024, 64 * 1024],
        [1024 * 1024, 64 * 1024],
      ] as const) {
        const result = await transport.send({
          ...testRequest,
          origin: receiver.origin,
          responseBodyBytesMax,
        });
        assert.deepEqual(Buffer.from(result.responseSample ?? []), body.subarray(0, expected));
      }
      const pieces =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + "3\r\nabc\r\n".repeat(700) + "0\r\n\r\n";
      const dripping = await startHostileReceiver({ behave: answering(pieces) });
      t.after(() => dripping.close());
      const result = await transport.send({
        ...testRequest,
        origin: dripping.origin,
        responseBodyBytesMax: 2000,
      });
      assert.equal(Buffer.from(result.responseSample ?? []).toString(), "abc".repeat(700).slice(0, 2000));
    });

    it("sends content with POST and PUT only", async (t) => {
      const { transport, receiver } = await start(t, create);
      const methods: readonly OutboundRequest["method"][] = ["POST", "PUT", "OPTIONS", "GET"];
      for (const method of methods)
        await transport.send({ ...testRequest, origin: receiver.origin, method, headers: [], body: empty });
      const seen = receiver.requests.map(({ method, headers }) => [
        method,
        headers["content-length"],
        headers["transfer-encoding"],
        headers["content-type"],
      ]);
      assert.deepEqual(seen, [
        ["POST", "0", undefined, undefined],
        ["PUT", "0", undefined, undefined],
        ["OPTIONS", undefined, undefined, undefined],
        ["GET", undefined, undefined, undefined],
      ]);
    });

    it("EDS-9.2.2-2 after a 421 the next request resolves the addresses again and uses a new connection", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      let queries = 0;
      const names = {
        "moved.test": () => {
          queries++;
          return ["127.0.0.1"];
        },
      };
      const transport = create({ policy: loopbackOnly, names });
      t.after(() => transport.close());
      const request = { ...testRequest, origin: `http://moved.test:${receiver.port}` };
      const held = Promise.withResolvers<object>();
      receiver.script((_, index) => (index === 0 ? held.promise : { status: index === 1 ? 421 : 200 }));
      const inFlight = transport.send(request);
      await receiver.waitForRequests(1);
      const misdirected = await transport.send(request);
      assert.deepEqual(misdirected.observation, { kind: "response", status: 421, complete: true });
      held.resolve({});
      await inFlight;
      for (let sent = 0; sent < 2; sent++) await transport.send(request);
      assert.equal(queries, 2);
      // Two connections must not serve another request: the one that received the 421, and the one that was in use at
      // that time.
      assert.deepEqual(
        receiver.requests.map(({ connectionId }) => connectionId),
        [1, 2, 3, 3],
      );
    });
  });
}

async function start(
  t: TestContext,
  create: CreateTransport,
): Promise<{ transport: Transport; receiver: Receiver }> {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const transport = create({ policy: loopbackOnly });
  t.after(() => transport.close());
  return { transport, receiver };
}

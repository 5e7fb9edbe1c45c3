/** The contents of the first flight of a TLS connection, as sent over the wire. */
import { strict as assert } from "node:assert";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { testAuthority, validPair } from "../../peers/certificates.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

/** Extension types from RFC 8446, 4.2. */
const extensions = { preSharedKey: 41, earlyData: 42 };
const connectionsMax = 10;

export function earlyDataSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: TLS 1.3 early data`, () => {
    it("EDS-9.9-3 EDS-11.5-5 a resumed connection sends no early data", async (t) => {
      const receiver = await startReceiver({ tls: validPair, hostname: "localhost" });
      t.after(() => receiver.close());
      receiver.script(() => ({ headers: { Connection: "close" } }));
      const relay = await startRelay(t, receiver.port);
      const transport = create({
        policy: loopbackOnly,
        names: { localhost: () => ["127.0.0.1"] },
        ca: testAuthority,
      });
      t.after(() => transport.close());
      const resumed = (): boolean =>
        relay.hellos.some((hello) => extensionsOf(hello).includes(extensions.preSharedKey));
      // The session ticket may arrive after the response, in which case one more connection is needed.
      while (!resumed() && relay.hellos.length < connectionsMax) {
        const result = await transport.send({ ...testRequest, origin: `https://localhost:${relay.port}` });
        assert.equal(result.observation.kind, "response");
      }
      assert.ok(resumed(), "no connection offered to resume a session");
      for (const hello of relay.hellos) assert.ok(!extensionsOf(hello).includes(extensions.earlyData));
    });
  });
}

interface Relay {
  readonly port: number;
  /** The first bytes of each connection. */
  readonly hellos: Buffer[];
}

async function startRelay(t: TestContext, targetPort: number): Promise<Relay> {
  const hellos: Buffer[] = [];
  const server = createServer((inner) => {
    const outer = connect(targetPort, "127.0.0.1");
    inner.once("data", (hello: Buffer) => hellos.push(hello));
    inner.on("error", () => outer.destroy()).on("close", () => outer.destroy());
    outer.on("error", () => inner.destroy()).on("close", () => inner.destroy());
    inner.pipe(outer).pipe(inner);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, hellos };
}

/** Types of the extensions of a ClientHello (RFC 8446, 4.1.2) at the start of a TLS record. */
function extensionsOf(hello: Buffer): number[] {
  const sessionIdAt = 5 + 4 + 2 + 32;
  const suitesAt = sessionIdAt + 1 + hello.readUInt8(sessionIdAt);
  const compressionAt = suitesAt + 2 + hello.readUInt16BE(suitesAt);
  let at = compressionAt + 1 + hello.readUInt8(compressionAt) + 2;
  const found: number[] = [];
  while (at + 4 <= hello.length) {
    found.push(hello.readUInt16BE(at));
    at += 4 + hello.readUInt16BE(at + 2);
  }
  return found;
}

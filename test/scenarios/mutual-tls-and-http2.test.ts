import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import { otherHostPair, testAuthority, validPair } from "../peers/certificates.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

interface Seen {
  readonly client: string | null;
  readonly httpVersion: string;
  readonly messageId: string | undefined;
}

/** A receiver for HTTP/1.1 and HTTP/2. Clients without a certificate from the authority get 403. */
async function startMutualReceiver(t: TestContext): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createSecureServer({
    ...validPair,
    ca: testAuthority,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
  });
  server.on("request", (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
    const client = socket.getPeerCertificate().subject?.CN;
    const { httpVersion } = request;
    seen.push({
      client: String(client ?? "") || null,
      httpVersion,
      messageId: String(request.headers["webhook-id"]),
    });
    request.resume();
    response.writeHead(socket.authorized ? 204 : 403).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { url: `https://localhost:${(server.address() as AddressInfo).port}/hook`, seen };
}

for (const http2 of [false, true]) {
  const version = http2 ? "2.0" : "1.1";
  test(`EDS-11.3-2 each webhook shows its own client certificate, over HTTP/${version}`, async (t) => {
    const receiver = await startMutualReceiver(t);
    const world = await openEngineWorld({ ca: testAuthority });
    t.after(() => world.close());
    const certificate = ({ cert, key }: { readonly cert: string; readonly key: string }): string =>
      JSON.stringify({ certificatePem: cert, privateKeyPem: key });
    const hook = { url: receiver.url, http2 };
    await world.addWebhook(
      { ...hook, events: ["order.first"] },
      { client_certificate: certificate(validPair) },
    );
    await world.addWebhook(
      { ...hook, events: ["order.second"] },
      { client_certificate: certificate(otherHostPair) },
    );
    await world.addWebhook({ ...hook, events: ["order.third"] });

    const stateOf = async (eventId: string): Promise<string | undefined> => {
      const { rows } = await listDeliveries(world.store.history, { eventId });
      return rows[0]?.progress.state;
    };
    const expected = [
      ["order.first", "success", "localhost"],
      ["order.second", "success", "other.test"],
      ["order.third", "failed", null],
    ] as const;
    for (const [eventType, state, client] of expected) {
      const eventId = await world.publish("default", { eventType, data: { a: 1 } });
      await eventually(`${eventType} is ${state}`, {
        ask: () => stateOf(eventId),
        holds: (now) => now === state,
      });
      assert.deepEqual(receiver.seen.at(-1), { client, httpVersion: version, messageId: eventId });
    }
  });
}

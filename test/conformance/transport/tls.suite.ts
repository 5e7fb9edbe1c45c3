/**
 * Certificates are always verified, including their name. If verification fails, the receiver does not get any byte of
 * the request.
 */
import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import {
  expiredPair,
  otherHostPair,
  selfSignedPair,
  testAuthority,
  validPair,
} from "../../peers/certificates.ts";
import type { KeyPair } from "../../peers/certificates.ts";
import { behaviours, startHostileReceiver } from "../../peers/hostile-receiver.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { checkMessage, deadlineMs, hostileTest, loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

const names = {
  localhost: () => ["127.0.0.1"],
  "a.receiver.test": () => ["127.0.0.1"],
  "elsewhere.test": () => ["127.0.0.1"],
};

const refusedPairs: readonly {
  title: string;
  pair: KeyPair;
  ca?: string;
  hostname: string;
  message: RegExp;
}[] = [
  {
    title: "self-signed",
    pair: selfSignedPair,
    ca: testAuthority,
    hostname: "localhost",
    message: /SELF_SIGNED/,
  },
  { title: "expired", pair: expiredPair, ca: testAuthority, hostname: "localhost", message: /expired/ },
  {
    title: "for another name",
    pair: otherHostPair,
    ca: testAuthority,
    hostname: "localhost",
    message: /ALTNAME/,
  },
  {
    title: "for another name than this",
    pair: validPair,
    ca: testAuthority,
    hostname: "elsewhere.test",
    message: /ALTNAME/,
  },
  {
    title: "for another address",
    pair: otherHostPair,
    ca: testAuthority,
    hostname: "127.0.0.1",
    message: /ALTNAME/,
  },
  { title: "of an unknown authority", pair: validPair, hostname: "localhost", message: /^TLS: / },
];

export function tlsSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: TLS`, () => {
    for (const row of refusedPairs) {
      it(`EDS-9.3-1 EDS-11.2-2 EDS-11.2-3 rejects a certificate that is ${row.title}`, async (t) => {
        const peer = await startHostileReceiver({
          behave: behaviours.closeBeforeAnswer,
          tls: row.pair,
          hostname: row.hostname,
        });
        t.after(() => peer.close());
        const ca = row.ca === undefined ? {} : { ca: row.ca };
        const transport = create({ policy: loopbackOnly, names, ...ca });
        t.after(() => transport.close());
        const result = await transport.send({ ...testRequest, origin: peer.origin });
        assert.deepEqual(result.observation, { kind: "failure", category: "ssl", requestSent: false });
        checkMessage(result, row.message);
        assert.equal(peer.bytesReceived, 0);
      });
    }

    it("delivers to names and addresses that the certificate covers, over one connection each", async (t) => {
      for (const hostname of ["localhost", "a.receiver.test", "127.0.0.1"]) {
        const receiver = await startReceiver({ tls: validPair, hostname });
        t.after(() => receiver.close());
        const transport = create({ policy: loopbackOnly, names, ca: testAuthority });
        t.after(() => transport.close());
        for (let sent = 0; sent < 3; sent++) {
          const result = await transport.send({ ...testRequest, origin: receiver.origin });
          assert.deepEqual(result.observation, { kind: "response", status: 200, complete: true }, hostname);
        }
        assert.equal(receiver.connectionCount, 1);
      }
    });

    it("ends within the deadline when the handshake never ends", async (t) => {
      const peer = await startHostileReceiver({ behave: behaviours.silent });
      t.after(() => peer.close());
      const transport = create({ policy: loopbackOnly });
      t.after(() => transport.close());
      const result = await transport.send({
        ...testRequest,
        origin: `https://127.0.0.1:${peer.port}`,
        timeoutMs: deadlineMs,
      });
      assert.deepEqual(result.observation, { kind: "failure", category: "timeout", requestSent: false });
      assert.ok(result.durationMs < deadlineMs + 6_000);
      await peer.untilAllClosed();
    });

    it("reports a port that does not speak TLS as ssl", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const transport = create({ policy: loopbackOnly });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: `https://127.0.0.1:${receiver.port}` });
      assert.deepEqual(result.observation, { kind: "failure", category: "ssl", requestSent: false });
    });

    it("reports a connection lost in the handshake as network", async (t) => {
      const peer = await startHostileReceiver({ behave: behaviours.resetAtAccept });
      t.after(() => peer.close());
      const transport = create({ policy: loopbackOnly });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: `https://127.0.0.1:${peer.port}` });
      assert.deepEqual(result.observation, { kind: "failure", category: "network", requestSent: false });
    });

    const tls = validPair;
    const hostname = "localhost";
    const expected = { kind: "response", status: 200, complete: true } as const;
    const gigabyte = {
      title: "bounds a gigabyte over TLS",
      behave: behaviours.gigabyteBody,
      expected,
      tls,
      hostname,
    };
    hostileTest(gigabyte, create, testAuthority);
  });
}

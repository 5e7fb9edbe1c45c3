/** What a transport must not connect to, whether the target is an IP literal, a name, or the address of the socket. */
import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import { createAddressPolicy } from "../../../src/domain/egress/address-policy.ts";
import { behaviours, startHostileReceiver } from "../../peers/hostile-receiver.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { checkMessage, type CreateTransport, loopbackOnly, testRequest } from "./transport.suite.ts";

const refused = { kind: "failure", category: "network", requestSent: false };
const publicOnly = createAddressPolicy([], false);

const literals = [
  "127.0.0.1",
  "10.0.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:10.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[fd00::1]",
  "[fe80::1]",
  // The URL parser converts these to 127.0.0.1.
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
];

export function egressSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: egress`, () => {
    it("EDS-11.7-3 TS16-124 rejects literals in every notation before connecting", async (t) => {
      const peer = await startHostileReceiver({ behave: behaviours.silent });
      t.after(() => peer.close());
      const transport = create({ policy: publicOnly });
      t.after(() => transport.close());
      for (const literal of literals) {
        const result = await transport.send({ ...testRequest, origin: `http://${literal}:${peer.port}` });
        assert.deepEqual(result.observation, refused, literal);
        checkMessage(result, /^egress refused: \S+ is [a-z0-9_]+$/);
      }
      assert.equal(peer.connectionCount, 0);
    });

    it("EDS-11.7-3 TS16-124 rejects names that resolve only to rejected addresses", async (t) => {
      const peer = await startHostileReceiver({ behave: behaviours.silent });
      t.after(() => peer.close());
      const names = {
        "private.test": () => ["10.0.0.1"],
        "mapped.test": () => ["::ffff:127.0.0.1"],
        "loop.test": () => ["127.0.0.1", "::1"],
      };
      const transport = create({ policy: publicOnly, names });
      t.after(() => transport.close());
      for (const hostname of Object.keys(names)) {
        const result = await transport.send({ ...testRequest, origin: `http://${hostname}:${peer.port}` });
        assert.deepEqual(result.observation, refused, hostname);
        checkMessage(result, /^egress refused: /);
      }
      assert.equal(peer.connectionCount, 0);
    });

    it("uses only the allowed addresses of a name that has both", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const asked: string[] = [];
      const policy = {
        judge: (address: string) => {
          asked.push(address);
          return loopbackOnly.judge(address);
        },
      };
      const transport = create({ policy, names: { "both.test": () => ["10.0.0.1", "127.0.0.1", "::1"] } });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: `http://both.test:${receiver.port}` });
      assert.equal(result.observation.kind, "response");
      assert.deepEqual(new Set(asked), new Set(["10.0.0.1", "127.0.0.1", "::1"]));
    });

    it("EDS-11.7-3 TS16-124 is not fooled by a name that changes after it was checked", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const answers = [["127.0.0.1"], ["10.0.0.1"]];
      let queries = 0;
      const names = { "rebind.test": () => answers[Math.min(queries++, 1)] ?? [] };
      const transport = create({ policy: loopbackOnly, names });
      t.after(() => transport.close());
      const request = { ...testRequest, origin: `http://rebind.test:${receiver.port}` };
      assert.equal((await transport.send(request)).observation.kind, "response");
      // A 421 causes another lookup and a new connection.
      receiver.script(() => ({ status: 421 }));
      assert.equal((await transport.send(request)).observation.kind, "response");
      const rebound = await transport.send(request);
      assert.deepEqual(rebound.observation, refused);
      assert.equal(queries, 2);
    });

    it("EDS-11.7-3 TS16-124 checks the connected socket before a byte is sent", async (t) => {
      const peer = await startHostileReceiver({ behave: behaviours.silent });
      t.after(() => peer.close());
      let judgements = 0;
      const policy: typeof loopbackOnly = {
        judge: () =>
          judgements++ === 0
            ? { allowed: true }
            : { allowed: false, addressClass: "loopback", reason: "changed" },
      };
      const transport = create({ policy });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: peer.origin });
      assert.deepEqual(result.observation, refused);
      await peer.untilAllClosed();
      assert.equal(peer.bytesReceived, 0);
    });

    it("tries the next address if a connection fails", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const policy = createAddressPolicy([], true);
      // Nothing listens on the first two addresses.
      const names = { "many.test": () => ["127.0.0.2", "127.0.0.3", "127.0.0.1"] };
      const transport = create({ policy, names });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: `http://many.test:${receiver.port}` });
      assert.equal(result.observation.kind, "response");
    });

    it("EDS-9.3-1 reports names without addresses as dns", async (t) => {
      const transport = create({ policy: loopbackOnly, names: { "empty.test": () => [] } });
      t.after(() => transport.close());
      for (const hostname of ["empty.test", "missing.test"]) {
        const result = await transport.send({ ...testRequest, origin: `https://${hostname}` });
        assert.deepEqual(result.observation, { kind: "failure", category: "dns", requestSent: false });
        checkMessage(result, /^cannot resolve (empty|missing)\.test: /);
      }
    });

    it("EDS-9.3-1 reports a closed port as network", async (t) => {
      const receiver = await startReceiver();
      await receiver.close();
      const transport = create({ policy: loopbackOnly });
      t.after(() => transport.close());
      const result = await transport.send({ ...testRequest, origin: receiver.origin });
      assert.deepEqual(result.observation, refused);
      checkMessage(result, /ECONNREFUSED/);
    });
  });
}

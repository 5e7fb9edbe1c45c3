/**
 * Mutual TLS: which certificate is presented. A connection or TLS session of one identity must never serve another
 * identity.
 */
import { strict as assert } from "node:assert";
import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import type { ClientCertificate, Transport, TransportResult } from "../../../src/ports/transport.ts";
import { otherHostPair, selfSignedPair, testAuthority, validPair } from "../../peers/certificates.ts";
import type { KeyPair } from "../../peers/certificates.ts";
import { checkMessage, loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

const ok = { kind: "response", status: 200, complete: true } as const;
const anna = certificate("anna/1", validPair);
const berta = certificate("berta/1", otherHostPair);
const names = { localhost: () => ["127.0.0.1"] };

interface Seen {
  /** Common name of the client's certificate. */
  readonly client: string;
  /** Number of the connection, starting at 1. */
  readonly connection: number;
  readonly resumed: boolean;
}

/** A receiver that requests client certificates and records them. It supports HTTP/1.1 and HTTP/2. */
interface AskingReceiver {
  readonly origin: string;
  readonly seen: Seen[];
  closeConnections(): Promise<void>;
}

export function clientCertificateSuite(name: string, create: CreateTransport): void {
  for (const http2 of [false, true]) {
    const request = { ...testRequest, http2 };
    describe(`transport ${name}: client certificates, ${http2 ? "HTTP/2" : "HTTP/1.1"}`, () => {
      it("shows the certificate of the request and never lets another use the connection", async (t) => {
        const { receiver, transport } = await start(t, create);
        for (const clientCertificate of [anna, berta, anna, berta]) {
          const result = await transport.send({ ...request, origin: receiver.origin, clientCertificate });
          assert.deepEqual(result.observation, ok, result.errorMessage ?? "");
        }
        assert.deepEqual(
          receiver.seen.map(({ client, connection }) => `${client} ${connection}`),
          ["localhost 1", "other.test 2", "localhost 1", "other.test 2"],
        );
      });

      it("never resumes the TLS session of another certificate", async (t) => {
        const { receiver, transport } = await start(t, create);
        for (const clientCertificate of [anna, berta, anna, berta]) {
          await transport.send({ ...request, origin: receiver.origin, clientCertificate });
          await receiver.closeConnections();
        }
        assert.deepEqual(
          receiver.seen.map(({ client }) => client),
          ["localhost", "other.test", "localhost", "other.test"],
        );
        assert.deepEqual(
          receiver.seen.slice(0, 2).map(({ resumed }) => resumed),
          [false, false],
        );
      });

      it("uses a new connection when the certificate changes", async (t) => {
        const { receiver, transport } = await start(t, create);
        for (const clientCertificate of [anna, { ...certificate("anna/2", otherHostPair) }])
          await transport.send({ ...request, origin: receiver.origin, clientCertificate });
        assert.deepEqual(
          receiver.seen.map(({ client }) => client),
          ["localhost", "other.test"],
        );
      });

      it("reports a missing certificate as ssl", async (t) => {
        const { receiver, transport } = await start(t, create);
        const send = () => transport.send({ ...request, origin: receiver.origin });
        let result = await send();
        // The request may reach a closed socket. The reset that follows can then overtake the alert that states the
        // reason.
        while (categoryOf(result) === "network") result = await send();
        assert.deepEqual(result.observation, { kind: "failure", category: "ssl", requestSent: true });
        checkMessage(result, /certificate required/);
        assert.deepEqual(receiver.seen, []);
      });

      it("says what may be wrong if a receiver closes the connection on a certificate without a reason", async (t) => {
        const { receiver, transport } = await start(t, create);
        const clientCertificate = certificate("self", selfSignedPair);
        const result = await transport.send({ ...request, origin: receiver.origin, clientCertificate });
        assert.equal(result.observation.kind, "failure");
        checkMessage(result, /TLS|may not accept the client certificate/);
        assert.deepEqual(receiver.seen, []);
      });

      it("returns an error instead of throwing if certificate or key cannot be used, and shows neither", async (t) => {
        const { receiver, transport } = await start(t, create);
        const encrypted = encryptedKey(validPair.key);
        const rows = [
          { pair: { cert: "canary", key: "canary" }, message: /usable PEM/ },
          { pair: { cert: validPair.cert, key: "canary" }, message: /usable PEM/ },
          { pair: { cert: validPair.cert, key: encrypted }, message: /usable PEM/ },
          { pair: { cert: validPair.cert, key: otherHostPair.key }, message: /does not belong/ },
        ];
        for (const [index, { pair, message }] of rows.entries()) {
          const clientCertificate = certificate(`bad/${index}`, pair);
          for (const origin of [receiver.origin, receiver.origin.replace("localhost", "127.0.0.1")]) {
            const result = await transport.send({ ...request, origin, clientCertificate });
            assert.deepEqual(result.observation, { kind: "failure", category: "ssl", requestSent: false });
            checkMessage(result, message);
            const keyLine = pair.key.split("\n")[1] ?? "canary";
            assert.ok(result.errorMessage?.includes(keyLine) === false);
          }
        }
        assert.deepEqual(receiver.seen, []);
      });
    });
  }
}

function categoryOf({ observation }: TransportResult): string | null {
  return observation.kind === "failure" ? observation.category : null;
}

function certificate(id: string, pair: KeyPair): ClientCertificate {
  return { id, certificatePem: pair.cert, privateKeyPem: pair.key };
}

function encryptedKey(key: string): string {
  const protection = { cipher: "aes-256-cbc", passphrase: "test" };
  return createPrivateKey(key).export({ type: "pkcs8", format: "pem", ...protection });
}

async function start(
  t: TestContext,
  create: CreateTransport,
): Promise<{ receiver: AskingReceiver; transport: Transport }> {
  const receiver = await startAskingReceiver(t);
  const transport = create({ policy: loopbackOnly, names, ca: testAuthority });
  t.after(() => transport.close());
  return { receiver, transport };
}

async function startAskingReceiver(t: TestContext): Promise<AskingReceiver> {
  const seen: Seen[] = [];
  const connections = new Map<Socket, number>();
  const open = new Set<Socket>();
  const demands = { ca: testAuthority, requestCert: true, rejectUnauthorized: true, allowHTTP1: true };
  const server = createSecureServer({ ...validPair, ...demands }, (request, response) => {
    const socket = (
      request.httpVersionMajor === 2 ? request.stream.session?.socket : request.socket
    ) as TLSSocket;
    const client = String(socket.getPeerCertificate().subject.CN);
    const number = connections.get(socket) ?? connections.size + 1;
    connections.set(socket, number);
    seen.push({ client, connection: number, resumed: socket.isSessionReused() });
    request.resume();
    response.end();
  });
  server.on("sessionError", () => undefined);
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const closeConnections = async (): Promise<void> => {
    await Promise.all([...open].map((socket) => once(socket.destroy(), "close")));
  };
  t.after(async () => {
    server.close();
    await closeConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `https://localhost:${port}`, seen, closeConnections };
}

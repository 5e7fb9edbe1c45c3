import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** A proxy to a server on this machine that modifies the server's bytes or wraps them in TLS. */
export interface AlteringProxy {
  readonly port: number;
  /** Inserts bytes into the server's byte stream on every connection. */
  inject(bytes: Buffer): void;
  close(): Promise<void>;
}

export interface AlteringProxyOptions {
  readonly target: number;
  /** The bytes to send instead of the server's. */
  readonly alter?: (chunk: Buffer) => Buffer;
  readonly tls?: TlsOptions;
}

export async function startAlteringProxy(options: AlteringProxyOptions): Promise<AlteringProxy> {
  const { target, alter = (chunk) => chunk, tls } = options;
  const sockets = new Set<Socket>();
  const accept = (client: Socket): void => {
    const upstream = connect(target, "127.0.0.1");
    sockets.add(client);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.on("close", () => {
      sockets.delete(client);
      upstream.destroy();
    });
    upstream.on("close", () => client.destroy());
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => client.write(alter(chunk)));
  };
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  return {
    port: await listen(server),
    inject: (bytes) => {
      for (const socket of sockets) socket.write(bytes);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Listens on an unused port of this machine. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Marks the end of a frame on the connection channel (AMQP 0-9-1, 4.2.3). */
const frameEnd = 0xce;

function connectionFrame(payload: readonly number[]): Buffer {
  return Buffer.from([1, 0, 0, 0, 0, 0, payload.length, ...payload, frameEnd]);
}

/** `connection.blocked` with a reason, and `connection.unblocked`: RabbitMQ's extensions 10.60 and 10.61. */
export const blocked = connectionFrame([0, 10, 0, 60, 3, ...Buffer.from("low")]);
export const unblocked = connectionFrame([0, 10, 0, 61]);

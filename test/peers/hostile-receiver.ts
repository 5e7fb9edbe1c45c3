import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";

/**
 * A hostile receiver: a raw socket server that passes every connection to a behaviour. It counts the bytes that it
 * could write, so that tests can limit how much a sender reads. It also counts the bytes it received, so that tests can
 * prove that nothing was sent.
 */
export interface HostileReceiver {
  readonly origin: string;
  readonly port: number;
  readonly connectionCount: number;
  readonly connectionsOpen: number;
  /** Number of application bytes, after decryption if TLS is used. */
  readonly bytesReceived: number;
  /** Number of bytes passed to the kernel, including those that the sender has not read from the socket buffers yet. */
  readonly bytesWritten: number;
  /** Resolves when at least one connection was opened and the other side has closed all connections. */
  untilAllClosed(): Promise<void>;
  close(): Promise<void>;
}

export type Behaviour = (connection: HostileConnection) => void | Promise<void>;

export interface HostileOptions {
  /** Behaviour of a connection. The default accepts it and stays silent. */
  readonly behave: Behaviour;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly hostname?: string;
}

class HostileConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #onData: (() => void) | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#onData?.();
    });
  }

  get open(): boolean {
    return !this.socket.destroyed;
  }

  /** Resolves with the next complete request. Never resolves if the connection ends first. */
  async request(): Promise<Buffer> {
    for (;;) {
      const length = requestLength(this.#received);
      if (length !== null && this.#received.length >= length) {
        const request = this.#received.subarray(0, length);
        this.#received = this.#received.subarray(length);
        return request;
      }
      await new Promise<void>((resolve) => (this.#onData = resolve));
    }
  }

  /** Resolves with true when the kernel has accepted the bytes, or with false if the connection is closed. */
  write(bytes: string | Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      if (!this.open) return resolve(false);
      this.socket.write(bytes, (error) => resolve(error === undefined || error === null));
    });
  }

  /** Writes `chunk` repeatedly until the other side disconnects or `bytesMax` is reached. */
  async flood(chunk: Uint8Array, bytesMax: number): Promise<void> {
    for (let written = 0; written < bytesMax; written += chunk.length) {
      if (!(await this.write(chunk))) return;
    }
  }

  /** Writes one byte per `everyMs`. */
  async drip(bytes: string, everyMs: number): Promise<void> {
    for (const byte of Buffer.from(bytes, "latin1")) {
      if (!(await this.write(Uint8Array.of(byte)))) return;
      await pause(everyMs);
    }
  }

  end(): void {
    this.socket.end();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

export async function startHostileReceiver(options: HostileOptions): Promise<HostileReceiver> {
  const sockets = new Set<Socket>();
  const counts = { connections: 0, received: 0, written: 0 };
  const closeWaiters: (() => void)[] = [];
  const accept = (socket: Socket): void => {
    counts.connections++;
    sockets.add(socket);
    socket.on("data", (chunk: Buffer) => (counts.received += chunk.length));
    socket.once("close", () => {
      counts.written += socket.bytesWritten - socket.writableLength;
      sockets.delete(socket);
      if (sockets.size === 0) for (const waiter of closeWaiters.splice(0)) waiter();
    });
    void options.behave(new HostileConnection(socket));
  };
  const server = serverFor(options, accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const scheme = options.tls === undefined ? "http" : "https";
  return {
    port,
    origin: `${scheme}://${options.hostname ?? "127.0.0.1"}:${port}`,
    get connectionCount() {
      return counts.connections;
    },
    get connectionsOpen() {
      return sockets.size;
    },
    get bytesReceived() {
      return counts.received;
    },
    get bytesWritten() {
      let open = 0;
      for (const socket of sockets) open += socket.bytesWritten - socket.writableLength;
      return counts.written + open;
    },
    untilAllClosed: () =>
      new Promise((resolve) => {
        if (sockets.size === 0 && counts.connections > 0) resolve();
        else closeWaiters.push(resolve);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function serverFor(options: HostileOptions, accept: (socket: Socket) => void): Server {
  if (options.tls === undefined) return createTcpServer({ noDelay: true }, accept);
  const server = createTlsServer({ ...options.tls }, accept);
  // Some senders reject the certificate, so this error is expected.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

/** Null until the head is complete. */
function requestLength(received: Buffer): number | null {
  const headLength = received.indexOf("\r\n\r\n");
  if (headLength < 0) return null;
  const head = received.toString("latin1", 0, headLength);
  return headLength + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
}

function pause(pauseMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs));
}

const ok = "HTTP/1.1 200 OK\r\n";
const mebibyte = Buffer.alloc(1024 * 1024, 0x61);
const gibibyteLength = 1024 ** 3;

/** Responds to the first request with these bytes, then does nothing. */
export function answering(bytes: string | Uint8Array): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.write(bytes);
  };
}

/** Responds to the first request with these bytes, then closes the connection gracefully. */
export function answeringThenClosing(bytes: string | Uint8Array): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.write(bytes);
    connection.end();
  };
}

/** Responds to the first request with these bytes, then resets the connection. */
export function answeringThenResetting(bytes: string | Uint8Array): Behaviour {
  return async (connection) => {
    await connection.request();
    await connection.write(bytes);
    // The sender must read the bytes before the reset discards them. Nothing signals that it has done so, so wait.
    await pause(30);
    connection.reset();
  };
}

/** One behaviour for each kind of hostile receiver. The suites define how a sender must classify each one. */
export const behaviours = {
  silent: () => undefined,
  hangAfterRequest: async (connection) => void (await connection.request()),
  dripHead: async (connection) => {
    await connection.request();
    await connection.drip(`${ok}X-Padding: ${"a".repeat(4096)}`, 50);
  },
  dripBody: async (connection) => {
    await connection.request();
    await connection.write(`${ok}Content-Length: 4096\r\n\r\n`);
    await connection.drip("a".repeat(4096), 50);
  },
  endlessBody: async (connection) => {
    await connection.request();
    await connection.write(`${ok}\r\n`);
    await connection.flood(mebibyte, Number.POSITIVE_INFINITY);
  },
  gigabyteBody: async (connection) => {
    await connection.request();
    await connection.write(`${ok}Content-Length: ${gibibyteLength}\r\n\r\n`);
    await connection.flood(mebibyte, gibibyteLength);
  },
  endlessChunkExtension: async (connection) => {
    await connection.request();
    await connection.write(`${ok}Transfer-Encoding: chunked\r\n\r\n1;`);
    await connection.flood(mebibyte, Number.POSITIVE_INFINITY);
  },
  endlessReason: async (connection) => {
    await connection.request();
    await connection.write("HTTP/1.1 200 ");
    await connection.flood(mebibyte, Number.POSITIVE_INFINITY);
  },
  headerFlood: async (connection) => {
    await connection.request();
    await connection.write(ok);
    await connection.flood(Buffer.from(`X-Flood: ${"a".repeat(1000)}\r\n`), Number.POSITIVE_INFINITY);
  },
  interimFlood: async (connection) => {
    await connection.request();
    await connection.flood(Buffer.from("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 100_000);
    await connection.write(`${ok}Content-Length: 0\r\n\r\n`);
  },
  garbageFlood: async (connection) => {
    await connection.request();
    await connection.flood(Buffer.alloc(65_536, 0), Number.POSITIVE_INFINITY);
  },
  gzipBomb: async (connection) => {
    await connection.request();
    const bomb = gzipSync(Buffer.alloc(16 * 1024 * 1024));
    await connection.write(`${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
    await connection.write(bomb);
  },
  resetAtAccept: (connection) => connection.reset(),
  closeAtAccept: (connection) => connection.end(),
  resetBeforeAnswer: answeringThenResetting(""),
  closeBeforeAnswer: answeringThenClosing(""),
} satisfies Record<string, Behaviour>;

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * A small pooler in transaction mode, for trusting servers: a client keeps a server connection only until its
 * transaction ends, and gets another one for the next. So whatever relies on the state of a session breaks. It can also
 * cut a client off at the moment of a commit.
 */
export interface TransactionPooler {
  /** The given URL, through the pooler. */
  readonly url: string;
  /** Cuts the next client that commits: before the server hears of it, or after it has answered. */
  cutNextCommit(when: "before" | "after"): void;
  close(): Promise<void>;
}

export async function startTransactionPooler(target: string): Promise<TransactionPooler> {
  const pooler = new Pooler(new URL(target));
  const server: Server = createServer((socket) => pooler.accept(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cutNextCommit: (when) => {
      pooler.cut = when;
    },
    close: async () => {
      pooler.closeAll();
      server.close();
      await once(server, "close");
    },
  };
}

const readyForQuery = 0x5a;
const idle = 0x49;
const simpleQuery = 0x51;
const terminate = 0x58;

interface ServerConnection {
  readonly socket: Socket;
  client: Socket | null;
  readonly greeting: Buffer[];
}

class Pooler {
  cut: "before" | "after" | null = null;
  readonly #target: URL;
  readonly #free: ServerConnection[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #cutting = new Set<Socket>();

  constructor(target: URL) {
    this.#target = target;
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  accept(client: Socket): void {
    this.#track(client);
    let startup: Buffer | null = null;
    let held: ServerConnection | null = null;
    const toServer = messageReader(false, (message) => {
      if (startup === null) {
        startup = message;
        void this.#connect(startup, client).then(
          (server) => {
            this.#free.push(server);
            client.write(Buffer.concat(server.greeting));
          },
          () => client.destroy(),
        );
        return;
      }
      if (message[0] === terminate) return client.end();
      if (held?.client !== client) {
        // The oldest one, so that a client rarely meets the same one twice.
        held = this.#free.shift() ?? null;
        if (held === null) return client.destroy();
        held.client = client;
      }
      if (!this.#isCut(message, { client, server: held })) held.socket.write(message);
    });
    client.on("data", toServer);
    client.on("close", () => {
      if (held?.client === client) held.socket.destroy();
    });
  }

  #isCut(message: Buffer, ends: { readonly client: Socket; readonly server: ServerConnection }): boolean {
    const isCommit = message[0] === simpleQuery && message.toString("utf8", 5).startsWith("COMMIT");
    if (!isCommit || this.cut === null) return false;
    const when = this.cut;
    this.cut = null;
    if (when === "after") {
      this.#cutting.add(ends.client);
      return false;
    }
    ends.client.destroy();
    return true;
  }

  async #connect(startup: Buffer, client: Socket): Promise<ServerConnection> {
    const socket = connect(Number(this.#target.port || 5432), this.#target.hostname);
    this.#track(socket);
    const server: ServerConnection = { socket, client: null, greeting: [] };
    const ready = Promise.withResolvers<void>();
    let greeted = false;
    socket.on(
      "data",
      messageReader(true, (message) => {
        const isIdle = message[0] === readyForQuery && message[5] === idle;
        if (!greeted) {
          server.greeting.push(message);
          if (isIdle) {
            greeted = true;
            ready.resolve();
          }
          return;
        }
        const { client: to } = server;
        if (isIdle) {
          server.client = null;
          this.#free.push(server);
        }
        if (to !== null && this.#cutting.delete(to)) to.destroy();
        else to?.write(message);
      }),
    );
    socket.on("close", () => {
      const at = this.#free.indexOf(server);
      if (at >= 0) this.#free.splice(at, 1);
      (server.client ?? (greeted ? null : client))?.destroy();
    });
    socket.write(startup);
    await ready.promise;
    return server;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

/** Cuts a stream into messages. The first one of a client has no type. */
function messageReader(isTyped: boolean, handle: (message: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typed = isTyped;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const typeBytes = typed ? 1 : 0;
      if (rest.length < typeBytes + 4) return;
      const length = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      typed = true;
      handle(message);
    }
  };
}

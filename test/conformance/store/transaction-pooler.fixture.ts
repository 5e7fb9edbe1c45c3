import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * A small pooler in transaction mode, for servers that trust clients. A client keeps a server connection only until its
 * transaction ends, and gets another one for the next transaction. Everything that relies on session state therefore
 * breaks. The pooler can also disconnect a client during a commit.
 */
export interface TransactionPooler {
  /** The given URL, routed through the pooler. */
  readonly url: string;
  /**
   * Disconnects the next client that commits several statements or a new event. This happens either before the server
   * receives the commit or after it has responded.
   */
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
const sync = 0x53;
const keyData = 0x4b;
const terminate = 0x58;

/** Fewer connections than a store has, so that the store must share them. */
const serversMax = 4;

interface PooledServer {
  readonly socket: Socket;
  client: PooledClient | null;
}

interface PooledClient {
  readonly socket: Socket;
  server: PooledServer | null;
  /** Data that arrived while the client waited for a server connection. */
  readonly held: Buffer[];
  isCutAfterCommit: boolean;
  /** Number of statements in the running transaction. */
  statements: number;
}

class Pooler {
  cut: "before" | "after" | null = null;
  readonly #target: URL;
  readonly #free: PooledServer[] = [];
  readonly #waiting: PooledClient[] = [];
  readonly #sockets = new Set<Socket>();
  #servers = 0;
  /** The server's startup messages to its first client, which are repeated to all later clients. */
  #greeting: Buffer | null = null;

  constructor(target: URL) {
    this.#target = target;
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  accept(socket: Socket): void {
    this.#track(socket);
    const client: PooledClient = { socket, server: null, held: [], isCutAfterCommit: false, statements: 0 };
    let started = false;
    socket.on(
      "data",
      messageReader(false, (message) => {
        if (started) return this.#fromClient(client, message);
        started = true;
        void this.#start(client, message);
      }),
    );
    socket.on("close", () => {
      // The client left during a transaction. As in a real pooler, other clients must not get this server connection.
      client.server?.socket.destroy();
      const at = this.#waiting.indexOf(client);
      if (at >= 0) this.#waiting.splice(at, 1);
    });
  }

  async #start(client: PooledClient, startup: Buffer): Promise<void> {
    if (this.#servers < serversMax) await this.#connect(startup);
    if (this.#greeting === null) client.socket.destroy();
    else client.socket.write(withOwnKey(this.#greeting));
  }

  #fromClient(client: PooledClient, message: Buffer): void {
    if (message[0] === terminate) {
      client.socket.end();
      return;
    }
    if (client.server !== null) return this.#toServer(client, message);
    client.held.push(message);
    if (client.held.length > 1) return;
    this.#waiting.push(client);
    this.#assign();
  }

  #toServer(client: PooledClient, message: Buffer): void {
    const command = message[0] === simpleQuery ? message.toString("utf8", 5) : "";
    if (command.startsWith("BEGIN")) client.statements = 0;
    if (message[0] === sync) client.statements += 1;
    if (message.includes("INSERT INTO posthorn.events")) client.statements += 1;
    if (command.startsWith("COMMIT") && client.statements > 1 && this.cut !== null) {
      client.isCutAfterCommit = this.cut === "after";
      this.cut = null;
      if (!client.isCutAfterCommit) {
        client.socket.destroy();
        return;
      }
    }
    client.server?.socket.write(message);
  }

  /** The server connection that has been idle longest is used first, so a client rarely gets the same one twice. */
  #assign(): void {
    while (this.#waiting.length > 0) {
      const server = this.#free.shift();
      if (server === undefined) return;
      const client = this.#waiting.shift();
      if (client === undefined) return;
      server.client = client;
      client.server = server;
      for (const message of client.held.splice(0)) this.#toServer(client, message);
    }
  }

  async #connect(startup: Buffer): Promise<void> {
    this.#servers += 1;
    const socket = connect(Number(this.#target.port || 5432), this.#target.hostname);
    this.#track(socket);
    const server: PooledServer = { socket, client: null };
    const greeting: Buffer[] = [];
    const ended = Promise.withResolvers<"ended">();
    let isReady = false;
    socket.on(
      "data",
      messageReader(true, (message) => {
        const isIdle = message[0] === readyForQuery && message[5] === idle;
        if (isReady) return this.#fromServer(server, { message, isIdle });
        greeting.push(message);
        if (!isIdle) return;
        isReady = true;
        this.#greeting = Buffer.concat(greeting);
        this.#free.push(server);
        ended.resolve("ended");
      }),
    );
    socket.on("close", () => {
      this.#servers -= 1;
      const at = this.#free.indexOf(server);
      if (at >= 0) this.#free.splice(at, 1);
      server.client?.socket.destroy();
      ended.resolve("ended");
    });
    socket.write(startup);
    await ended.promise;
  }

  #fromServer(server: PooledServer, from: { readonly message: Buffer; readonly isIdle: boolean }): void {
    const { client } = server;
    if (from.isIdle) {
      server.client = null;
      if (client !== null) client.server = null;
      this.#free.push(server);
    }
    if (client?.isCutAfterCommit === true) client.socket.destroy();
    else client?.socket.write(from.message);
    if (from.isIdle) this.#assign();
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

/**
 * As with real poolers, each client gets its own process ID and cancel key, which differ from those of the server
 * process.
 */
function withOwnKey(greeting: Buffer): Buffer {
  const own = Buffer.from(greeting);
  const at = own.indexOf(Buffer.from([keyData, 0, 0, 0, 12]));
  if (at >= 0) randomBytes(8).copy(own, at + 5);
  return own;
}

/** Splits a stream into messages. The first message of a client has no type byte. */
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

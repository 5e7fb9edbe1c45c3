import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { waitMsMax } from "../scenarios/eventually.fixture.ts";

/**
 * A well-behaved receiver that follows a test's script and records its requests.
 *
 * ```ts
 * const receiver = await startReceiver();
 * receiver.script((request, index) => (index === 0 ? { status: 503, headers: { "Retry-After": "2" } } : {}));
 * await receiver.waitForRequests(2);
 * receiver.url("/hook"); // http://127.0.0.1:41234/hook
 * await receiver.close();
 * ```
 *
 * For receivers that break the rules of HTTP, see hostile-receiver.ts.
 */
export interface Receiver {
  /** The origin of the receiver: `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly port: number;
  /** Requests in order of arrival. Each is recorded when its body is complete. */
  readonly requests: readonly ReceivedRequest[];
  /** Number of requests received so far. They are counted even if they are not recorded. */
  readonly requestCount: number;
  readonly connectionsOpen: number;
  /** Number of connections accepted so far. */
  readonly connectionCount: number;
  /** The highest number of concurrent requests. */
  readonly concurrencyPeak: number;
  url(path?: string): string;
  /** Sets the responses from now on. The initial script responds with 200 and an empty body. */
  script(script: Script): void;
  /** Resolves when `count` requests have arrived since the start; rejects after `timeoutMs`. */
  waitForRequests(count: number, timeoutMs?: number): Promise<readonly ReceivedRequest[]>;
  /** Resolves when `condition` holds. The condition is checked at each event of the receiver. */
  waitUntil(condition: () => boolean, timeoutMs?: number): Promise<void>;
  /** Discards the recorded requests. The counters continue, but `waitForRequests` counts from zero again. */
  clear(): void;
  /** Closes idle connections, as a server that restarts does. */
  closeIdleConnections(): void;
  close(): Promise<void>;
}

export interface ReceivedRequest {
  /** Index of the request, counted from 0 over all connections. */
  readonly index: number;
  readonly method: string;
  readonly path: string;
  /** Raw headers in the order in which they were sent: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /** Headers by lower-case name. Repeated headers are joined as in Node. */
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly text: string;
  /** `performance.now()` when the head arrived. */
  readonly arrivedAtMs: number;
  /** Number of the connection, counted from 1 in order of acceptance. */
  readonly connectionId: number;
}

/** The defaults are status 200 and an empty body. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  readonly delayMs?: number;
}

/** A response that never ends: its head, then this text again and again. */
export interface Drip {
  readonly drip: string;
  readonly everyMs: number;
}

/**
 * `hang` keeps the connection open without a response, `reset` ends it with a TCP reset, and `close` ends it with a
 * FIN.
 */
export type Script = (request: ReceivedRequest, index: number) => Reaction | Promise<Reaction>;
export type Reaction = Answer | Drip | "hang" | "reset" | "close";

export interface ReceiverOptions {
  /** Key and certificate as PEM. If set, the origin starts with `https://`. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /**
   * Host name in the origin, such as `localhost` for a certificate with that name. The receiver always listens on
   * loopback.
   */
  readonly hostname?: string;
  readonly portNumber?: number;
  /** Set to false for load tests: requests are counted but not stored. */
  readonly record?: boolean;
  readonly keepAliveMs?: number;
}

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = new ScriptedReceiver(options);
  await receiver.listen();
  return receiver;
}

interface Waiter {
  readonly condition: () => boolean;
  readonly resolve: () => void;
}

class ScriptedReceiver implements Receiver {
  readonly #options: ReceiverOptions;
  readonly #server: Server;
  readonly #connectionIds = new WeakMap<Socket, number>();
  readonly #sockets = new Set<Socket>();
  readonly #waiters = new Set<Waiter>();
  #recorded: ReceivedRequest[] = [];
  #script: Script = () => ({});
  #answering = 0;
  #clearedCount = 0;
  port = 0;
  requestCount = 0;
  connectionCount = 0;
  concurrencyPeak = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    const listener: RequestListener = (request, response) => this.#receive(request, response);
    const { tls } = options;
    this.#server = tls === undefined ? createHttpServer(listener) : createHttpsServer({ ...tls }, listener);
    this.#server.keepAliveTimeout = options.keepAliveMs ?? 60_000;
    this.#server.requestTimeout = 0;
    this.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) =>
      this.#accept(socket),
    );
  }

  get origin(): string {
    const scheme = this.#options.tls === undefined ? "http" : "https";
    return `${scheme}://${this.#options.hostname ?? "127.0.0.1"}:${this.port}`;
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#recorded;
  }

  get connectionsOpen(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.portNumber ?? 0, "127.0.0.1", 4096, resolve);
    });
    this.port = (this.#server.address() as AddressInfo).port;
  }

  url(path = "/"): string {
    return `${this.origin}${path}`;
  }

  script(script: Script): void {
    this.#script = script;
  }

  async waitForRequests(count: number, timeoutMs = waitMsMax): Promise<readonly ReceivedRequest[]> {
    await this.waitUntil(() => this.requestCount - this.#clearedCount >= count, timeoutMs);
    return this.#recorded;
  }

  async waitUntil(condition: () => boolean, timeoutMs = waitMsMax): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(
          new Error(`receiver waited ${timeoutMs} ms in vain; it has had ${this.requestCount} requests`),
        );
      }, timeoutMs);
      const waiter = {
        condition,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiters.add(waiter);
    });
  }

  clear(): void {
    this.#recorded = [];
    this.#clearedCount = this.requestCount;
  }

  closeIdleConnections(): void {
    this.#server.closeIdleConnections();
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  #accept(socket: Socket): void {
    this.#connectionIds.set(socket, ++this.connectionCount);
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#tellWaiters();
    });
    this.#tellWaiters();
  }

  #receive(message: IncomingMessage, response: ServerResponse): void {
    const arrivedAtMs = performance.now();
    this.concurrencyPeak = Math.max(this.concurrencyPeak, ++this.#answering);
    response.once("close", () => this.#answering--);
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("error", ignoreAborted);
    message.on("end", () => {
      const request = this.#record(message, { chunks, arrivedAtMs });
      void this.#answer(request, response);
    });
  }

  #record(message: IncomingMessage, seen: { chunks: Buffer[]; arrivedAtMs: number }): ReceivedRequest {
    const body = Buffer.concat(seen.chunks);
    const request: ReceivedRequest = {
      index: this.requestCount++,
      method: message.method ?? "",
      path: message.url ?? "",
      rawHeaders: message.rawHeaders,
      headers: message.headers,
      body,
      get text() {
        return body.toString("utf8");
      },
      arrivedAtMs: seen.arrivedAtMs,
      connectionId: this.#connectionIds.get(message.socket) ?? 0,
    };
    if (this.#options.record !== false) this.#recorded.push(request);
    this.#tellWaiters();
    return request;
  }

  async #answer(request: ReceivedRequest, response: ServerResponse): Promise<void> {
    const reaction = await this.#script(request, request.index);
    if (reaction === "hang") return;
    if (reaction === "reset") return void response.socket?.resetAndDestroy();
    if (reaction === "close") return void response.socket?.destroy();
    if ("drip" in reaction) return drip(response, reaction);
    if (reaction.delayMs !== undefined) await delay(reaction.delayMs);
    if (response.destroyed) return;
    const body = reaction.body ?? "";
    response.writeHead(reaction.status ?? 200, {
      "Content-Length": Buffer.byteLength(body),
      ...reaction.headers,
    });
    response.end(body);
  }

  #tellWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.condition()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

function drip(response: ServerResponse, { drip: text, everyMs }: Drip): void {
  response.writeHead(200, { "content-type": "text/plain" });
  const timer = setInterval(() => response.write(text), everyMs);
  response.once("close", () => clearInterval(timer));
}

function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** A sender that abandons a request causes an error here. Tests detect that the request is missing. */
function ignoreAborted(): void {
  // Nothing to do.
}

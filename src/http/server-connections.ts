import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { InvalidRequestError } from "../domain/errors.ts";
import { Alarm, type Clock } from "../ports/clock.ts";

/** Extra connections reserved for probes: a process at its limit must not look dead. */
const probeConnections = 16;
/** Node counts closing connections until the next turn of the event loop, and a burst arrives within one turn. */
const burstMax = 512;
/** When all connections are in use, a request whose body takes longer than this may lose its connection. */
const slowBodyMs = 5_000;

const probePaths: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);

interface Busy {
  readonly request: IncomingMessage;
  readonly sinceMs: number;
}

/**
 * Limits the connections of a server. At the limit, a new connection replaces the one with the weakest claim: first the
 * oldest that never completed a request head, then the one that has been idle longest, then the oldest with an
 * incomplete body or an unread response. Without this, a client that opens connections and sends nothing would lock out
 * all others. A new connection is refused only if all are busy; probes are still accepted.
 */
export class HeldConnections {
  readonly #connectionsMax: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Each set is ordered by the time at which its connections entered this state. */
  readonly #headless = new Set<Socket>();
  readonly #idle = new Set<Socket>();
  readonly #busy = new Map<Socket, Busy>();
  readonly #forProbes = new WeakSet<Socket>();

  constructor(server: Server, connectionsMax: number, clock: Pick<Clock, "monotonicMs">) {
    this.#connectionsMax = connectionsMax;
    this.#clock = clock;
    server.maxConnections = connectionsMax + probeConnections + burstMax;
    server.on("connection", (socket) => this.#opened(socket));
    server.prependListener("request", (request, response) => this.#requested(request, response));
  }

  /** Whether a request other than a probe arrived on a connection reserved for probes. */
  refuses(socket: Socket, path: string): boolean {
    return this.#forProbes.has(socket) && !probePaths.has(path.split("?", 1)[0] ?? "");
  }

  get #count(): number {
    return this.#headless.size + this.#idle.size + this.#busy.size;
  }

  #opened(socket: Socket): void {
    if (this.#count >= this.#connectionsMax) this.#makeRoom();
    if (this.#count >= this.#connectionsMax + probeConnections) return void socket.destroy();
    if (this.#count >= this.#connectionsMax) this.#forProbes.add(socket);
    this.#headless.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The connection was evicted in the same turn.
    if (!this.#headless.delete(socket) && !this.#idle.delete(socket) && !this.#busy.has(socket)) return;
    this.#busy.set(socket, { request, sinceMs: this.#clock.monotonicMs() });
    response.once("close", () => {
      // With pipelining, the next request may already have started.
      if (this.#busy.get(socket)?.request !== request) return;
      this.#busy.delete(socket);
      this.#idle.add(socket);
    });
  }

  #makeRoom(): void {
    const victim = first(this.#headless) ?? first(this.#idle) ?? this.#oldestSlow();
    if (victim === null) return;
    this.#forget(victim);
    victim.destroy();
  }

  #oldestSlow(): Socket | null {
    const now = this.#clock.monotonicMs();
    for (const [socket, { request, sinceMs }] of this.#busy) {
      if (now - sinceMs < slowBodyMs) return null;
      if (!request.complete || socket.writableLength > 0) return socket;
    }
    return null;
  }

  #forget(socket: Socket): void {
    this.#headless.delete(socket);
    this.#idle.delete(socket);
    this.#busy.delete(socket);
  }
}

function first(sockets: ReadonlySet<Socket>): Socket | null {
  return sockets.values().next().value ?? null;
}

// Refuses invalid request heads before any lookup, with a problem document where Node would send no body.

/** Requires exactly one Host header (RFC 9112, section 3.2): a proxy might have used another one. */
export function refuseHosts(request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void {
  const { rawHeaders, httpVersion } = request.raw;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === hostLength && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) done();
  else
    done(
      new InvalidRequestError("A request must have exactly one Host header.", [
        { field: "Host", message: "must be present exactly once" },
      ]),
    );
}

const hostLength = "host".length;

/** Refuses `Expect` values other than `100-continue`. */
export function refuseExpectation(basePath: string) {
  const body = JSON.stringify({
    type: `${basePath}/docs/errors#invalid_request`,
    title: "Expectation Failed",
    status: 417,
    detail: "Only the expectation 100-continue is supported.",
    code: "invalid_request",
  });
  return (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    response.writeHead(417, {
      "content-type": "application/problem+json",
      "x-content-type-options": "nosniff",
      "content-length": Buffer.byteLength(body),
      connection: "close",
    });
    response.end(body);
  };
}

interface SlowReadersOptions {
  readonly clock: Clock;
  /** How long a response may wait for the client to read it. */
  readonly answerTimeoutMs: number;
  readonly checkIntervalMs: number;
}

/** Watches the connections of a server until it closes. */
export function endSlowReaders(server: Server, options: SlowReadersOptions): void {
  const slowReaders = new SlowReaders(options);
  server.on("connection", (socket) => slowReaders.opened(socket));
}

/**
 * Closes connections whose clients do not read their response. Node's own timeouts end with the request, and its idle
 * timeout restarts with every byte: a client that reads a byte now and then could hold a response indefinitely.
 */
class SlowReaders {
  readonly #options: SlowReadersOptions;
  readonly #sockets = new Set<Socket>();
  /** When the pending part of a response was written (monotonic ms). */
  readonly #waitingSince = new Map<Socket, number>();
  readonly #alarm: Alarm;

  constructor(options: SlowReadersOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  opened(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#closed(socket));
    if (!this.#alarm.isSet) this.#checkLater();
  }

  #closed(socket: Socket): void {
    this.#sockets.delete(socket);
    this.#waitingSince.delete(socket);
    if (this.#sockets.size === 0) this.#alarm.cancel();
  }

  #checkLater(): void {
    this.#alarm.set(this.#options.checkIntervalMs, () => {
      for (const socket of this.#sockets) this.#check(socket);
      if (this.#sockets.size > 0) this.#checkLater();
    });
  }

  #check(socket: Socket): void {
    const now = this.#options.clock.monotonicMs();
    const since = this.#waitingSince.get(socket);
    if (socket.writableLength === 0) this.#waitingSince.delete(socket);
    else if (since === undefined) this.#waitingSince.set(socket, now);
    else if (now - since >= this.#options.answerTimeoutMs) socket.destroy();
  }
}

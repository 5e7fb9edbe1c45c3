import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../ports/clock.ts";

/** Beyond the limit, for probes alone: a process that is full must not look dead. */
const probeConnections = 16;
/** Connections that close are counted by Node until the next turn of the loop, and a burst arrives within one. */
const burstMax = 512;
/** A request whose body takes longer than this may lose its connection to another caller, when all are in use. */
const slowBodyMs = 5_000;

const probePaths: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);

interface Busy {
  readonly request: IncomingMessage;
  readonly sinceMs: number;
}

/**
 * The connections of a server under a limit. At the limit a new connection replaces the one that has the least claim to stay:
 * the oldest that never completed a request head, then the one that has been idle longest, then the oldest that does not
 * complete its body or does not read its answer. Otherwise a client that opens connections and sends nothing would keep
 * everyone else out. Only where all connections are busy, a new one is refused, except for probes.
 */
export class HeldConnections {
  readonly #connectionsMax: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** All in the order in which they came into this state. */
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

  /** Whether a request came over one of the connections that are kept for probes, and is not one. */
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
    // One that was given up in the same turn.
    if (!this.#headless.delete(socket) && !this.#idle.delete(socket) && !this.#busy.has(socket)) return;
    this.#busy.set(socket, { request, sinceMs: this.#clock.monotonicMs() });
    response.once("close", () => {
      // With pipelining the next request may have begun.
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

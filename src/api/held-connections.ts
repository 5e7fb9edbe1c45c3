import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../ports/clock.ts";

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

import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../ports/clock.ts";
import { Alarm } from "../ports/timing/alarm.ts";

export interface SlowReadersOptions {
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

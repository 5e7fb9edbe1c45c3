import type { Clock } from "../../ports/clock.ts";
import {
  noResponseFields,
  type OutboundRequest,
  type Transport,
  type TransportResult,
} from "../../ports/transport.ts";
import { type LostSender, SenderThread, type StartSender } from "./sender-thread.ts";

export interface ThreadsTransportOptions {
  /** Number of threads, at least 1. */
  readonly threads: number;
  readonly start: StartSender;
  /** Settings passed to each thread; must be plain data. */
  readonly settings: unknown;
  readonly clock: Clock;
  /** Sends requests to `http:` origins; if omitted, the threads send them. Closed with this transport. */
  readonly plain?: Transport | undefined;
  /** Called after a thread ended unexpectedly. Another thread replaces it. */
  readonly onLost: (lost: LostSender) => void;
}

/**
 * Sends from separate threads: names, connections, TLS and responses cost the caller's thread only the handover. All
 * requests to an origin go to the same thread, so that its connections and TLS sessions are reused.
 *
 * Requests and results are handed over once per turn of each event loop. When a thread dies, its requests in flight may
 * have arrived (`requestSent`); requests for a thread that could not be started failed because of a shortage.
 */
export function createThreadsTransport(options: ThreadsTransportOptions): Transport {
  return new ThreadsTransport(options);
}

class ThreadsTransport implements Transport {
  readonly #senders: readonly SenderThread[];
  readonly #openSockets: Int32Array;
  readonly #plain: Transport | null;
  #closing: Promise<void> | null = null;

  constructor({ threads, plain, ...parts }: ThreadsTransportOptions) {
    this.#plain = plain ?? null;
    const openSockets = new Int32Array(new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT));
    this.#openSockets = openSockets;
    this.#senders = Array.from(
      { length: threads },
      (_, slot) => new SenderThread({ ...parts, openSockets, slot }),
    );
  }

  send(request: OutboundRequest): Promise<TransportResult> {
    if (this.#plain !== null && request.origin.startsWith("http:")) return this.#plain.send(request);
    const sender = this.#senders[slotOf(request.origin, this.#senders.length)];
    if (this.#closing !== null || sender === undefined) return Promise.resolve(closed);
    return sender.send(request);
  }

  openSockets(): number {
    const here = this.#plain?.openSockets() ?? 0;
    return this.#openSockets.reduce((sum, _, slot) => sum + Atomics.load(this.#openSockets, slot), here);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all([this.#plain?.close(), ...this.#senders.map((sender) => sender.close())]);
  }
}

/** FNV-1a: an origin always maps to the same thread. */
export function slotOf(origin: string, slots: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < origin.length; at++) hash = Math.imul(hash ^ origin.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % slots;
}

const closed: TransportResult = {
  observation: { kind: "failure", category: "network", requestSent: false },
  responseSample: null,
  fields: noResponseFields,
  errorMessage: "the transport is closed",
  durationMs: 0,
};

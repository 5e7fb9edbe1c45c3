import type { HttpVersion } from "../../domain/attempt-trace.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Exchange } from "./exchange.ts";
import type { WireLimitListener } from "./response-gate.ts";

/** When each step of a connection was completed, in monotonic milliseconds; null until then. */
export class DialTimes {
  readonly startedMs: number;
  resolvedMs: number | null = null;
  connectedMs: number | null = null;
  securedMs: number | null = null;
  /** The IP address connected to, or the last one tried; null through a proxy. */
  peerAddress: string | null = null;
  readonly #clock: Pick<Clock, "monotonicMs">;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
  }

  resolved(): void {
    this.resolvedMs = this.#clock.monotonicMs();
  }

  connected(): void {
    this.connectedMs = this.#clock.monotonicMs();
  }

  secured(): void {
    this.securedMs = this.#clock.monotonicMs();
  }

  get dnsMs(): number | null {
    return since(this.startedMs, this.resolvedMs);
  }

  get connectMs(): number | null {
    return since(this.resolvedMs ?? this.startedMs, this.connectedMs);
  }

  get tlsMs(): number | null {
    return since(this.connectedMs, this.securedMs);
  }

  /** When the connection became usable, including TLS if `isSecure` is set; null until then. */
  readyMs(isSecure: boolean): number | null {
    return isSecure ? this.securedMs : this.connectedMs;
  }
}

function since(from: number | null, until: number | null): number | null {
  return from === null || until === null ? null : Math.round(until - from);
}

export interface ConnectionOwner {
  /** Called when the connection has ended, because the receiver closed it or because it was idle for too long. */
  disconnected(byReceiver: boolean): void;
  /**
   * Called when the receiver reports that it did not and will not process the request (GOAWAY). The request can then be
   * sent again safely.
   */
  refused(exchange: Exchange): void;
}

/**
 * One socket, used for one exchange at a time. So a limit on connections is a limit on requests, and a receiver's
 * handling of one request cannot affect another.
 */
export interface Connection {
  /**
   * Whether a request is in flight, possibly not written yet: if the receiver closes an idle connection just as it is
   * picked for a request, HTTP/1.1 reconnects and sends it there.
   */
  readonly busy: boolean;
  readonly usable: boolean;
  /** The first error of the socket; null while it works, and after an orderly end by the peer. */
  readonly socketError: Error | null;
  /**
   * Whether no part of a response to the current request has arrived. Always false if the receiver itself reports
   * unprocessed requests.
   */
  readonly isSilent: boolean;
  /** Null until it is known. */
  readonly httpVersion: HttpVersion | null;
  /** Times of the newest socket; null before the first dial. */
  readonly times: DialTimes | null;
  /** May throw undici's errors for requests that cannot be sent. */
  send(exchange: Exchange): void;
  /** Call before sending a request: bytes received afterwards belong to its response. */
  expectAnswer(listener: WireLimitListener): void;
  destroy(done: () => void): void;
}

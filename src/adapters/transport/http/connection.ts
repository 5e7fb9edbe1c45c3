import type { HttpVersion } from "../../../core/attempt-trace.ts";
import type { DialTimes } from "./dial-times.ts";
import type { Exchange } from "./exchange.ts";
import type { WireLimitListener } from "./response-gate.ts";

export interface ConnectionOwner {
  /** The connection ended, because the receiver closed it or because it was idle for long enough. */
  disconnected(byReceiver: boolean): void;
  /** The receiver said that it did not and will not look at the request (GOAWAY): nothing was lost by sending it. */
  refused(exchange: Exchange): void;
}

/**
 * One socket, used for one exchange after the other, never for two at once: a limit on connections is then one on
 * requests, and what a receiver does to one request cannot touch another.
 */
export interface Connection {
  /**
   * A request is under way, perhaps not written yet: when the receiver closes an idle connection just as it is picked
   * for a request, HTTP/1.1 connects anew and sends it there.
   */
  readonly busy: boolean;
  readonly usable: boolean;
  /** What the socket said first when it failed; null while it works, and when the peer ends it in good order. */
  readonly socketError: Error | null;
  /**
   * Nothing of an answer has come to the request that is under way. Always false where the receiver says itself what it did
   * not look at.
   */
  readonly isSilent: boolean;
  /** Null before it is known. */
  readonly httpVersion: HttpVersion | null;
  /** Of the newest socket; null before the first was asked for. */
  readonly times: DialTimes | null;
  /** May throw what undici throws for requests that cannot be sent. */
  send(exchange: Exchange): void;
  /** From here on the bytes belong to the answer of the next request. */
  expectAnswer(listener: WireLimitListener): void;
  destroy(done: () => void): void;
}

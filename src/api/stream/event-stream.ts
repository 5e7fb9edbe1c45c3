import type { ServerResponse } from "node:http";
import type { Clock } from "../../ports/clock.ts";

/** One event of the format `text/event-stream` (HTML Living Standard, section 9.2.6). */
export interface StreamEvent {
  readonly name: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** Limit of unread data; beyond it the client must reload everything. */
export const unreadBytesMax = 65_536;
/** Regular traffic keeps proxies and clients from closing the connection. */
const commentEveryMs = 15_000;
/** Reconnection delay after the server ended the stream. */
const retryMs = 1_000;

/** Disables caching and buffering, including by proxies, which would delay events. */
export const eventStreamHeaders = {
  "content-type": "text/event-stream",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/**
 * The event stream of one client. Events before the response head are buffered. The id of each event is its time, from
 * which a client can resume.
 */
export class EventStream {
  readonly #clock: Pick<Clock, "now" | "monotonicMs">;
  readonly #whenEnded: (() => void)[] = [];
  #response: ServerResponse | null = null;
  #early: StreamEvent[] = [];
  #isBehind = false;
  #hasEnded = false;
  #writtenAtMs: number;

  constructor(clock: Pick<Clock, "now" | "monotonicMs">) {
    this.#clock = clock;
    this.#writtenAtMs = clock.monotonicMs();
  }

  /** Called once, also if the stream has already ended. */
  whenEnded(callback: () => void): void {
    if (this.#hasEnded) callback();
    else this.#whenEnded.push(callback);
  }

  attach(response: ServerResponse): void {
    if (this.#hasEnded || response.destroyed) {
      response.end();
      return this.#ended();
    }
    this.#response = response;
    response.once("close", () => this.#ended());
    // Tells the client at once that it is connected.
    this.#write(": connected\n\n");
    for (const event of this.#early.splice(0)) this.send(event);
  }

  send(event: StreamEvent): void {
    if (this.#hasEnded || this.#isBehind) return;
    if (this.#response === null) {
      this.#early.push(event);
      return;
    }
    if (this.#response.writableLength > unreadBytesMax) this.#isBehind = true;
    else this.#write(this.#textOf(event));
  }

  /** Called periodically: resets a client that fell behind, and keeps the connection alive. */
  tick(): void {
    if (this.#response === null) return;
    if (this.#isBehind && this.#response.writableLength === 0) {
      this.#isBehind = false;
      this.send({ name: "reset", data: {} });
    }
    if (this.#clock.monotonicMs() - this.#writtenAtMs >= commentEveryMs) this.#write(": \n\n");
  }

  /** Ends the stream; the client may reconnect. */
  end(): void {
    this.#response?.end(`retry: ${retryMs}\n\n`);
    this.#ended();
  }

  #textOf({ name, data }: StreamEvent): string {
    const id = this.#clock.now().toString(36);
    return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  }

  #write(text: string): void {
    this.#writtenAtMs = this.#clock.monotonicMs();
    this.#response?.write(text);
  }

  #ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#early = [];
    for (const callback of this.#whenEnded.splice(0)) callback();
  }
}

/** How long after its last event a client may resume. */
const resumeMsMax = 60_000;

/**
 * The time up to which a client has received events, from its `Last-Event-ID`; null for a new client, `too_old` if it
 * cannot resume.
 */
export function resumedFrom(lastEventId: string | undefined, now: number): number | "too_old" | null {
  if (lastEventId === undefined || lastEventId === "") return null;
  const at = /^[0-9a-z]{1,10}$/.test(lastEventId) ? Number.parseInt(lastEventId, 36) : Number.NaN;
  return now - at <= resumeMsMax && at <= now + resumeMsMax ? at : "too_old";
}

import type { ServerResponse } from "node:http";
import type { Clock } from "../../ports/clock.ts";

/** One event of the format `text/event-stream` (HTML Living Standard, 9.2.6). */
export interface StreamEvent {
  readonly name: string;
  /** Shown as JSON. */
  readonly data: unknown;
}

/** What a client has not read yet, at most; then it is told to read everything again. */
export const unreadBytesMax = 65_536;
/** Proxies and clients believe in a connection on which something comes now and then. */
const commentEveryMs = 15_000;
/** When a client asks again after the server has ended the stream. */
const retryMs = 1_000;

/** Nothing of it is to be kept, by proxies neither, which would hold back what is sent. */
export const eventStreamHeaders = {
  "content-type": "text/event-stream",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/**
 * What one client hears. Events before the head of the answer is written are kept until then. Each has the time as its id,
 * with which a client can go on where it was.
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

  /** Called once, also when it has ended already. */
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
    // So that a client knows at once that it is connected.
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

  /** From time to time: tells a client that fell behind to begin anew, and that the connection lives. */
  tick(): void {
    if (this.#response === null) return;
    if (this.#isBehind && this.#response.writableLength === 0) {
      this.#isBehind = false;
      this.send({ name: "reset", data: {} });
    }
    if (this.#clock.monotonicMs() - this.#writtenAtMs >= commentEveryMs) this.#write(": \n\n");
  }

  /** The client may come back. */
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

/** How long after the last event a client may go on where it was. */
const resumeMsMax = 60_000;

/**
 * The time up to which a client was told, by its `Last-Event-ID`; null for one that begins, `too_old` for what cannot be
 * continued.
 */
export function resumedFrom(lastEventId: string | undefined, now: number): number | "too_old" | null {
  if (lastEventId === undefined || lastEventId === "") return null;
  const at = /^[0-9a-z]{1,10}$/.test(lastEventId) ? Number.parseInt(lastEventId, 36) : Number.NaN;
  return now - at <= resumeMsMax && at <= now + resumeMsMax ? at : "too_old";
}

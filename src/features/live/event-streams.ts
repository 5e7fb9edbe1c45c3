import type { ServerResponse } from "node:http";
import { PosthornError } from "../../domain/errors.ts";
import { messageOf } from "../../domain/thrown.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { Logger } from "../../ports/telemetry.ts";

/** Formats one event of `text/event-stream` (HTML Living Standard, section 9.2.6). */
export interface StreamEvent {
  readonly name: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** Maximum amount of unread data; beyond it, the client must reload everything. */
export const unreadBytesMax = 65_536;
/** Regular traffic keeps proxies and clients from closing the connection. */
const commentEveryMs = 15_000;
/** Delay before clients reconnect after the server has ended the stream. */
const retryMs = 1_000;

/** Disables caching and buffering, including in proxies, where they would delay events. */
export const eventStreamHeaders = {
  "content-type": "text/event-stream",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/**
 * The event stream of one client. Events sent before the response head are buffered. The id of each event is its time,
 * from which a client can resume.
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

  /** Registers a callback that is called once when the stream ends, or immediately if it has already ended. */
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
    // Signals to the client immediately that it is connected.
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

  /** Called periodically. Resets a client that has fallen behind, and keeps the connection alive. */
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
 * The time up to which a client has received events, from its `Last-Event-ID`. Null for a new client; `too_old` if the
 * client cannot resume.
 */
export function resumedFrom(lastEventId: string | undefined, now: number): number | "too_old" | null {
  if (lastEventId === undefined || lastEventId === "") return null;
  const at = /^[0-9a-z]{1,10}$/.test(lastEventId) ? Number.parseInt(lastEventId, 36) : Number.NaN;
  return now - at <= resumeMsMax && at <= now + resumeMsMax ? at : "too_old";
}

const streamsMax = 200;
export const streamsOfCallerMax = 20;
/** Portal sessions may be numerous; when the limit is reached, their pages fall back to polling. */
export const streamsOfSessionMax = 4;
const streamsOfSessionsMax = 100;
const lookEveryMs = 1_000;
const retryAfterSeconds = 5;

interface OpenStreamsOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** The owner of a stream, and whether it may continue. */
interface Listener {
  readonly callerId: string;
  /** The owner of the rules; null for the operator. */
  readonly tenantId: string | null;
  /** Whether the stream belongs to a portal session. */
  readonly isCustomer: boolean;
  /** Checked repeatedly, because a key may be revoked or a session may end. */
  readonly isAllowed: () => boolean | Promise<boolean>;
}

interface Open extends Listener {
  readonly stream: EventStream;
}

/** Limits the number and the lifetime of streams in a process. */
export class OpenStreams {
  readonly #clock: Clock;
  readonly #open = new Set<Open>();
  readonly #looks: Loop;
  #isClosed = false;

  constructor({ clock, log }: OpenStreamsOptions) {
    this.#clock = clock;
    this.#looks = new Loop({
      clock,
      round: () => this.#look(),
      failed: (error) => log.warn({ err: messageOf(error) }, "failed to check open streams"),
    });
  }

  /** Number of open streams. */
  get count(): number {
    return this.#open.size;
  }

  /** Opens a stream. Throws `rate_limited` if a limit is exceeded, and `unavailable` while the process is stopping. */
  begin(listener: Listener): EventStream {
    this.#requireRoom(listener);
    const stream = new EventStream(this.#clock);
    const open = { ...listener, stream };
    this.#open.add(open);
    stream.whenEnded(() => this.#open.delete(open));
    this.#looks.soon(lookEveryMs);
    return stream;
  }

  /** Ends all streams. A stopping process does not wait for its clients; they reconnect to another process. */
  endAll(): void {
    this.#isClosed = true;
    for (const { stream } of [...this.#open]) stream.end();
    void this.#looks.stop();
  }

  #requireRoom({ callerId, tenantId, isCustomer }: Listener): void {
    if (this.#isClosed) {
      throw new PosthornError("unavailable", "this process is stopping; retry", { retryAfterSeconds: 1 });
    }
    const open = [...this.#open];
    const pool = isCustomer ? open.filter((one) => one.isCustomer) : open;
    const poolMax = isCustomer ? streamsOfSessionsMax : streamsMax;
    const ofTenant = pool.filter((one) => one.tenantId === tenantId).length;
    const full = [
      {
        max: isCustomer ? streamsOfSessionMax : streamsOfCallerMax,
        count: open.filter((one) => one.callerId === callerId).length,
        whose: "for this key or session",
      },
      // The number of streams that a tenant holds must be smaller than the number of unused streams. Therefore, one
      // tenant holds at most half of all streams, and another tenant can always connect.
      {
        max: Math.max(1, Math.ceil((poolMax - pool.length + ofTenant) / 2)),
        count: ofTenant,
        whose: tenantId === null ? "for the operator on this process" : "for this tenant on this process",
      },
      { max: poolMax, count: pool.length, whose: isCustomer ? "for the portal on this process" : "here" },
    ].find(({ max, count }) => count >= max);
    if (full === undefined) return;
    throw new PosthornError("rate_limited", `${full.max} streams are open ${full.whose}; that is the limit`, {
      retryAfterSeconds,
    });
  }

  async #look(): Promise<void> {
    for (const { stream, isAllowed } of [...this.#open]) {
      if (await isAllowed()) stream.tick();
      else stream.end();
    }
    if (this.#open.size > 0) this.#looks.soon(lookEveryMs);
  }
}

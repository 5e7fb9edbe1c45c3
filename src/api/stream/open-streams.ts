import { PosthornError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import { EventStream } from "./event-stream.ts";

const streamsMax = 200;
export const streamsOfCallerMax = 20;
/** There may be many portal sessions; their pages fall back to polling. */
export const streamsOfSessionMax = 4;
const streamsOfSessionsMax = 100;
const lookEveryMs = 1_000;
const retryAfterSeconds = 5;

export interface OpenStreamsOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** The owner of a stream, and whether it may continue. */
interface Listener {
  readonly callerId: string;
  /** Null for the operator. */
  readonly tenantId: string | null;
  /** Whether the stream belongs to a portal session. */
  readonly isCustomer: boolean;
  /** Checked repeatedly: a key may be revoked, a session may end. */
  readonly isAllowed: () => boolean | Promise<boolean>;
}

interface Open extends Listener {
  readonly stream: EventStream;
}

/** Limits the number and lifetime of the streams of a process. */
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

  /** Throws `rate_limited` beyond a limit, and `unavailable` while the process is stopping. */
  begin(listener: Listener): EventStream {
    this.#requireRoom(listener);
    const stream = new EventStream(this.#clock);
    const open = { ...listener, stream };
    this.#open.add(open);
    stream.whenEnded(() => this.#open.delete(open));
    this.#looks.soon(lookEveryMs);
    return stream;
  }

  /** A stopping process does not wait for its readers; they reconnect to another one. */
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
      // Fewer than are still free: one tenant can hold at most half, and there is always room for another.
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

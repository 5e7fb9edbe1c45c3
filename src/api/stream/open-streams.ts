import { PosthornError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import { EventStream } from "./event-stream.ts";

const streamsMax = 200;
export const streamsOfCallerMax = 20;
/** Sessions of the portal are many, and their pages poll where they get none. */
export const streamsOfSessionMax = 4;
const streamsOfSessionsMax = 100;
const lookEveryMs = 1_000;
const retryAfterSeconds = 5;

export interface OpenStreamsOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whose a stream is, and whether it may go on. */
interface Listener {
  readonly callerId: string;
  /** Null is the operator. */
  readonly tenantId: string | null;
  /** A session of the portal. */
  readonly isCustomer: boolean;
  /** Asked again and again: a key may be revoked, a session may end. */
  readonly isAllowed: () => boolean | Promise<boolean>;
}

interface Open extends Listener {
  readonly stream: EventStream;
}

/** The streams of a process: how many there may be, and until when each one. */
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
      failed: (error) => log.warn({ err: messageOf(error) }, "open streams could not be looked after"),
    });
  }

  /** How many there are. */
  get count(): number {
    return this.#open.size;
  }

  /** Throws `rate_limited` when there are too many, `unavailable` when the process stops. */
  begin(listener: Listener): EventStream {
    this.#requireRoom(listener);
    const stream = new EventStream(this.#clock);
    const open = { ...listener, stream };
    this.#open.add(open);
    stream.whenEnded(() => this.#open.delete(open));
    this.#looks.soon(lookEveryMs);
    return stream;
  }

  /** A process that stops waits for no reader; they come back to another one. */
  endAll(): void {
    this.#isClosed = true;
    for (const { stream } of [...this.#open]) stream.end();
    void this.#looks.stop();
  }

  #requireRoom({ callerId, tenantId, isCustomer }: Listener): void {
    if (this.#isClosed) {
      throw new PosthornError("unavailable", "this process stops; ask again", { retryAfterSeconds: 1 });
    }
    const open = [...this.#open];
    const pool = isCustomer ? open.filter((one) => one.isCustomer) : open;
    const poolMax = isCustomer ? streamsOfSessionsMax : streamsMax;
    const ofTenant = pool.filter((one) => one.tenantId === tenantId).length;
    const full = [
      {
        max: isCustomer ? streamsOfSessionMax : streamsOfCallerMax,
        count: open.filter((one) => one.callerId === callerId).length,
        whose: "with this key or session",
      },
      // Fewer than are still free, so that one tenant ends at half of them and there is always room for another.
      {
        max: Math.max(1, Math.ceil((poolMax - pool.length + ofTenant) / 2)),
        count: ofTenant,
        whose: tenantId === null ? "of the operator here" : "of this tenant here",
      },
      { max: poolMax, count: pool.length, whose: isCustomer ? "of the portal here" : "here" },
    ].find(({ max, count }) => count >= max);
    if (full === undefined) return;
    throw new PosthornError(
      "rate_limited",
      `${full.max} streams are open ${full.whose}, and there may be no more`,
      { retryAfterSeconds },
    );
  }

  async #look(): Promise<void> {
    for (const { stream, isAllowed } of [...this.#open]) {
      if (await isAllowed()) stream.tick();
      else stream.end();
    }
    if (this.#open.size > 0) this.#looks.soon(lookEveryMs);
  }
}

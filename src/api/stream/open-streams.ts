import { PosthornError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import { EventStream } from "./event-stream.ts";

const streamsMax = 200;
export const streamsOfCallerMax = 20;
const lookEveryMs = 1_000;
const retryAfterSeconds = 5;

export interface OpenStreamsOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

interface Open {
  readonly stream: EventStream;
  readonly callerId: string;
  readonly isAllowed: () => boolean;
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
      round: async () => this.#look(),
      failed: (error) => log.warn({ err: messageOf(error) }, "open streams could not be looked after"),
    });
  }

  /** How many there are. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * `isAllowed` is asked again and again: a key may be revoked, a session may end. Throws `rate_limited` when there are
   * too many, `unavailable` when the process stops.
   */
  begin(caller: { readonly callerId: string; readonly isAllowed: () => boolean }): EventStream {
    this.#requireRoom(caller.callerId);
    const stream = new EventStream(this.#clock);
    const open = { ...caller, stream };
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

  #requireRoom(callerId: string): void {
    if (this.#isClosed) {
      throw new PosthornError("unavailable", "this process stops; ask again", { retryAfterSeconds: 1 });
    }
    const ofCaller = [...this.#open].filter((open) => open.callerId === callerId).length;
    const [max, whose] =
      ofCaller >= streamsOfCallerMax
        ? [streamsOfCallerMax, "with this key or session"]
        : [streamsMax, "here"];
    if (ofCaller < streamsOfCallerMax && this.#open.size < streamsMax) return;
    throw new PosthornError("rate_limited", `${max} streams are open ${whose}, and there may be no more`, {
      retryAfterSeconds,
    });
  }

  #look(): void {
    for (const { stream, isAllowed } of [...this.#open]) {
      if (isAllowed()) stream.tick();
      else stream.end();
    }
    if (this.#open.size > 0) this.#looks.soon(lookEveryMs);
  }
}

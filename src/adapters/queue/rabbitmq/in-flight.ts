import type { Clock } from "../../../ports/clock.ts";
import { Alarm } from "../../../ports/timing/alarm.ts";

export interface InFlightOptions {
  readonly clock: Clock;
  /** A message sent at that time (monotonic ms) is not confirmed. Called again while that lasts. */
  readonly unanswered: (since: number) => void;
}

/** A quorum queue that elects a leader confirms again within seconds; one without a majority never does. */
const confirmMsMax = 10_000;

/**
 * Tracks sent messages that are not confirmed yet, and reports those that wait too long. One timer is enough, because
 * the oldest message waits longest. Time during which the broker blocks publishing does not count (`excuse`).
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** In the order they were sent. */
  readonly #messages = new Set<InFlightMessage>();
  #excusedAt = -Infinity;
  readonly #alarm: Alarm;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  get size(): number {
    return this.#messages.size;
  }

  /** Returns the function to call with the answer; only the first call counts. */
  add(answered: (isTaken: boolean) => void): (isTaken: boolean) => void {
    const message = { sentAt: this.#options.clock.monotonicMs(), answered };
    this.#messages.add(message);
    if (!this.#alarm.isSet) this.#watch(confirmMsMax);
    return (isTaken) => this.#settle(message, isTaken);
  }

  /** Restarts the time limit: until now there was a reason for missing answers. */
  excuse(): void {
    this.#excusedAt = this.#options.clock.monotonicMs();
  }

  /** Fails all messages in flight, because no answer will come. */
  fail(): void {
    for (const message of [...this.#messages]) this.#settle(message, false);
  }

  #settle(message: InFlightMessage, isTaken: boolean): void {
    if (!this.#messages.delete(message)) return;
    if (this.#messages.size === 0) this.#alarm.cancel();
    message.answered(isTaken);
  }

  #watch(delayMs: number): void {
    const { clock, unanswered } = this.#options;
    this.#alarm.set(delayMs, () => {
      const [oldest] = this.#messages;
      if (oldest === undefined) return;
      const since = Math.max(oldest.sentAt, this.#excusedAt);
      const leftMs = since + confirmMsMax - clock.monotonicMs();
      this.#watch(leftMs > 0 ? leftMs : confirmMsMax);
      if (leftMs <= 0) unanswered(since);
    });
  }
}

interface InFlightMessage {
  readonly sentAt: number;
  readonly answered: (isTaken: boolean) => void;
}

import type { Clock } from "../../../ports/clock.ts";
import { Alarm } from "../../../ports/timing/alarm.ts";

export interface InFlightOptions {
  readonly clock: Clock;
  /** Something was sent at that time (monotonic ms) and is not answered. Is told again while that lasts. */
  readonly unanswered: (since: number) => void;
}

/** A majority that elects a leader confirms again within seconds; a queue without one never does. */
const confirmMsMax = 10_000;

/**
 * What was sent and is not confirmed yet, and whether that is for too long. One timer for all: what was sent first is what
 * waits longest. Time while the broker asked to send nothing does not count (`excuse`).
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** In the order of sending. */
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

  /** Returns what to call with the answer; only the first one counts. */
  add(answered: (isTaken: boolean) => void): (isTaken: boolean) => void {
    const message = { sentAt: this.#options.clock.monotonicMs(), answered };
    this.#messages.add(message);
    if (!this.#alarm.isSet) this.#watch(confirmMsMax);
    return (isTaken) => this.#settle(message, isTaken);
  }

  /** There was a reason not to answer until now. */
  excuse(): void {
    this.#excusedAt = this.#options.clock.monotonicMs();
  }

  /** Nothing that is under way will be answered. */
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

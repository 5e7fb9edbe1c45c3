import type { Clock } from "../../../ports/clock.ts";

interface Habit {
  /** How long the last connection had been idle when the receiver closed it. */
  readonly closedAfterMs: number;
  /** The time derived from two of them in a row; null after one. */
  readonly keptMs: number | null;
  readonly notedAtMs: number;
}

const habitsMax = 4096;
const habitMsMax = 60 * 60_000;
/** A connection closed earlier indicates a restart rather than a habit. */
const habitMsMin = 500;
/** Two times of one habit differ by no more than this. */
const agreementMs = 500;
/** Up to this share of the time, a request can be sent without racing the receiver's close. */
const safeShare = 0.8;

/**
 * How long idle connections may be kept, by origin. It learns from receivers that close them early without saying so
 * (`Keep-Alive`): a request sent just as the receiver closes is lost, and it is unknown whether it arrived.
 */
export class IdleTimes {
  readonly #clock: Clock;
  readonly #defaultMs: number;
  /** Most recently recorded last. */
  readonly #habits = new Map<string, Habit>();

  constructor(clock: Clock, idleSocketMs: number) {
    this.#clock = clock;
    this.#defaultMs = idleSocketMs;
  }

  msFor(origin: string): number {
    return Math.min(this.#habitOf(origin)?.keptMs ?? this.#defaultMs, this.#defaultMs);
  }

  /** A receiver closed a connection that had been idle for this long. */
  closedByReceiver(origin: string, idleMs: number): void {
    if (idleMs < habitMsMin) return;
    const before = this.#habitOf(origin);
    const agrees = before !== null && Math.abs(before.closedAfterMs - idleMs) <= agreementMs;
    const keptMs = agrees ? Math.round(safeShare * Math.min(idleMs, before.closedAfterMs)) : null;
    this.#habits.delete(origin);
    this.#habits.set(origin, { closedAfterMs: idleMs, keptMs, notedAtMs: this.#clock.monotonicMs() });
    const oldest = this.#habits.keys().next();
    if (this.#habits.size > habitsMax && oldest.done !== true) this.#habits.delete(oldest.value);
  }

  #habitOf(origin: string): Habit | null {
    const habit = this.#habits.get(origin);
    return habit !== undefined && this.#clock.monotonicMs() - habit.notedAtMs < habitMsMax ? habit : null;
  }
}

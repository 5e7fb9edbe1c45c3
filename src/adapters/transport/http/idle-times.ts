import type { Clock } from "../../../ports/clock.ts";

interface Habit {
  /** How long the last connection had been idle when the receiver closed it. */
  readonly closedAfterMs: number;
  /** What two of them in a row make of it; null after one. */
  readonly keptMs: number | null;
  readonly notedAtMs: number;
}

const habitsMax = 4096;
const habitMsMax = 60 * 60_000;
/** Closed so early, a connection tells of a restart rather than of a habit. */
const habitMsMin = 500;
/** Two times of one habit differ by no more than this. */
const agreementMs = 500;
/** A request may leave until then without meeting the receiver's goodbye. */
const safeShare = 0.8;

/**
 * How long idle connections may be kept, by origin. Receivers that close them early and do not say so (`Keep-Alive`) are
 * learned from: a request that leaves just as the receiver closes is lost, and nobody knows whether it arrived.
 */
export class IdleTimes {
  readonly #clock: Clock;
  readonly #defaultMs: number;
  /** Most recently noted last. */
  readonly #habits = new Map<string, Habit>();

  constructor({ clock, idleSocketMs }: { readonly clock: Clock; readonly idleSocketMs: number }) {
    this.#clock = clock;
    this.#defaultMs = idleSocketMs;
  }

  msFor(origin: string): number {
    return Math.min(this.#habitOf(origin)?.keptMs ?? this.#defaultMs, this.#defaultMs);
  }

  /** A receiver closed a connection that had been idle for so long. */
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

import type { Clock, Timer } from "../../ports/clock.ts";

export interface Expiring {
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  expire(): void;
}

/** Deadlines this close together are handled in one turn. */
const slackMs = 20;

/**
 * Many deadlines over one timer. Nearly every request ends long before its deadline, so adding and removing must cost
 * next to nothing: a set, and a scan when the earliest deadline of the last scan is due. If that item has ended, the
 * scan finds nothing and moves on to the next earliest.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #items = new Set<Expiring>();
  #timer: Timer | null = null;
  #scanAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(item: Expiring): void {
    this.#items.add(item);
    if (item.deadlineMs < this.#scanAtMs) this.#arm(item.deadlineMs);
  }

  remove(item: Expiring): void {
    this.#items.delete(item);
  }

  /** Ends all pending items, each through `end`, and stops the timer. */
  drain(end: (item: Expiring) => void): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#scanAtMs = Number.POSITIVE_INFINITY;
    for (const item of [...this.#items]) end(item);
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    const delayMs = Math.max(atMs - this.#clock.monotonicMs(), 1);
    this.#scanAtMs = atMs;
    this.#timer = this.#clock.schedule(Math.ceil(delayMs), () => this.#scan());
  }

  #scan(): void {
    this.#timer = null;
    this.#scanAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const item of this.#items) {
      if (item.deadlineMs <= nowMs) item.expire();
      else if (item.deadlineMs < earliestMs) earliestMs = item.deadlineMs;
    }
    if (this.#items.size > 0 && earliestMs < this.#scanAtMs) this.#arm(Math.max(earliestMs, nowMs + slackMs));
  }
}

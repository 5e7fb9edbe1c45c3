import type { Clock, Timer } from "../clock.ts";

/** A timeout on a clock. */
interface Deadline {
  readonly clock: Pick<Clock, "schedule">;
  readonly timeoutMs: number;
}

/** A deadline that rejects when it is missed. */
interface StrictDeadline extends Deadline {
  readonly overdue: () => Error;
}

/**
 * The result of `work`, or a rejection with `overdue` if it takes too long. Rejections of `work` in time are passed
 * on. The work itself continues, and its later result or rejection is ignored.
 */
export function withDeadline<Result>(work: Promise<Result>, deadline: StrictDeadline): Promise<Result>;
/** The same, but resolves to null if it takes too long. */
export function withDeadline<Result>(work: Promise<Result>, deadline: Deadline): Promise<Result | null>;
/** Implements both forms. */
export async function withDeadline<Result>(
  work: Promise<Result>,
  { clock, timeoutMs, overdue }: Deadline & Partial<StrictDeadline>,
): Promise<Result | null> {
  const late = Promise.withResolvers<null>();
  const timer = clock.schedule(timeoutMs, () => {
    if (overdue === undefined) late.resolve(null);
    else late.reject(overdue());
  });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

/** A timer with one callback: setting it again replaces the previous one. */
export class Alarm {
  readonly #clock: Pick<Clock, "schedule">;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(clock: Pick<Clock, "schedule">) {
    this.#clock = clock;
  }

  /** True from `set` until the callback begins; the callback may set it again. */
  get isSet(): boolean {
    return this.#timer !== null;
  }

  set(delayMs: number, callback: () => void): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.schedule(delayMs, () => {
      this.#timer = null;
      callback();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Cancels it permanently: later calls of `set` do nothing. */
  close(): void {
    this.#isClosed = true;
    this.cancel();
  }
}

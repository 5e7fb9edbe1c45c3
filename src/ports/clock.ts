/**
 * The clock of the engine. Stored times come from the wall clock and durations from the monotonic clock, because the
 * wall clock may jump.
 */
export interface Clock {
  /** Unix milliseconds. May step backwards or forwards. */
  now(): number;
  /** Milliseconds since some fixed point; never steps back. */
  monotonicMs(): number;
  /** Calls back once after about `delayMs`, at most 2^31 - 1. Never calls back synchronously. */
  schedule(delayMs: number, callback: () => void): Timer;
  /** Runs the callback after the current turn of the event loop, once pending I/O has been handled. */
  defer(callback: () => void): void;
}

/** A scheduled callback that has not run yet. */
export interface Timer {
  /** Safe to call twice, and safe to call after the timer has fired. */
  cancel(): void;
}

/** A timeout, measured with a clock. */
interface Deadline {
  readonly clock: Pick<Clock, "schedule">;
  readonly timeoutMs: number;
}

/** A deadline that rejects when it is missed. */
interface StrictDeadline extends Deadline {
  readonly overdue: () => Error;
}

/**
 * The result of `work`, or a rejection with `overdue` if `work` takes too long. If `work` rejects in time, its error is
 * passed on. The work itself continues after the deadline, but its result or rejection is ignored.
 */
export function withDeadline<Result>(work: Promise<Result>, deadline: StrictDeadline): Promise<Result>;
/** Like the first overload, but resolves to null if `work` takes too long. */
export function withDeadline<Result>(work: Promise<Result>, deadline: Deadline): Promise<Result | null>;
/** The implementation of both overloads. */
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

/** A timer with one callback. Setting it again replaces the previous callback. */
export class Alarm {
  readonly #clock: Pick<Clock, "schedule">;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(clock: Pick<Clock, "schedule">) {
    this.#clock = clock;
  }

  /** True from `set` until the callback begins. The callback may set the timer again. */
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

  /** Cancels the timer permanently. Later calls to `set` do nothing. */
  close(): void {
    this.#isClosed = true;
    this.cancel();
  }
}

/** What a loop does, how long it pauses, and what happens if a round fails. */
export interface LoopOptions {
  readonly clock: Pick<Clock, "schedule" | "monotonicMs">;
  readonly round: () => Promise<void>;
  /** Pause after a timed round; `tookMs` is the duration of the round. If omitted, rounds run only on request. */
  readonly pauseMs?: (tookMs: number) => number;
  /** Called when a round rejected. The loop continues as after any other round. */
  readonly failed: (error: unknown) => void;
}

/**
 * Runs rounds one at a time: after a pause, and on request. All requests made during a round share one further round,
 * because the running round may have missed their cause.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #alarm: Alarm;
  /** When the timer that is set will fire. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #isAsked = false;
  #isStopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  /** Whether the loop has been stopped. Long rounds check this between their steps. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Starts the loop. The first round begins after a pause. */
  start(): void {
    this.#pause(0);
  }

  /** Starts a round after this time, or earlier if the timer is already set to an earlier time. */
  soon(delayMs: number): void {
    if (this.#options.clock.monotonicMs() + delayMs < this.#dueAtMs) this.#set(delayMs);
  }

  /**
   * Runs a round immediately, or another one after the current round. Does not change the timer. Resolves when the
   * requested round has ended, even if it failed, and immediately if the loop is stopped.
   */
  run(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#isAsked = true;
    this.#running ??= this.#runWhileAsked();
    return this.#running;
  }

  /** Prevents further rounds. Resolves when the current round has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm.close();
    await this.#running;
  }

  #pause(tookMs: number): void {
    const { pauseMs } = this.#options;
    if (pauseMs !== undefined) this.#set(pauseMs(tookMs));
  }

  #set(delayMs: number): void {
    const { clock } = this.#options;
    this.#dueAtMs = clock.monotonicMs() + delayMs;
    this.#alarm.set(delayMs, () => {
      this.#dueAtMs = Number.POSITIVE_INFINITY;
      const begunMs = clock.monotonicMs();
      void this.run().then(() => this.#pause(clock.monotonicMs() - begunMs));
    });
  }

  async #runWhileAsked(): Promise<void> {
    const { round, failed } = this.#options;
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      try {
        await round();
      } catch (error) {
        failed(error);
      }
    }
    // Reset immediately. Otherwise, the next caller could wait for a round that never begins.
    this.#running = null;
  }
}

/**
 * Keeps one request from blocking the event loop. After a few milliseconds of work, the request yields to the event
 * loop. After as many rows as one transaction can hold, it waits for the store. Requests therefore alternate in their
 * use of the store, and a batch of a million deliveries holds only a few thousand of them in memory.
 */
export class RequestPace {
  readonly #clock: Clock;
  #turnAt: number;
  #rows = 0;
  #submitted: Promise<unknown>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnAt = clock.monotonicMs();
  }

  /** Call after work that did not write anything. */
  async worked(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#turnAt < turnMs) return;
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.#turnAt = this.#clock.monotonicMs();
  }

  /** Call after work that was submitted to the store. */
  async submitted(written: Promise<unknown>, rows: number): Promise<void> {
    this.#submitted.push(written);
    this.#rows += rows;
    if (this.#rows < requestRowsMax) return this.worked();
    await Promise.all(this.#submitted);
    this.#submitted = [];
    this.#rows = 0;
    this.#turnAt = this.#clock.monotonicMs();
  }
}

/** Maximum time that one request may work before it yields. */
const turnMs = 8;
/** Maximum number of rows that one request may have pending in the store. */
const requestRowsMax = 2_048;

/** The limit of one search: how many rows it may scan, and for how long. */
export class SearchBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #endsAtMs: number;
  #rowsLeft: number;

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    bounds: { readonly rowsMax: number; readonly durationMsMax: number },
  ) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + bounds.durationMsMax;
    this.#rowsLeft = bounds.rowsMax;
  }

  /** Callers check this only after they have scanned at least one row, so that every page makes progress. */
  get isSpent(): boolean {
    return this.#rowsLeft <= 0 || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  spend(rows: number): void {
    this.#rowsLeft -= rows;
  }
}

/** For callers that need the whole result, such as bulk operations. The search does not stop before its end. */
export const unlimitedBudget = new SearchBudget(
  { monotonicMs: () => 0 },
  { rowsMax: Number.POSITIVE_INFINITY, durationMsMax: Number.POSITIVE_INFINITY },
);

import type { Clock } from "../clock.ts";
import { Alarm } from "./alarm.ts";

/** What a loop does, how long it pauses, and what happens if a round fails. */
export interface LoopOptions {
  readonly clock: Pick<Clock, "schedule" | "monotonicMs">;
  readonly round: () => Promise<void>;
  /** Pause after a timed round, which took `tookMs`. If omitted, rounds run only on request. */
  readonly pauseMs?: (tookMs: number) => number;
  /** A round rejected. The loop continues as after any other round. */
  readonly failed: (error: unknown) => void;
}

/**
 * Runs rounds one at a time: after a pause, and on request. All requests during a round share one more round after
 * it, because the running one may have missed the cause of the request.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #alarm: Alarm;
  /** When the timer ends. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #isAsked = false;
  #isStopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  /** For long rounds, which check it in between. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The first round begins after a pause. */
  start(): void {
    this.#pause(0);
  }

  /** A round begins after this time, or earlier if the timer is set earlier. */
  soon(delayMs: number): void {
    if (this.#options.clock.monotonicMs() + delayMs < this.#dueAtMs) this.#set(delayMs);
  }

  /**
   * Runs a round at once, or one more after the current one; the timer is unchanged. Resolves when the round has
   * ended, even if it failed, and at once after a stop.
   */
  run(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#isAsked = true;
    this.#running ??= this.#runWhileAsked();
    return this.#running;
  }

  /** No further round begins. Resolves when the current round has ended. */
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
    // Reset immediately: a caller in between would wait for a round that never begins.
    this.#running = null;
  }
}

import type { Clock } from "../clock.ts";
import { Alarm } from "./alarm.ts";

/** What a loop does, and when. */
export interface LoopOptions {
  readonly clock: Pick<Clock, "schedule" | "monotonicMs">;
  readonly round: () => Promise<void>;
  /** From the end of a round by the timer, which took so long, to the next one; left out, there is none until one is asked for. */
  readonly pauseMs?: (tookMs: number) => number;
  /** A round rejected. The loop goes on as after any other. */
  readonly failed: (error: unknown) => void;
}

/**
 * Work in rounds, never two at once: some time after the one before has ended, and whenever somebody asks. All who ask while
 * a round runs share one more after it, because the running one may have passed by what they ask for.
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

  /** Long rounds look in between. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Rounds begin after a pause. */
  start(): void {
    this.#pause(0);
  }

  /** A round begins after this time, or earlier where the timer says so. */
  soon(delayMs: number): void {
    if (this.#options.clock.monotonicMs() + delayMs < this.#dueAtMs) this.#set(delayMs);
  }

  /**
   * A round at once, or one more after the one that runs; the timer stays as it is. Resolves when it has ended, also when it
   * failed, and at once after a stop.
   */
  run(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#isAsked = true;
    this.#running ??= this.#runWhileAsked();
    return this.#running;
  }

  /** No round begins any more. Resolves when the one that runs has ended. */
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
    // Not a moment later: a caller in between would wait for a round that nobody begins.
    this.#running = null;
  }
}

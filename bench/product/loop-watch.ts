/** How long the event loop stood still, and how much of that was work of its own thread and no waiting for a processor. */
export interface LoopStop {
  readonly ms: number;
  readonly processorMs: number;
}

/** Looks every millisecond; what lies between two looks had the loop for itself. */
export class LoopWatch {
  #longest: LoopStop = { ms: 0, processorMs: 0 };
  #isLooking = false;
  #lookedAt = 0;
  #processorMs = 0;

  /** The longest stop since the last call; nothing at the first one, which begins to look. */
  take(): LoopStop {
    const longest = this.#longest;
    this.#longest = { ms: 0, processorMs: 0 };
    this.#note();
    if (!this.#isLooking) setInterval(() => this.#look(), 1);
    this.#isLooking = true;
    return longest;
  }

  #look(): void {
    const { ms, processorMs } = this.#note();
    this.#longest = {
      ms: Math.max(this.#longest.ms, ms),
      processorMs: Math.max(this.#longest.processorMs, processorMs),
    };
  }

  #note(): LoopStop {
    const now = performance.now();
    const { user, system } = process.threadCpuUsage();
    const processorMs = (user + system) / 1_000;
    const passed = { ms: now - this.#lookedAt, processorMs: processorMs - this.#processorMs };
    this.#lookedAt = now;
    this.#processorMs = processorMs;
    return passed;
  }
}

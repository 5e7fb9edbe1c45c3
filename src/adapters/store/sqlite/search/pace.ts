import { setImmediate } from "node:timers/promises";

/** How long one turn may block the event loop when nothing else waits for it, and when something does. */
const turnMs = 4;
const turnMsBusy = 1;
/** A longer wait for the next turn means that the event loop is busy. */
const busyMs = 1;

const rowsMin = 32;
const rowsMax = 4096;

/**
 * Controls how many rows one turn of a search examines. The cost of rows depends on the filter and on the cache, so
 * each turn is sized by the duration of the last one. When the event loop is busy, turns are short and deliveries run
 * in between.
 */
export class Pace {
  #rows: number;
  #goalMs = turnMs;

  constructor(rowsFirst: number) {
    this.#rows = rowsFirst;
  }

  /** Runs one turn and measures its duration. */
  run<Result>(turn: (rows: number) => Result): Result {
    const begun = performance.now();
    const result = turn(this.#rows);
    const tookMs = Math.max(performance.now() - begun, 0.05);
    // Never more than doubled: one quick turn says little about the next.
    const wanted = Math.min(this.#rows * 2, Math.floor((this.#rows * this.#goalMs) / tookMs));
    this.#rows = Math.min(rowsMax, Math.max(rowsMin, wanted));
    return result;
  }

  /** Lets other work run. */
  async yield(): Promise<void> {
    const left = performance.now();
    await setImmediate();
    this.#goalMs = performance.now() - left > busyMs ? turnMsBusy : turnMs;
  }
}

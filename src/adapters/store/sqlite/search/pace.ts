import { setImmediate } from "node:timers/promises";

/** How long one turn may hold the event loop when nothing else wants it, and when something does. */
const turnMs = 4;
const turnMsBusy = 1;
/** Who waits longer than this for the next turn shares the event loop with others. */
const busyMs = 1;

const rowsMin = 32;
const rowsMax = 4096;

/**
 * How much one turn of a search looks at. Rows differ in what they cost, by filter and by what is in memory already, so
 * the next turn is measured by the last one; where the event loop is busy turns are short, and deliveries in between.
 */
export class Pace {
  #rows: number;
  #goalMs = turnMs;

  constructor(rowsFirst: number) {
    this.#rows = rowsFirst;
  }

  /** Runs one turn and measures it. */
  run<Result>(turn: (rows: number) => Result): Result {
    const begun = performance.now();
    const result = turn(this.#rows);
    const tookMs = Math.max(performance.now() - begun, 0.05);
    // Never more than twice as many: one quick turn says little of the next.
    const wanted = Math.min(this.#rows * 2, Math.floor((this.#rows * this.#goalMs) / tookMs));
    this.#rows = Math.min(rowsMax, Math.max(rowsMin, wanted));
    return result;
  }

  /** Lets everything else go on. */
  async yield(): Promise<void> {
    const left = performance.now();
    await setImmediate();
    this.#goalMs = performance.now() - left > busyMs ? turnMsBusy : turnMs;
  }
}

/**
 * Runs work one after the other; a failure is reported and does not stop the rest. All calls of a worker that acquire
 * or release go through one of these: a `keepOnly` beside an `acquire` would free what the other call has just
 * acquired.
 */
export class SerialWork {
  readonly #failed: (error: unknown) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Resolves with the result, or with undefined when it failed. */
  run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const result = this.#last.then(work).catch((error: unknown) => {
      this.#failed(error);
      return undefined;
    });
    this.#last = result;
    return result;
  }
}

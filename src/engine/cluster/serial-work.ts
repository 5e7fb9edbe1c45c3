/**
 * Runs tasks one after the other; failures are reported and do not stop later tasks. All calls of a worker that
 * acquire or release use one instance: a `keepOnly` during an `acquire` would free what that call has just acquired.
 */
export class SerialWork {
  readonly #failed: (error: unknown) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Resolves with the result, or with undefined if it failed. */
  run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const result = this.#last.then(work).catch((error: unknown) => {
      this.#failed(error);
      return undefined;
    });
    this.#last = result;
    return result;
  }
}

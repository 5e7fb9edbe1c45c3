import type { Connection } from "./connection.ts";

interface PendingWrite {
  /** Runs within the transaction. */
  readonly run: () => void;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Small writes that callers await one by one: those of one turn of the event loop share a transaction and its flush.
 */
export class GroupedWrites {
  readonly #connection: Connection;
  #waiting: PendingWrite[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Resolves after the commit. `work` throws only for reasons of the store, which affect the whole group. */
  run<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result;
      if (this.#waiting.length === 0) setImmediate(() => this.#write());
      this.#waiting.push({
        run: () => (result = work()),
        done: () => resolve(result),
        failed: reject,
      });
    });
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      this.#connection.write(() => {
        for (const { run } of group) run();
      });
    } catch (error) {
      for (const { failed } of group) failed(error);
      return;
    }
    for (const { done } of group) done();
  }
}

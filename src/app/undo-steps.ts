/** Undoes the steps of a start in reverse order. Exposes the current step, to diagnose a hanging stop. */
export class UndoSteps implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #current: string | null = null;
  #isKept = false;

  /** The step that is being undone; null before and after. */
  get current(): string | null {
    return this.#current;
  }

  defer(what: string, undo: () => void | Promise<void>): void {
    this.#stack.defer(async () => {
      this.#current = what;
      await undo();
      this.#current = null;
    });
  }

  /** The start succeeded: nothing is undone before `run`. */
  keep(): void {
    this.#isKept = true;
  }

  run(): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKept) await this.run();
  }
}

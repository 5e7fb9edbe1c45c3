/** How long a sender waits for its answer. */
export interface Budget {
  /** Resolves when the time is over. */
  readonly over: Promise<void>;
  /** Aborted at the same moment. */
  readonly signal: AbortSignal;
  /** Set once the message is safe, so that a late answer can say so. */
  isDurable: boolean;
  /** Stops the clock. */
  clear(): void;
}

export function startBudget(budgetMs: number): Budget {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      controller.abort(new DOMException("the time for the handler is over", "TimeoutError"));
      resolve();
    }, budgetMs);
  });
  return { over, signal: controller.signal, isDurable: false, clear: () => clearTimeout(timer) };
}

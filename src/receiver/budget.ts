/** Time limit for the response to a sender. */
export interface Budget {
  /** Resolves when the time has elapsed. */
  readonly over: Promise<void>;
  /** Aborted at the same time. */
  readonly signal: AbortSignal;
  /** Set once the message is stored safely, so that a late response can say so. */
  isDurable: boolean;
  /** Cancels the timer. */
  clear(): void;
}

export function startBudget(budgetMs: number): Budget {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      controller.abort(new DOMException("the handler exceeded its time limit", "TimeoutError"));
      resolve();
    }, budgetMs);
  });
  return { over, signal: controller.signal, isDurable: false, clear: () => clearTimeout(timer) };
}

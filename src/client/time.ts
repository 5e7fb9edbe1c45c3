/** Clock and timers of the client; tests replace them. */
export interface Time {
  /** Unix milliseconds. */
  now(): number;
  /** Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A signal that is aborted after that time. */
  deadline(ms: number): AbortSignal;
}

export const systemTime: Time = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      if (signal?.aborted === true) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }),
  deadline: (ms) => AbortSignal.timeout(ms),
};

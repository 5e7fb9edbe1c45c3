import type { Clock } from "../../../ports/clock.ts";

/** Timers of this adapter. They bound what a server and its driver do, which no simulation replaces. */
export const realTime: Pick<Clock, "schedule"> = {
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** For optional work: its timers do not keep the process alive. */
export const spareTime: Pick<Clock, "schedule" | "monotonicMs"> = {
  monotonicMs: () => performance.now(),
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

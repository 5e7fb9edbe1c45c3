import type { Clock, Timer } from "../ports/clock.ts";

/** Node fires at once when a delay exceeds 31 bits, which would turn a long wait into a busy loop. */
const delayMsMax = 2 ** 31 - 1;

/**
 * The real clock. Timers keep the process alive on purpose: their owner cancels them when stopping. A leak then shows
 * as a process that does not end, instead of as work that silently never happens.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule(delayMs, callback): Timer {
    // Rounded up, so that a timer never fires before its time; NaN counts as zero.
    const timer = setTimeout(callback, delayMs > 0 ? Math.min(Math.ceil(delayMs), delayMsMax) : 0);
    return { cancel: () => clearTimeout(timer) };
  },
  defer(callback) {
    setImmediate(callback);
  },
};

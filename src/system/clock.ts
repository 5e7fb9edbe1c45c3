import type { Clock, Timer } from "../ports/clock.ts";

/** Node fires a timer immediately if its delay exceeds 31 bits, which would turn a long wait into a busy loop. */
const delayMsMax = 2 ** 31 - 1;

/**
 * The real clock. Timers intentionally keep the process alive, because their owner cancels them when it stops. A leak
 * therefore shows as a process that does not end, instead of as work that silently never happens.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule(delayMs, callback): Timer {
    // Rounded up, so that a timer never fires early; NaN counts as zero.
    const timer = setTimeout(callback, delayMs > 0 ? Math.min(Math.ceil(delayMs), delayMsMax) : 0);
    return { cancel: () => clearTimeout(timer) };
  },
  defer(callback) {
    setImmediate(callback);
  },
};

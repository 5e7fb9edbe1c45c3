import type { Clock, Timer } from "../../../ports/clock.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import { NoAnswerError } from "./errors.ts";

/** Resolves with the result of `work`, or rejects with NoAnswerError after `timeoutMs`. */
export function answerWithin<Result>(
  work: Promise<Result>,
  clock: Clock,
  timeoutMs: number,
): Promise<Result> {
  const overdue = (): Error => new NoAnswerError();
  return withDeadline(work, { clock: betweenReads(clock), timeoutMs, overdue });
}

/**
 * The time starts when the request is written, and expires only after all received data was read. Otherwise a process
 * that was busy for a moment would consider its server dead.
 */
function betweenReads(clock: Clock): Pick<Clock, "schedule"> {
  return {
    schedule(delayMs, callback) {
      let timer: Timer | null = null;
      let isCancelled = false;
      clock.defer(() => {
        if (!isCancelled) timer = clock.schedule(delayMs, () => clock.defer(callback));
      });
      return {
        cancel() {
          isCancelled = true;
          timer?.cancel();
        },
      };
    },
  };
}

import type { Clock, Timer } from "../../../ports/clock.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import { NoAnswerError } from "./errors.ts";

/** What `work` comes to, or NoAnswerError when that takes too long. */
export function answerWithin<Result>(
  work: Promise<Result>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<Result> {
  const overdue = (): Error => new NoAnswerError();
  return withDeadline(work, { clock: betweenReads(clock), timeoutMs, overdue });
}

/**
 * Time begins when what was asked is written, and is judged only after everything that has arrived was read: otherwise a
 * process that was busy for a moment would take its server for dead.
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

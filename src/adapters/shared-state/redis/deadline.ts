import type { Clock, Timer } from "../../../ports/clock.ts";
import { NoAnswerError } from "./errors.ts";

/**
 * What `work` comes to, or NoAnswerError when that takes too long. The time begins when what was asked is written, and is
 * judged only after everything that has arrived was read: otherwise a process that was busy for a moment would take its
 * server for dead.
 */
export async function within<Result>(
  work: Promise<Result>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<Result> {
  const late = Promise.withResolvers<never>();
  let timer: Timer | null = null;
  let isOver = false;
  clock.defer(() => {
    if (isOver) return;
    timer = clock.schedule(timeoutMs, () => clock.defer(() => late.reject(new NoAnswerError())));
  });
  const stop = (): void => {
    isOver = true;
    timer?.cancel();
  };
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    stop();
  }
}

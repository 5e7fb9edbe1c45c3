import type { Clock } from "../../../ports/clock.ts";

/**
 * The result, or null when it is not there in time. Throws what `promise` throws in time. The client gives its calls no time
 * limit, and a queue without a majority answers nothing for as long as that lasts.
 */
export async function settlesWithin<Result>(
  promise: Promise<Result>,
  { timeoutMs, clock }: { readonly timeoutMs: number; readonly clock: Pick<Clock, "schedule"> },
): Promise<Result | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = clock.schedule(timeoutMs, () => resolve(null));
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.cancel();
  }
}

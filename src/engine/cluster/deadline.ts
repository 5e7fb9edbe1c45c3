import type { Clock } from "../../ports/clock.ts";

/**
 * The result, or null when it did not come within the time. Rejects with the work when that is faster. The adapter has its
 * own limit for a call that hangs; this one is how long the asker is willing to wait, and the call goes on.
 */
export async function within<Result>(
  limit: { readonly clock: Clock; readonly ms: number },
  work: Promise<Result>,
): Promise<Result | null> {
  const late = Promise.withResolvers<null>();
  const timer = limit.clock.schedule(limit.ms, () => late.resolve(null));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

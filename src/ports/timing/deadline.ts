import type { Clock } from "../clock.ts";

/** How long somebody is willing to wait. */
export interface Deadline {
  readonly clock: Pick<Clock, "schedule">;
  readonly timeoutMs: number;
}

/** A deadline that is an error to miss. */
export interface StrictDeadline extends Deadline {
  readonly overdue: () => Error;
}

/**
 * The result of `work`, or a rejection with `overdue` when it is not there in time. Rejects with what `work` rejects with in
 * time. The work itself goes on, and what comes of it later is ignored, also when it rejects.
 */
export function withDeadline<Result>(work: Promise<Result>, deadline: StrictDeadline): Promise<Result>;
/** The same, with null for work that is not there in time. */
export function withDeadline<Result>(work: Promise<Result>, deadline: Deadline): Promise<Result | null>;
/** Serves both. */
export async function withDeadline<Result>(
  work: Promise<Result>,
  { clock, timeoutMs, overdue }: Deadline & Partial<StrictDeadline>,
): Promise<Result | null> {
  const late = Promise.withResolvers<null>();
  const timer = clock.schedule(timeoutMs, () => {
    if (overdue === undefined) late.resolve(null);
    else late.reject(overdue());
  });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

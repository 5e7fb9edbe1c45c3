import type { RunningPosthorn } from "../app/posthorn.ts";
import type { Clock } from "../ports/clock.ts";
import { withDeadline } from "../ports/timing/deadline.ts";
import type { Invocation } from "./invocation.ts";

export interface StopInTimeOptions {
  readonly clock: Pick<Clock, "schedule">;
  readonly exit: Invocation["exit"];
}

/**
 * Stops a server. What does not end by itself is named in the log and ended with the process, because a server that hangs in
 * its stop keeps its data folder and its webhooks from the one that is to take its place. Nothing is lost by that: what was
 * not settled is delivered again.
 */
export async function stopInTime(
  running: Pick<RunningPosthorn, "settings" | "log" | "stop" | "stopping">,
  { clock, exit }: StopInTimeOptions,
): Promise<void> {
  const { log, settings } = running;
  const graceMs = settings.shutdownGraceMs;
  const late = clock.schedule(graceMs + lateMs, () =>
    log.warn({ ...running.stopping() }, "stopping takes longer than the grace; see what it waits for"),
  );
  try {
    const stopped = running.stop().then(() => true);
    if ((await withDeadline(stopped, { clock, timeoutMs: graceMs + overdueMs })) !== null) return;
    log.error({ ...running.stopping() }, "stopping did not come to its end; ending without it");
    exit(1);
  } finally {
    late.cancel();
  }
}

/** After the grace, for connections, threads and the last commits to end. Less than orchestrators wait before they kill. */
const lateMs = 5_000;
const overdueMs = 30_000;

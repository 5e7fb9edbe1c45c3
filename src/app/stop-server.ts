import type { Clock } from "../ports/clock.ts";
import { withDeadline } from "../ports/timing/alarm.ts";
import { systemClock } from "../system/clock.ts";
import type { RunningPosthorn } from "./posthorn.ts";

/**
 * Calls back with the kinds of resources still open when the process has not ended within a time. The timer does not
 * keep the process alive, so the callback indicates a leak.
 */
export function whenUnended(afterMs: number, tell: (open: readonly string[]) => void): void {
  setTimeout(() => tell(process.getActiveResourcesInfo()), afterMs).unref();
}

interface StopInTimeOptions {
  readonly clock: Pick<Clock, "schedule">;
  readonly exit: (status: number) => never;
}

/** Stops a server. The process then exits when nothing keeps it open; anything that does is logged. */
export async function stopServer(running: RunningPosthorn, exit: StopInTimeOptions["exit"]): Promise<void> {
  await stopInTime(running, { clock: systemClock, exit });
  const { log } = running;
  log.info({}, "stopped");
  whenUnended(unendedMs, (open) => {
    log.error({ open }, "stopped, but open handles keep the process alive; exiting now");
    exit(1);
  });
}

/**
 * Stops a server. Parts that do not stop in time are logged and killed with the process, because a hanging server
 * keeps its data folder and its webhooks from its successor. Nothing is lost: deliveries that were not settled are
 * sent again.
 */
export async function stopInTime(
  running: Pick<RunningPosthorn, "settings" | "log" | "stop" | "stopping">,
  { clock, exit }: StopInTimeOptions,
): Promise<void> {
  const { log, settings } = running;
  const graceMs = settings.shutdownGraceMs;
  const late = clock.schedule(graceMs + lateMs, () =>
    log.warn({ ...running.stopping() }, "stopping takes longer than the grace period"),
  );
  try {
    const stopped = running.stop().then(() => true);
    if ((await withDeadline(stopped, { clock, timeoutMs: graceMs + overdueMs })) !== null) return;
    log.error({ ...running.stopping() }, "stopping did not finish in time; exiting now");
    exit(1);
  } finally {
    late.cancel();
  }
}

/** After the grace period, but before orchestrators kill the process, so that the line is written. */
const lateMs = 5_000;
/** For connections, threads and the last commits, which all have separate time limits. */
const overdueMs = 30_000;
/** Everything that was closed has ended long before. */
const unendedMs = 10_000;

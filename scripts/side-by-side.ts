// Determines how many jobs run at the same time. A fixed number does not suit a mix of jobs that compute and jobs that
// wait, such as tests. Therefore a minimum number always runs, and another job starts whenever the CPU has been idle
// for a moment.

import { cpus } from "node:os";

const lookEveryMs = 1_000;
/**
 * Minimum idle share of all cores for starting another job. A test file that mostly waits uses a fifth of two cores.
 */
const idleShareMin = 0.2;

export interface Bounds {
  /** Minimum number of jobs, which always run. */
  readonly min: number;
  /** Maximum number of jobs, because servers and memory are shared. */
  readonly max: number;
}

export interface SideBySide extends Bounds {
  /** Whether another job would find a free core. Called once per check. */
  readonly hasRoom: () => boolean;
  /** Calls `look` at regular intervals. Returns a function that stops the calls. */
  readonly eachLook: (look: () => void) => () => void;
}

/** Measures CPU idle time. */
export function byIdleProcessor(bounds: Bounds): SideBySide {
  let before = processorTimes();
  return {
    ...bounds,
    hasRoom: () => {
      const now = processorTimes();
      const allMs = now.allMs - before.allMs;
      const idleMs = now.idleMs - before.idleMs;
      before = now;
      return allMs > 0 && idleMs / allMs >= idleShareMin;
    },
    eachLook: (look) => {
      const timer = setInterval(look, lookEveryMs);
      return () => clearInterval(timer);
    },
  };
}

/**
 * Starts the jobs in order. Resolves when all have ended. If a job rejects, no further jobs are started and the call
 * rejects.
 */
export async function runSideBySide(
  jobs: readonly (() => Promise<void>)[],
  { min, max, hasRoom, eachLook }: SideBySide,
): Promise<void> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const startNext = (): void => {
    const job = waiting.shift();
    if (job === undefined) return;
    const run: Promise<void> = job().finally(() => running.delete(run));
    running.add(run);
  };
  const endLooks = eachLook(() => {
    // `hasRoom` is called at each check, because it measures the time since its last call.
    if (hasRoom() && running.size < max) startNext();
  });
  try {
    while (running.size > 0 || waiting.length > 0) {
      while (running.size < min && waiting.length > 0) startNext();
      await Promise.race(running);
    }
  } finally {
    endLooks();
  }
}

interface ProcessorTimes {
  readonly allMs: number;
  readonly idleMs: number;
}

function processorTimes(): ProcessorTimes {
  let allMs = 0;
  let idleMs = 0;
  for (const { times } of cpus()) {
    allMs += times.user + times.nice + times.sys + times.irq + times.idle;
    idleMs += times.idle;
  }
  return { allMs, idleMs };
}

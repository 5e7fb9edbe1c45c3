// How many jobs run at the same time. A fixed number does not fit both jobs that compute and jobs that wait, and tests are
// both. So a few always run, and another one starts whenever the processor has been idle for a moment.

import { cpus } from "node:os";

const lookEveryMs = 1_000;
/** Of all cores. A test file that mostly waits uses a fifth of two. */
const idleShareMin = 0.2;

export interface Bounds {
  /** So many always run. */
  readonly min: number;
  /** The limit, because servers and memory are shared. */
  readonly max: number;
}

export interface SideBySide extends Bounds {
  /** Whether another job would find a free core. Called once per look. */
  readonly hasRoom: () => boolean;
  /** Calls back regularly. Returns how to stop it. */
  readonly eachLook: (look: () => void) => () => void;
}

/** Measures the idle time of the processor. */
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

/** Starts the jobs in their order. Resolves when all have ended; a job that rejects ends everything. */
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
    // Called at each look, so that it measures the time since the last one.
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

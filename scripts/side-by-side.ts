// How many jobs run at a time. A fixed number fits neither jobs that compute nor jobs that wait, and tests are both: with as
// many as a busy machine bears, the processor idles while several of them wait. So a few always run, and another starts
// whenever the processor has idled for a moment.

import { cpus } from "node:os";

const lookEveryMs = 1_000;
/** Of all cores: a fifth of two is what a test file takes that mostly waits. */
const idleShareMin = 0.2;

export interface Bounds {
  /** So many run whatever the machine does. */
  readonly min: number;
  /** So many run at most, because servers and memory are shared. */
  readonly max: number;
}

export interface SideBySide extends Bounds {
  /** Tells, once a look, whether another job would find a free core. */
  readonly hasRoom: () => boolean;
  /** Calls back once a look; returns what ends it. */
  readonly eachLook: (look: () => void) => () => void;
}

/** Between the bounds, by what Linux, macOS or Windows say of the processor. */
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
    // Asked at each look, so that it speaks of the time since the last one.
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

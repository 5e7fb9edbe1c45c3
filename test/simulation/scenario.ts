import type { EngineLimits, RetentionOptions } from "../../src/engine/engine-options.ts";
import { commitBoundaries } from "./crash-store.ts";
import type { PlannedCrash, StoreFaults } from "./crash-store.ts";
import type { SeededRandom } from "./seeded-random.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Values drawn from the seed before a world begins. */
export interface Scenario {
  readonly limits: EngineLimits;
  readonly retention: RetentionOptions;
  readonly faults: StoreFaults;
  /**
   * Duration of the period in which events are published, configurations change and failures occur. Afterwards
   * everything recovers.
   */
  readonly troubleMs: number;
  readonly webhooks: number;
  readonly tenants: number;
  /** Number of actions of users and publishers in that period. */
  readonly actions: number;
  readonly crashesAnytime: number;
  readonly clockJumps: number;
}

export function drawScenario(random: SeededRandom): Scenario {
  return {
    limits: {
      ...drawLimits(random),
      hostConcurrency: drawHostLimit(random.fork("host")),
      waitingRequests: random.fork("waiting").pick([0, 1, 4, 1_000]),
      eventRowsMax: random.fork("event rows").pick([1, 1, 2, 2_048]),
    },
    retention: {
      payloadMs: random.chance(0.2) ? dayMs : 30 * dayMs,
      historyMs: random.chance(0.15) ? 2 * dayMs : 90 * dayMs,
    },
    faults: withFanOutCrash(drawFaults(random), random.fork("fan-out")),
    troubleMs: random.pick([10 * minuteMs, hourMs, hourMs, 6 * hourMs, 30 * hourMs, 4 * dayMs]),
    webhooks: random.int({ min: 1, max: 6 }),
    tenants: random.int({ min: 1, max: 3 }),
    actions: random.int({ min: 10, max: 80 }),
    crashesAnytime: random.int({ min: 0, max: 3 }),
    clockJumps: random.chance(0.3) ? random.int({ min: 1, max: 3 }) : 0,
  };
}

function drawLimits(
  random: SeededRandom,
): Omit<EngineLimits, "hostConcurrency" | "waitingRequests" | "eventRowsMax"> {
  return {
    concurrency: random.pick([1, 3, 8, 100]),
    webhookConcurrency: random.pick([1, 2, 5]),
    payloadBytesMax: 262_144,
    commitWindowMs: random.pick([0, 10, 20]),
    commitRowsMax: random.pick([1, 5, 500]),
    bufferBytesMax: random.pick([1_000, 5_000, 10_000_000]),
    leaseMs: random.pick([300_000, 300_000, 180_000]),
  };
}

/** Drawn from a separate stream, so that the worlds of older seeds do not change. */
function drawHostLimit(random: SeededRandom): number | null {
  return random.pick([null, null, 1, 2, 3, 5]);
}

function drawFaults(random: SeededRandom): StoreFaults {
  const crashes = random.int({ min: 0, max: 5 });
  const isFrail = random.chance(0.4);
  return {
    crashes: Array.from({ length: crashes }, () => drawCrash(random)),
    outageChance: isFrail ? 0.003 : 0,
    outageMsMax: random.pick([1_000, 30_000, 5 * minuteMs]),
    refusalChance: random.chance(0.2) ? 0.005 : 0,
    latencyMsMax: random.pick([0, 0, 5, 80]),
  };
}

/**
 * Adds a crash between the parts of an event. Drawn from a separate stream, so that the worlds of older seeds do not
 * change.
 */
function withFanOutCrash(faults: StoreFaults, random: SeededRandom): StoreFaults {
  if (!random.chance(0.5)) return faults;
  const phase = random.pick(["before", "after"] as const);
  const crash: PlannedCrash = { point: "fan-out", phase, countdown: random.int({ min: 1, max: 6 }) };
  return { ...faults, crashes: [...faults.crashes, crash] };
}

function drawCrash(random: SeededRandom): PlannedCrash {
  const point = random.pick(commitBoundaries.filter((each) => each !== "fan-out"));
  const isRare =
    point.startsWith("webhooks.") ||
    point === "commit.requeue" ||
    point === "commit.retry" ||
    point === "upkeep.cancel";
  return {
    point,
    phase: random.pick(["before", "after"]),
    countdown: random.int({ min: 1, max: isRare ? 2 : 25 }),
  };
}

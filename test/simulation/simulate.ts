import { commitBoundaries } from "./crash-store.ts";
import { count } from "./recorded-telemetry.ts";
import { modelDisk } from "./stores.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world.ts";

export type SimulationOptions = Partial<WorldOptions> & { readonly seed: number };

export interface SimulationResult {
  readonly seed: number;
  readonly violation: Error | null;
  readonly traceHash: string;
  readonly coverage: Coverage;
}

/** What a set of seeds has covered, with the number of times by name. */
export interface Coverage {
  readonly storeFaults: Map<string, number>;
  readonly crashes: Map<string, number>;
  readonly moods: Map<string, number>;
  readonly states: Map<string, number>;
  readonly circuits: Map<string, number>;
  readonly messages: Map<string, number>;
  readonly lateAnswers: Map<string, number>;
  virtualHours: number;
  steps: number;
}

/** Runs one world from its start to its end. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const world = await World.create({ disk: modelDisk, ...options });
  const uncaught = (error: unknown): void => world.uncaught(error);
  process.on("uncaughtException", uncaught);
  process.on("unhandledRejection", uncaught);
  try {
    await world.live();
  } catch (error) {
    world.uncaught(error);
  } finally {
    // Both kinds of errors are reported after the microtasks, so one more turn is needed for the last ones.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("uncaughtException", uncaught);
    process.off("unhandledRejection", uncaught);
  }
  return {
    seed: options.seed,
    violation: world.violation,
    traceHash: world.traceHash(),
    coverage: coverageOf(world),
  };
}

export function emptyCoverage(): Coverage {
  const names = (): Map<string, number> => new Map();
  return {
    storeFaults: names(),
    crashes: names(),
    moods: names(),
    states: names(),
    circuits: names(),
    messages: names(),
    lateAnswers: names(),
    virtualHours: 0,
    steps: 0,
  };
}

export function addCoverage(total: Coverage, more: Coverage): void {
  for (const part of [
    ...(["storeFaults", "crashes", "moods", "states", "circuits", "messages", "lateAnswers"] as const),
  ]) {
    for (const [name, hits] of more[part]) total[part].set(name, (total[part].get(name) ?? 0) + hits);
  }
  total.virtualHours += more.virtualHours;
  total.steps += more.steps;
}

/** Crash points at which no world has died yet, before or after the write. */
export function missingBoundaries(coverage: Coverage): string[] {
  return commitBoundaries
    .flatMap((point) => [`${point}:before`, `${point}:after`])
    .filter((name) => !coverage.crashes.has(name));
}

function coverageOf(world: World): Coverage {
  const coverage = emptyCoverage();
  const { recorded, receiver, store } = world;
  const parts = {
    storeFaults: store.hits,
    crashes: world.crashes,
    moods: receiver.outcomes,
    messages: recorded.messages,
    lateAnswers: recorded.lateAnswers,
  };
  addCoverage(coverage, { ...coverage, ...parts, states: recorded.states, circuits: recorded.circuits });
  coverage.virtualHours = world.time.monotonicMs() / 3_600_000;
  coverage.steps = world.steps;
  count(coverage.states, world.violation === null ? "world at rest" : "world in violation");
  return coverage;
}

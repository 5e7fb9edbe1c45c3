import { opensWithinMs, resolvesAfterMs } from "../core/delivery-problems/delivery-problem.ts";
import type { DeliveryProblemStore } from "../ports/store/delivery-problems.ts";
import type { StepResult } from "../ports/store/upkeep.ts";
import type { ProblemWatch } from "./commit/problem-watch.ts";

/** Housekeeping of problems, in steps. */
export class ProblemUpkeep {
  readonly #store: DeliveryProblemStore;
  readonly #watch: ProblemWatch | null;

  constructor(store: DeliveryProblemStore, watch: ProblemWatch | null) {
    this.#store = store;
    this.#watch = watch;
  }

  /** Loads problems found by other processes that may have served a webhook before. */
  async reload(): Promise<void> {
    await this.#watch?.load();
  }

  /** Resolves problems that recovered and have been quiet since. */
  async resolveQuiet({ now, limit }: ProblemStep): Promise<StepResult> {
    const { moves, ...step } = await this.#store.resolveQuiet({
      quietSince: now - resolvesAfterMs,
      now,
      limit,
    });
    this.#watch?.tell(moves);
    return step;
  }

  forget({ now, limit }: ProblemStep): Promise<StepResult> {
    const before = { noticedBefore: now - opensWithinMs, resolvedBefore: now - resolvedKeptMs };
    return this.#store.forget({ ...before, limit });
  }
}

interface ProblemStep {
  readonly now: number;
  readonly limit: number;
}

const resolvedKeptMs = 30 * 86_400_000;

import { opensWithinMs, resolvesAfterMs } from "../core/delivery-problems/delivery-problem.ts";
import type { DeliveryProblemStore } from "../ports/store/delivery-problems.ts";
import type { StepResult } from "../ports/store/upkeep.ts";
import type { ProblemWatch } from "./commit/problem-watch.ts";

/** House-keeping of problems, in steps. */
export class ProblemUpkeep {
  readonly #store: DeliveryProblemStore;
  readonly #watch: ProblemWatch | null;

  constructor(store: DeliveryProblemStore, watch: ProblemWatch | null) {
    this.#store = store;
    this.#watch = watch;
  }

  /** Learns what other processes, which may have served a webhook before, found out. */
  async reload(): Promise<void> {
    await this.#watch?.load();
  }

  /** What recovered and has been quiet since is over. */
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

import type { CommitBatch, CommitResult } from "../../ports/store/deliveries.ts";
import type { ProblemWatch } from "./problem-watch.ts";
import type { CommitStatistics } from "./commit-statistics.ts";
import type { Group } from "./write-group.ts";

/** Additional rows of one commit. */
export type Riding = Pick<CommitBatch, "statistics" | "problems">;

/** Null if it is not tracked. */
export interface Riders {
  readonly statistics: CommitStatistics | null;
  readonly problems: ProblemWatch | null;
}

/** Null if neither is tracked. */
export function createCommitRiders(riders: Riders): CommitRiders | null {
  return riders.statistics === null && riders.problems === null ? null : new CommitRiders(riders);
}

/** Adds statistics and problem changes to commits that happen anyway. */
export class CommitRiders {
  readonly #statistics: CommitStatistics | null;
  readonly #problems: ProblemWatch | null;

  constructor(riders: Riders) {
    this.#statistics = riders.statistics;
    this.#problems = riders.problems;
  }

  /** Time of the oldest data that no commit has taken, Unix milliseconds; null if there is none. */
  get unwrittenSince(): number | null {
    return this.#statistics?.unwrittenSince ?? null;
  }

  compose({ batch, settlements }: Group, carriesRows: boolean): Riding {
    const statistics = this.#statistics?.compose(batch.publishes, settlements, carriesRows);
    const problems = this.#problems?.compose(settlements, batch.publishes);
    return { ...(statistics !== undefined && { statistics }), ...(problems !== undefined && { problems }) };
  }

  committed(riding: Riding, group: Group, result: CommitResult): void {
    if (riding.statistics !== undefined) this.#statistics?.committed(riding.statistics, result);
    this.#problems?.committed(group, result);
  }

  failed({ statistics, problems }: Riding): void {
    if (statistics !== undefined) this.#statistics?.failed(statistics);
    this.#problems?.failed(problems);
  }

  /** From now on every commit takes all pending data. */
  end(): void {
    this.#statistics?.end();
  }
}

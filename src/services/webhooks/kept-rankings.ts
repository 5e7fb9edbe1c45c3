import type { Clock } from "../../ports/clock.ts";
import type { Ranking } from "./webhook-ranking.ts";

/** An order, and when it was found: Unix milliseconds. */
export interface DatedRanking extends Ranking {
  readonly rankedAt: number;
}

interface KeptRanking {
  readonly ranking: DatedRanking;
  readonly foundAtMs: number;
  readonly tookMs: number;
}

/**
 * Orders that take a look at very many webhooks. Who asks again gets the last one and is told when that was found; where it is
 * no longer fresh, another one is looked for meanwhile, so that a page that refreshes itself is some seconds behind and
 * quick. One that is found in no time, as among few webhooks, is waited for.
 */
export class KeptRankings {
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptRanking>();
  readonly #underWay = new Map<string, Promise<DatedRanking>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The order of this name. `find` is called for one question at a time. */
  async of(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    this.#forgetOld();
    const kept = this.#kept.get(name);
    if (kept === undefined) return this.#find(name, find);
    if (this.#ageMs(kept) < freshMs) return kept.ranking;
    // Who asks once this one is too old is told of a failure.
    const next = this.#find(name, find).catch(() => kept.ranking);
    return kept.tookMs <= waitedMs ? next : kept.ranking;
  }

  #find(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    const found = this.#found(name, find).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, found);
    return found;
  }

  async #found(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    const rankedAt = this.#clock.now();
    const begunMs = this.#clock.monotonicMs();
    const ranking = { ...(await find()), rankedAt };
    const foundAtMs = this.#clock.monotonicMs();
    this.#kept.set(name, { ranking, foundAtMs, tookMs: foundAtMs - begunMs });
    return ranking;
  }

  #forgetOld(): void {
    for (const [name, kept] of this.#kept) if (this.#ageMs(kept) >= keptMs) this.#kept.delete(name);
  }

  #ageMs({ foundAtMs }: KeptRanking): number {
    return this.#clock.monotonicMs() - foundAtMs;
  }
}

const freshMs = 3_000;
const keptMs = 60_000;
/** Whoever asks does not notice it. */
const waitedMs = 25;

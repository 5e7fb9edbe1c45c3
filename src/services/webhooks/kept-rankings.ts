import type { Clock } from "../../ports/clock.ts";
import type { Ranking } from "./webhook-ranking.ts";

/** An order and when it was computed, in Unix milliseconds. */
export interface DatedRanking extends Ranking {
  readonly rankedAt: number;
}

interface KeptRanking {
  readonly ranking: DatedRanking;
  readonly foundAtMs: number;
  readonly tookMs: number;
}

/**
 * Cached orders over very many webhooks. A repeated query gets the last order with its time; if that is stale, a new
 * one is computed in the background. A page that reloads is therefore quick and some seconds behind. Orders that take
 * almost no time, as for few webhooks, are computed on demand.
 */
export class KeptRankings {
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptRanking>();
  readonly #underWay = new Map<string, Promise<DatedRanking>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The order with this name. Concurrent callers share one call of `find`. */
  async of(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    this.#forgetOld();
    const kept = this.#kept.get(name);
    if (kept === undefined) return this.#find(name, find);
    if (this.#ageMs(kept) < freshMs) return kept.ranking;
    // Callers get the error once the cached order is too old.
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
/** Too short to be noticed. */
const waitedMs = 25;

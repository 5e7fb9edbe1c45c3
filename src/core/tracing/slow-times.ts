import { placeOf, timeAt } from "../statistics/distribution.ts";

/** Finds the attempts of one webhook that are slower than nearly all others. Old times lose their weight. */
export class SlowTimes {
  readonly #counts: number[] = [];
  #asked = 0;
  #all = 0;
  #sinceLook = 0;
  #slowerThanMs = Number.POSITIVE_INFINITY;

  /**
   * Whether this time is slow compared with the earlier ones. Only every eighth time is recorded, which is sufficient
   * and cheaper.
   */
  isSlow(ms: number): boolean {
    const slow = ms > this.#slowerThanMs;
    this.#asked += 1;
    if ((this.#asked & 7) === 0) this.#count(ms);
    return slow;
  }

  #count(ms: number): void {
    const place = placeOf(ms);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#all += 1;
    this.#sinceLook += 1;
    if (this.#sinceLook >= lookEvery) this.#look();
  }

  #look(): void {
    this.#sinceLook = 0;
    let below = 0;
    for (const [place, count = 0] of this.#counts.entries()) {
      below += count;
      if (below < this.#all * share) continue;
      // The upper end of the class: all its times belong to the others.
      this.#slowerThanMs = timeAt(place + 1);
      break;
    }
    if (this.#all < countsMax) return;
    for (const [place, count = 0] of this.#counts.entries()) this.#counts[place] = count / 2;
    this.#all /= 2;
  }
}

const share = 0.99;
const lookEvery = 100;
const countsMax = 2_000;

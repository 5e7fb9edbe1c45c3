import { isStatusKey, keys } from "./keys.ts";
import { VarintReader, VarintWriter } from "./varints.ts";

/**
 * The counts of one bucket, by key (`keys.ts`). Sparse, because most buckets see a few of several thousand keys. All
 * values are additive, including distributions, which are counts too.
 */
export class Counts {
  /** A mutable cell takes one lookup per count; a plain number would take a lookup and a write. */
  readonly #byKey = new Map<number, Cell>();

  get(key: number): number {
    return this.#byKey.get(key)?.times ?? 0;
  }

  count(key: number): void {
    this.#cell(key).times += 1;
  }

  add(key: number, times: number): void {
    if (times !== 0) this.#cell(key).times += times;
  }

  addAll(other: Counts): void {
    for (const [key, { times }] of other.#byKey) this.#cell(key).times += times;
  }

  /** The counted keys in a range with their counts, in key order; `to` is exclusive. */
  within(from: number, to: number): readonly (readonly [number, number])[] {
    const found: (readonly [number, number])[] = [];
    for (const [key, { times }] of this.#byKey) if (key >= from && key < to) found.push([key, times]);
    return found.sort(([left], [right]) => left - right);
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /**
   * The stored form: pairs of key difference and count, in key order. Status codes beyond the most frequent share one
   * key, so that a receiver that returns every possible status cannot make rows grow.
   */
  pack(): Uint8Array {
    const writer = new VarintWriter();
    let last = 0;
    for (const [key, count] of withFewCodes(this.within(everyKey.from, everyKey.to))) {
      writer.write(key - last);
      writer.write(count);
      last = key;
    }
    return writer.done();
  }

  static unpack(bytes: Uint8Array): Counts {
    const counts = new Counts();
    counts.addPacked(bytes);
    return counts;
  }

  /** Adds packed counts to this bucket. */
  addPacked(bytes: Uint8Array): void {
    const reader = new VarintReader(bytes);
    for (let key = 0; !reader.isAtEnd; ) {
      key += reader.read();
      const times = reader.read();
      if (times !== 0) this.#cell(key).times += times;
    }
  }

  #cell(key: number): Cell {
    let cell = this.#byKey.get(key);
    if (cell === undefined) {
      cell = { times: 0 };
      this.#byKey.set(key, cell);
    }
    return cell;
  }
}

interface Cell {
  times: number;
}

type Counted = readonly (readonly [key: number, times: number])[];

/** The most frequent status codes; among equally frequent ones the lower. */
function withFewCodes(counted: Counted): Counted {
  const codes = counted.filter(([key]) => isStatusKey(key));
  if (codes.length <= statusCodesMax) return counted;
  const kept = new Set(
    codes
      .toSorted(([, left], [, right]) => right - left)
      .slice(0, statusCodesMax)
      .map(([key]) => key),
  );
  const few = new Counts();
  for (const [key, times] of counted)
    few.add(isStatusKey(key) && !kept.has(key) ? keys.statusOther : key, times);
  return few.within(everyKey.from, everyKey.to);
}

const everyKey = { from: 0, to: Number.POSITIVE_INFINITY };
const statusCodesMax = 12;

import { isStatusKey, keys } from "./keys.ts";
import { VarintReader, VarintWriter } from "./varints.ts";

/**
 * What one bucket counted, by key (`keys.ts`). Sparse, because most buckets see a few keys of some thousand. Everything in
 * it adds up, distributions included: they are counts too.
 */
export class Counts {
  readonly #byKey = new Map<number, number>();

  get(key: number): number {
    return this.#byKey.get(key) ?? 0;
  }

  /** Once more. */
  count(key: number): void {
    this.#byKey.set(key, (this.#byKey.get(key) ?? 0) + 1);
  }

  add(key: number, { times }: { readonly times: number }): void {
    if (times !== 0) this.#byKey.set(key, (this.#byKey.get(key) ?? 0) + times);
  }

  addAll(other: Counts): void {
    for (const [key, times] of other.#byKey) this.add(key, { times });
  }

  /** Keys with what they counted, in the order of keys, from one key up to another one, which is left out. */
  within(range: { readonly from: number; readonly to: number }): readonly (readonly [number, number])[] {
    return [...this.#byKey]
      .filter(([key]) => key >= range.from && key < range.to)
      .toSorted(([left], [right]) => left - right);
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /**
   * As it is stored: pairs of the distance from the last key and the count, in the order of keys. Status codes beyond the
   * most frequent are one key, so that a receiver which answers with each of them cannot make rows grow.
   */
  pack(): Uint8Array {
    const writer = new VarintWriter();
    let last = 0;
    for (const [key, count] of withFewCodes(this).within({ from: 0, to: Number.POSITIVE_INFINITY })) {
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

  /** What was packed, added to what is counted here. */
  addPacked(bytes: Uint8Array): void {
    const byKey = this.#byKey;
    const reader = new VarintReader(bytes);
    for (let key = 0; !reader.isAtEnd; ) {
      key += reader.read();
      const times = reader.read();
      if (times !== 0) byKey.set(key, (byKey.get(key) ?? 0) + times);
    }
  }
}

/** The most frequent status codes; of equally frequent ones the lower. */
function withFewCodes(counts: Counts): Counts {
  const codes = counts.within({ from: keys.status, to: keys.statusEnd });
  if (codes.length <= statusCodesMax) return counts;
  const kept = new Set(
    codes
      .toSorted(([, left], [, right]) => right - left)
      .slice(0, statusCodesMax)
      .map(([key]) => key),
  );
  const few = new Counts();
  for (const [key, times] of counts.within({ from: 0, to: Number.POSITIVE_INFINITY }))
    few.add(isStatusKey(key) && !kept.has(key) ? keys.statusOther : key, { times });
  return few;
}

const statusCodesMax = 12;

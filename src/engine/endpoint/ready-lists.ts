/**
 * A queue with O(1) push, unshift and shift on a reusable ring buffer. Used for the ready lists of the dispatcher.
 */
export class Fifo<Item> {
  #ring: (Item | undefined)[] = new Array<Item | undefined>(16);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    this.#reserve();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = item;
    this.#length += 1;
  }

  unshift(item: Item): void {
    this.#reserve();
    this.#head = (this.#head - 1 + this.#ring.length) & (this.#ring.length - 1);
    this.#ring[this.#head] = item;
    this.#length += 1;
  }

  shift(): Item | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length -= 1;
    return item;
  }

  peek(): Item | undefined {
    return this.#length === 0 ? undefined : this.#ring[this.#head];
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let index = 0; index < this.#length; index += 1)
      yield this.#ring[(this.#head + index) & (this.#ring.length - 1)] as Item;
  }

  /** Empties the queue and returns its items in order. */
  drain(): Item[] {
    const items: Item[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) items.push(item);
    return items;
  }

  #reserve(): void {
    if (this.#length < this.#ring.length) return;
    const wider = new Array<Item | undefined>(this.#ring.length * 2);
    for (let index = 0; index < this.#length; index += 1) {
      wider[index] = this.#ring[(this.#head + index) & (this.#ring.length - 1)];
    }
    this.#ring = wider;
    this.#head = 0;
  }
}

/**
 * An entry stores its list. When it moves to another list, the stale entry can stay in the old one, and no search is
 * needed.
 */
export interface Listed {
  /** The entry's list: 0 high, 1 normal, 2 low; -1 if it is in none. */
  readyTier: number;
}

/** Entries that may have deliveries to send, by priority. */
export class ReadyLists<Entry extends Listed> {
  readonly #lists: readonly [Fifo<Entry>, Fifo<Entry>, Fifo<Entry>] = [
    new Fifo<Entry>(),
    new Fifo<Entry>(),
    new Fifo<Entry>(),
  ];

  /** Lists an entry, or moves it to a higher list. */
  push(entry: Entry, tier: number): void {
    if (entry.readyTier !== -1 && entry.readyTier <= tier) return;
    entry.readyTier = tier;
    this.#lists[tier]?.push(entry);
  }

  /** Inserts an entry at the front of its tier. */
  unshift(entry: Entry, tier: number): void {
    entry.readyTier = tier;
    this.#lists[tier]?.unshift(entry);
  }

  /** Takes the next entry of a tier. */
  shift(tier: 0 | 1 | 2): Entry | undefined {
    const list = this.#lists[tier];
    for (let entry = list.shift(); entry !== undefined; entry = list.shift()) {
      if (entry.readyTier !== tier) continue;
      entry.readyTier = -1;
      return entry;
    }
    return undefined;
  }

  /** Takes the next entry of the highest tier. */
  next(): Entry | undefined {
    return this.shift(0) ?? this.shift(1) ?? this.shift(2);
  }

  /** The highest tier with an entry; -1 if all are empty. A stale entry may make it too high. */
  highestTier(): number {
    const [high, normal, low] = this.#lists;
    if (high.length > 0) return 0;
    if (normal.length > 0) return 1;
    return low.length > 0 ? 2 : -1;
  }

  /** The sum of `countOf` over all entries, up to `max`. `left` is the difference between `max` and the sum so far. */
  count(max: number, countOf: (entry: Entry, left: number) => number): number {
    let count = 0;
    for (const [tier, list] of this.#lists.entries()) {
      for (const entry of list) {
        if (count >= max) return max;
        if (entry.readyTier === tier) count += countOf(entry, max - count);
      }
    }
    return Math.min(count, max);
  }

  clear(): void {
    for (const list of this.#lists) list.drain();
  }
}

/**
 * A bounded cache with two generations: when the younger one is full, it becomes the older one, and the former older
 * one is dropped. So an entry that was just read or written survives at least `entriesMax` further ones, however busy
 * other callers are.
 */
export class RecentMap<Key, Entry> {
  readonly #entriesMax: number;
  #young = new Map<Key, Entry>();
  #old = new Map<Key, Entry>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(key: Key): Entry | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  set(key: Key, entry: Entry): void {
    if (this.#young.size >= this.#entriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, entry);
  }
}

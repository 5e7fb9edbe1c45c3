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

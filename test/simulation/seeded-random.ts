import { createHash } from "node:crypto";
import type { Random } from "../../src/ports/random.ts";

/**
 * All randomness of a simulated world: the Random port for the engine, and helper methods for the world itself.
 *
 * Streams are named (`fork`), so that a change in how much the engine draws does not change what the receiver does.
 */
export class SeededRandom implements Random {
  readonly #name: string;
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.#name = name;
    const digest = createHash("sha256").update(name).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (offset) => digest.readUInt32LE(offset));
  }

  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.#name}/${name}`);
  }

  uniform(): number {
    return this.#next() / 2 ** 32;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let offset = 0; offset < count; offset += 4) {
      const word = this.#next();
      for (let index = 0; index < 4 && offset + index < count; index += 1) {
        bytes[offset + index] = (word >>> (8 * index)) & 0xff;
      }
    }
    return bytes;
  }

  chance(probability: number): boolean {
    return this.uniform() < probability;
  }

  /** An integer; both ends of the range are included. */
  int(range: { readonly min: number; readonly max: number }): number {
    return range.min + Math.floor(this.uniform() * (range.max - range.min + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.uniform() * items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** A key of the table, chosen with the probability given by its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.uniform() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return (entries.at(-1) as [Name, number])[0];
  }

  /** sfc32: small, fast, and good enough for these tests. */
  #next(): number {
    const s = this.#state;
    const [a, b, c, counter] = [s[0] as number, s[1] as number, s[2] as number, s[3] as number];
    const result = (a + b + counter) >>> 0;
    s[3] = counter + 1;
    s[0] = b ^ (b >>> 9);
    s[1] = c + (c << 3);
    s[2] = ((c << 21) | (c >>> 11)) + result;
    return result;
  }
}

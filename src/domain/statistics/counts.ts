import { type Fact, factKinds, isStatusKey, keys } from "./facts.ts";

/** Whole numbers from 0 to 2^53 - 1 in as few bytes as possible, seven bits per byte, lowest first (LEB128). */
class VarintWriter {
  readonly #bytes: number[] = [];

  write(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#bytes.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.#bytes.push(rest);
  }

  done(): Uint8Array {
    return new Uint8Array(this.#bytes);
  }
}

/** Reads what {@link VarintWriter} wrote. Throws RangeError if the bytes end within a number. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  read(): number {
    // Fast path, because most numbers fit into one byte.
    const first = this.#bytes[this.#at];
    if (first !== undefined && first < 128) {
      this.#at += 1;
      return first;
    }
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError("packed counts end within a number");
      this.#at += 1;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }
}

/**
 * Encodes facts for storage with the rows that caused them; they are stored until their buckets are written. Names are
 * replaced by the numbers that the store assigns to them.
 */
export function packFacts<Name>(facts: readonly Fact<Name>[], numberOf: (name: Name) => number): Uint8Array {
  const writer = new VarintWriter();
  for (const fact of facts) {
    writer.write(factKinds.indexOf(fact.kind));
    writer.write(Math.max(0, fact.at));
    writer.write(numberOf(fact.tenant));
    writer.write(numberOf(fact.subject));
    writer.write(fact.amount);
    writer.write(fact.keys.length);
    for (const key of fact.keys) writer.write(key);
  }
  return writer.done();
}

export function unpackFacts(bytes: Uint8Array): readonly Fact<number>[] {
  const reader = new VarintReader(bytes);
  const facts: Fact<number>[] = [];
  while (!reader.isAtEnd) {
    const kind = factKinds[reader.read()];
    if (kind === undefined) throw new RangeError("unknown kind of packed fact");
    const [at, tenant, subject, amount] = [reader.read(), reader.read(), reader.read(), reader.read()];
    const count = reader.read();
    const counted = Array.from({ length: count }, () => reader.read());
    facts.push({ kind, at, tenant, subject, amount, keys: counted });
  }
  return facts;
}

/**
 * The counts of one bucket, by key (`keys` below). Sparse, because most buckets see a few of several thousand keys. All
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
   * The stored form: pairs of key difference and count, in key order. Only the most frequent status codes have their
   * own keys; all others share one, so that rows stay small even if a receiver returns every possible status.
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

/** The most frequent status codes. If two are equally frequent, the lower code comes first. */
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

import { type FailureCategory, failureCategories, type Outcome } from "../classify.ts";
import { type Ending, endings } from "../delivery-state.ts";
import { type Fact, factKinds } from "./facts.ts";

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
    // Most numbers are small.
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
 * Facts in the form in which they are stored with the rows that caused them, until their buckets are written. Names are
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

/** Time steps of statistics, in Unix time. Stored data depends on the order. */
export const statisticsSteps = ["minute", "hour", "day"] as const;
export type StatisticsStep = (typeof statisticsSteps)[number];

export const stepMs: Readonly<Record<StatisticsStep, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The start of the bucket that contains a time. */
export function bucketAt(time: number, step: StatisticsStep): number {
  return Math.floor(time / stepMs[step]) * stepMs[step];
}

/** The starts of all buckets in a range; `to` is exclusive. */
export function bucketsWithin(from: number, to: number, step: StatisticsStep): readonly number[] {
  const starts: number[] = [];
  for (let start = bucketAt(from, step); start < to; start += stepMs[step]) starts.push(start);
  return starts;
}

/** Default retention of buckets: 48 hours, 35 days, 800 days. */
export const statisticsKeptMsDefault: Readonly<Record<StatisticsStep, number>> = {
  minute: 48 * stepMs.hour,
  hour: 35 * stepMs.day,
  day: 800 * stepMs.day,
};

/**
 * Keys of counts as stored numbers: a number never changes its meaning, and a new one needs no migration. Deliveries
 * and events have separate tables, so their numbers may coincide.
 */
export const keys = {
  accepted: 1,
  transient: 2,
  terminal: 3,
  /** Whether the receiver processed the request is unknown; counted in addition to the outcome. */
  unknown: 4,
  success: 5,
  exhausted: 6,
  cancelled: 7,
  skipped: 8,
  /** Discarded dead letters; each was also counted as `exhausted` before. */
  discarded: 9,
  /** For deliveries, bytes; for events, deliveries. */
  amount: 10,
  published: 11,
  duplicate: 12,
  unmatched: 13,
  /** Plus the first digit of the status; 0 without a response. */
  statusClass: 20,
  /** Plus the index in `failureCategories`, which is only extended at the end. */
  category: 40,
  /** Codes beyond the most frequent ones of a bucket. */
  statusOther: 999,
  /** Plus the status. */
  status: 1_000,
  statusEnd: 2_000,
  /** Plus the class in a distribution (facts.ts), milliseconds. */
  duration: 2_000,
  lag: 3_000,
  total: 4_000,
} as const;

/** Key range reserved for one distribution. */
export const distributionSpan = 1_000;

export type DistributionName = "duration" | "lag" | "total";

export function isStatusKey(key: number): boolean {
  return key >= keys.status && key < keys.statusEnd;
}

/** The key of an ending without a request. */
export function endingKey(ending: Ending): number {
  if (ending.reason === endings.discarded.reason) return keys.discarded;
  return keys[ending.state];
}

export function outcomeKey(outcome: Outcome): number {
  return keys[outcome];
}

export function categoryKey(category: FailureCategory): number {
  return keys.category + failureCategories.indexOf(category);
}

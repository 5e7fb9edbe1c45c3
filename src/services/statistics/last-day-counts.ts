import { bucketAt, stepMs } from "../../core/statistics/buckets.ts";
import { Counts } from "../../core/statistics/counts.ts";
import type { StatisticsProgress, StatisticsRow, SubjectName } from "../../ports/store/statistics.ts";
import type { Span, StatisticsReader } from "./statistics-reader.ts";

/** Counts from the beginning of the day to the end of a minute. */
interface KeptCounts {
  /** Packed, because many webhooks are cached. */
  readonly counts: Uint8Array;
  readonly until: number;
}

/**
 * Counts of webhooks over the last day. Full minutes are cached, so that the next query reads only the minutes since.
 * Every hour the day shifts, and everything is read again.
 */
export class LastDayCounts {
  readonly #reader: StatisticsReader;
  readonly #keptMax: number;
  #kept = new Map<string, KeptCounts>();
  #from = 0;

  constructor(reader: StatisticsReader, { keptMax = 20_000 } = {}) {
    this.#reader = reader;
    this.#keptMax = keptMax;
  }

  /** By webhook; webhooks without counts are omitted. */
  async of(webhooks: readonly SubjectName[], now: number): Promise<ReadonlyMap<string, Counts>> {
    const progress = await this.#reader.progress();
    const day = lastDayFrom(now);
    const kept = this.#keptOf(day);
    // The latest counts may not have reached the store yet.
    const until = bucketAt(Math.min(progress.unwrittenSince ?? now, now) - stepMs.minute, "minute");
    const unknown = webhooks.filter(({ subject }) => !kept.has(subject));
    const before = await this.#read(unknown, { from: day, to: until, finest: "hour", progress, now });
    const known = new Map<string, KeptCounts>();
    for (const { subject } of webhooks)
      known.set(subject, kept.get(subject) ?? { counts: sumOf(before.get(subject) ?? []).pack(), until });
    const found = new Map<string, Counts>();
    for (const [from, some] of Map.groupBy(known, ([, each]) => each.until)) {
      const names = webhooks.filter(({ subject }) => known.get(subject)?.until === from);
      const since = await this.#read(names, { from, to: now, finest: "minute", progress, now });
      for (const [subject, each] of some) {
        const rows = since.get(subject) ?? [];
        const counts = Counts.unpack(each.counts);
        addTo(
          counts,
          rows.filter(({ start }) => start < until),
        );
        this.#keep(kept, subject, from < until ? { counts: counts.pack(), until } : each);
        addTo(
          counts,
          rows.filter(({ start }) => start >= until),
        );
        if (!counts.isEmpty) found.set(subject, counts);
      }
    }
    return found;
  }

  #keptOf(day: number): Map<string, KeptCounts> {
    if (day !== this.#from) this.#kept = new Map();
    this.#from = day;
    return this.#kept;
  }

  /** The least recently used entries are dropped. */
  #keep(kept: Map<string, KeptCounts>, subject: string, counts: KeptCounts): void {
    kept.delete(subject);
    kept.set(subject, counts);
    const [oldest] = kept.size > this.#keptMax ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
  }

  async #read(
    names: readonly SubjectName[],
    { progress, now, ...span }: ReadRange,
  ): Promise<ReadonlyMap<string | null, readonly StatisticsRow[]>> {
    const more = { span: { ...span, hoursMs: stepMs.day }, progress, now };
    return Map.groupBy(await this.#reader.ofWebhooks(names, more), ({ subject }) => subject);
  }
}

interface ReadRange extends Omit<Span, "hoursMs"> {
  readonly progress: StatisticsProgress;
  readonly now: number;
}

/** Start of the last day for webhooks: the beginning of an hour. */
export function lastDayFrom(now: number): number {
  return bucketAt(now, "hour") - stepMs.day;
}

function sumOf(rows: readonly StatisticsRow[]): Counts {
  const counts = new Counts();
  addTo(counts, rows);
  return counts;
}

function addTo(counts: Counts, rows: readonly StatisticsRow[]): void {
  for (const row of rows) counts.addPacked(row.counts);
}

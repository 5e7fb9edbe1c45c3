import { InvalidRequestError } from "../../domain/errors.ts";
import { Counts } from "../../domain/statistics/counts.ts";
import {
  bucketAt,
  bucketsWithin,
  type FactKind,
  type StatisticsStep,
  stepMs,
} from "../../domain/statistics/facts.ts";
import type {
  StatisticsOf,
  StatisticsProgress,
  StatisticsRange,
  StatisticsRow,
  StatisticsStore,
  SubjectName,
} from "../../ports/store/statistics.ts";

/** A range, and the smallest step that is available to its reader. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly finest: StatisticsStep;
  /** Older data is read from day buckets. */
  readonly hoursMs: number;
}

/** The current time, and the time up to which statistics are complete. */
interface Reading {
  readonly progress: StatisticsProgress;
  readonly now: number;
}

/** Maximum rows and buckets per response, which bounds its duration. */
const rowsMax = 50_000;
/** Assumed maximum number of processes that have a row in one bucket of a webhook. */
const writersMax = 4;
/**
 * Length of the most recent period that maintenance may not have aggregated yet, in milliseconds. Normally, maintenance
 * aggregates within minutes.
 */
const unaddedMsMax = 51 * stepMs.hour;

/** Reads each part of a range from the largest suitable buckets. */
export class StatisticsReader {
  readonly #store: StatisticsStore;

  constructor(store: StatisticsStore) {
    this.#store = store;
  }

  progress(): Promise<StatisticsProgress> {
    return this.#store.progress();
  }

  /**
   * Statistics of the deliveries to these webhooks. Reads in parts, so that any number of webhooks can be read,
   * regardless of how much of the range is stored in minutes.
   */
  async ofWebhooks(
    names: readonly SubjectName[],
    { span, ...more }: Reading & { readonly span: Span },
  ): Promise<readonly StatisticsRow[]> {
    const seeksEach = seeksOf(rangesOf(span, more));
    const atOnce = Math.max(1, Math.floor(rowsMax / writersMax / Math.max(1, seeksEach)));
    const rows: StatisticsRow[] = [];
    for (let at = 0; at < names.length; at += atOnce) {
      const of = { level: "named", names: names.slice(at, at + atOnce) } as const;
      rows.push(...(await this.rows({ kind: "delivery", of, ...span }, more)));
    }
    return rows;
  }

  /** The rows of a query. Throws InvalidRequestError if one response would exceed its limit. */
  async rows(
    query: { readonly kind: FactKind; readonly of: StatisticsOf } & Span,
    more: Reading,
  ): Promise<readonly StatisticsRow[]> {
    const { kind, of } = query;
    const rows: StatisticsRow[] = [];
    const ranges = rangesOf(query, more);
    if (seeksOf(ranges) * namesIn(of) > rowsMax) throw tooMuch();
    for (const range of ranges) {
      const page = await this.#store.read({ kind, of, ...range, limit: rowsMax - rows.length });
      if (page.next !== null) throw tooMuch();
      rows.push(...page.rows);
    }
    return rows;
  }
}

/** The number of seeks that the ranges require: one for each bucket. */
function seeksOf(ranges: readonly StatisticsRange[]): number {
  return ranges.reduce((sum, range) => sum + bucketsWithin(range.from, range.to, range.step).length, 0);
}

function namesIn(of: StatisticsOf): number {
  if (of.level === "named") return of.names.length;
  return of.level === "subjects" ? (of.subjects?.length ?? 1) : 1;
}

function rangesOf(
  { from, to, finest, hoursMs }: Span,
  { progress, now }: Reading,
): readonly StatisticsRange[] {
  if (finest === "minute") return [{ step: "minute", from, to }];
  const { countedSince, hoursUntil, daysUntil } = progress;
  const daysTo =
    finest === "day" ? Math.min(daysUntil, bucketAt(now - hoursMs, "day"), bucketAt(to, "day")) : from;
  const hoursFrom = Math.max(from, daysTo);
  const minutesFrom = Math.max(
    hoursFrom,
    hoursUntil,
    countedSince ?? now,
    bucketAt(now - unaddedMsMax, "minute"),
  );
  const ranges: StatisticsRange[] = [
    { step: "day", from, to: daysTo },
    { step: "hour", from: hoursFrom, to: Math.min(to, hoursUntil) },
    { step: "minute", from: minutesFrom, to },
  ];
  return ranges.filter((range) => range.from < range.to);
}

/** The message says what to request instead. */
export function tooMuch(): InvalidRequestError {
  const message = "is too much for one response: use a longer step, a shorter range, or select webhooks";
  return new InvalidRequestError(`the range ${message}`, [{ field: "step", message }]);
}

/** Counts from the beginning of the day to the end of a minute. */
interface KeptCounts {
  /** Packed, because many webhooks are cached. */
  readonly counts: Uint8Array;
  readonly until: number;
}

/**
 * Counts of webhooks over the last day. Full minutes are cached, so that the next query reads only the minutes since
 * the previous one. Every hour, the range shifts by an hour and everything is read again.
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

  /** Counts of the last day, keyed by webhook; webhooks without counts are omitted. */
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

/** Start of the last day as used for webhooks: the beginning of an hour. */
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

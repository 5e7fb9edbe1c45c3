import { bucketAt, stepMs } from "../../core/statistics/buckets.ts";
import { Counts } from "../../core/statistics/counts.ts";
import { keys } from "../../core/statistics/keys.ts";
import type { StatisticsProgress, StatisticsRow, SubjectName } from "../../ports/store/statistics.ts";
import { attemptsOf } from "./measures.ts";
import type { Span, StatisticsReader } from "./statistics-reader.ts";

interface Attempts {
  readonly attempts: number;
  readonly accepted: number;
}

/** What was counted from the beginning of the day to the end of a minute. */
interface KeptAttempts extends Attempts {
  readonly until: number;
}

/**
 * Failure rates of webhooks over the last day. What full minutes counted is kept, so that the next question reads the minutes
 * since then and no more. With each hour the day moves on, and all of it is read again.
 */
export class FailureRates {
  readonly #reader: StatisticsReader;
  #kept = new Map<string, KeptAttempts>();
  #from = 0;

  constructor(reader: StatisticsReader) {
    this.#reader = reader;
  }

  /** By webhook, from 0 to 1; none for those that nothing was sent to. */
  async of(webhooks: readonly SubjectName[], now: number): Promise<ReadonlyMap<string, number>> {
    const progress = await this.#reader.progress();
    const day = lastDayFrom(now);
    const kept = this.#keptOf(day);
    // What was counted last may still be on its way to the store.
    const until = bucketAt(Math.min(progress.unwrittenSince ?? now, now) - stepMs.minute, "minute");
    const unknown = webhooks.filter(({ subject }) => !kept.has(subject));
    const before = await this.#read(unknown, { from: day, to: until, finest: "hour", progress, now });
    for (const { subject } of unknown) kept.set(subject, { ...sumOf(before.get(subject) ?? []), until });
    const rates = new Map<string, number>();
    for (const [from, some] of Map.groupBy(webhooks, ({ subject }) => kept.get(subject)?.until ?? until)) {
      const sums = new Map(some.map(({ subject }) => [subject, kept.get(subject) ?? nothing]));
      const since = await this.#read(some, { from, to: now, finest: "minute", progress, now });
      for (const [subject, sum] of sums) {
        const rows = since.get(subject) ?? [];
        const { attempts, accepted } = added(sum, sumOf(rows));
        if (attempts > 0) rates.set(subject, 1 - accepted / attempts);
        if (from < until)
          kept.set(subject, { ...added(sum, sumOf(rows.filter(({ start }) => start < until))), until });
      }
    }
    return rates;
  }

  #keptOf(day: number): Map<string, KeptAttempts> {
    if (day !== this.#from) this.#kept = new Map();
    this.#from = day;
    return this.#kept;
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

/** The last day as it is told of webhooks: from the beginning of an hour. */
export function lastDayFrom(now: number): number {
  return bucketAt(now, "hour") - stepMs.day;
}

const nothing: Attempts = { attempts: 0, accepted: 0 };

function added(left: Attempts, right: Attempts): Attempts {
  return { attempts: left.attempts + right.attempts, accepted: left.accepted + right.accepted };
}

function sumOf(rows: readonly StatisticsRow[]): Attempts {
  const counts = new Counts();
  for (const row of rows) counts.addPacked(row.counts);
  return { attempts: attemptsOf(counts), accepted: counts.get(keys.accepted) };
}

import { InvalidRequestError } from "../../core/errors.ts";
import { bucketAt, bucketsWithin, stepMs, type StatisticsStep } from "../../core/statistics/buckets.ts";
import type { FactKind } from "../../core/statistics/facts.ts";
import type {
  StatisticsOf,
  StatisticsProgress,
  StatisticsRange,
  StatisticsRow,
  StatisticsStore,
  SubjectName,
} from "../../ports/store/statistics.ts";

/** A range, and the smallest step that its reader can distinguish. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly finest: StatisticsStep;
  /** Older data is read from day buckets. */
  readonly hoursMs: number;
}

/** The current time, and how far the statistics have progressed. */
interface Reading {
  readonly progress: StatisticsProgress;
  readonly now: number;
}

/** Limit of rows and buckets per response, which bounds its duration. */
const rowsMax = 50_000;
/** Processes that may each have a row in one bucket of a webhook. */
const writersMax = 4;
/** Hours that maintenance may not have aggregated yet; it does so within minutes. */
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
   * Deliveries to these webhooks, read in parts, regardless of their number and of how much of the range is stored in
   * minutes.
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

  /** Throws InvalidRequestError beyond the limit of one response. */
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

/** Every bucket of a range is searched for a row. */
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

/** Tells what to request instead. */
export function tooMuch(): InvalidRequestError {
  const message = "is too much for one response: use a longer step, a shorter range, or select webhooks";
  return new InvalidRequestError(`the range ${message}`, [{ field: "step", message }]);
}

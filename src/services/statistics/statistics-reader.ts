import { InvalidRequestError } from "../../core/errors.ts";
import { bucketAt, bucketsWithin, stepMs, type StatisticsStep } from "../../core/statistics/buckets.ts";
import type { FactKind } from "../../core/statistics/facts.ts";
import type {
  StatisticsOf,
  StatisticsProgress,
  StatisticsRange,
  StatisticsRow,
  StatisticsStore,
} from "../../ports/store/statistics.ts";

/** A range, and the smallest step that its reader can tell apart. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly finest: StatisticsStep;
  /** Days are read for what is older than this. */
  readonly hoursMs: number;
}

/** One answer may look at so many rows and buckets; more would take long. */
const rowsMax = 50_000;
/** Hours that upkeep has not added up yet; it does within minutes. */
const unaddedMsMax = 51 * stepMs.hour;

/** Reads each part of a range from the largest buckets that tell it. */
export class StatisticsReader {
  readonly #store: StatisticsStore;

  constructor(store: StatisticsStore) {
    this.#store = store;
  }

  progress(): Promise<StatisticsProgress> {
    return this.#store.progress();
  }

  /** Throws InvalidRequestError where that would be more than one answer may take. */
  async rows(
    query: { readonly kind: FactKind; readonly of: StatisticsOf } & Span,
    more: { readonly progress: StatisticsProgress; readonly now: number },
  ): Promise<readonly StatisticsRow[]> {
    const { kind, of } = query;
    const rows: StatisticsRow[] = [];
    const named = of.level === "subjects" ? (of.subjects?.length ?? 1) : 1;
    const ranges = rangesOf(query, more);
    const seeks = ranges.reduce((sum, range) => sum + bucketsWithin(range, range.step).length, 0) * named;
    if (seeks > rowsMax) throw tooMuch();
    for (const range of ranges) {
      const page = await this.#store.read({ kind, of, ...range, limit: rowsMax - rows.length });
      if (page.next !== null) throw tooMuch();
      rows.push(...page.rows);
    }
    return rows;
  }
}

function rangesOf(
  { from, to, finest, hoursMs }: Span,
  { progress, now }: { readonly progress: StatisticsProgress; readonly now: number },
): readonly StatisticsRange[] {
  if (finest === "minute") return [{ step: "minute", from, to }];
  const { hoursUntil, daysUntil } = progress;
  const daysTo =
    finest === "day" ? Math.min(daysUntil, bucketAt(now - hoursMs, "day"), bucketAt(to, "day")) : from;
  const hoursFrom = Math.max(from, daysTo);
  const minutesFrom = Math.max(hoursFrom, hoursUntil, bucketAt(now - unaddedMsMax, "minute"));
  const ranges: StatisticsRange[] = [
    { step: "day", from, to: daysTo },
    { step: "hour", from: hoursFrom, to: Math.min(to, hoursUntil) },
    { step: "minute", from: minutesFrom, to },
  ];
  return ranges.filter((range) => range.from < range.to);
}

/** Says what to ask for instead. */
export function tooMuch(): InvalidRequestError {
  const message = "is too much for one answer: take a longer step, a shorter time, or name webhooks";
  return new InvalidRequestError(`the range ${message}`, [{ field: "step", message }]);
}

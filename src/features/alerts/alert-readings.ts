import { Counts } from "../../domain/statistics/counts.ts";
import { bucketAt, type FactKind, keys, percentile, stepMs } from "../../domain/statistics/facts.ts";
import {
  type GaugeName,
  type GaugeSpan,
  type GaugeSummary,
  summaryOf,
} from "../../domain/statistics/gauges.ts";
import type { Store } from "../../ports/store.ts";
import type { StoreDepth } from "../../ports/store/deliveries.ts";
import type { StatisticsOf, StatisticsRow } from "../../ports/store/statistics.ts";
import { attemptsOf } from "../statistics/series.ts";
import type { AlertMetric, AlertRule } from "./alert.ts";

/** Maximum rows per statistics query. Later buckets are read in the next round. */
const rowsMax = 50_000;

type StatisticsQueryOf = {
  readonly kind: FactKind;
  readonly of: StatisticsOf;
} & (
  | { readonly windowMs: number }
  | { readonly hour: number }
  | { readonly from: number; readonly to: number }
);

/** Data read in one evaluation round: buckets and counters, with each query run once. */
export class AlertReadings {
  readonly #store: Pick<Store, "statistics" | "deliveries">;
  readonly now: number;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(store: Pick<Store, "statistics" | "deliveries">, now: number) {
    this.#store = store;
    this.now = now;
  }

  /** The backlog and dead letters by tenant. */
  depth(): Promise<StoreDepth> {
    return this.#once("depth", () => this.#store.deliveries.depth());
  }

  /** Totals by subject or tenant. A query over everything returns a single entry with the key null. */
  counts(query: StatisticsQueryOf): Promise<ReadonlyMap<string | null, Counts>> {
    return this.#once(JSON.stringify(query), async () => addedUp(await this.#rows(query), query.of.level));
  }

  /** Start of the counts that are not stored yet; null if all counts are stored. */
  async unwrittenSince(): Promise<number | null> {
    return (await this.progress()).unwrittenSince;
  }

  progress() {
    return this.#once("progress", () => this.#store.statistics.progress());
  }

  /** Share of slots in use in the latest minute with data; null without data. */
  requestSlotsUsed(): Promise<number | null> {
    return this.#newest(requestSlotsUsedOf);
  }

  /** The largest value of any process in the latest minute with data; null without data. */
  largest(name: GaugeName): Promise<number | null> {
    return this.#newest((spans) => summaryOf(name, spans)?.max ?? null);
  }

  /**
   * The largest value that persisted for at least two samples of one process. Takes the minimum per process, then the
   * maximum over all processes that reported in the latest minute. A single sample may fall between two requests. Null
   * if no process took two samples.
   */
  async lasting(name: GaugeName): Promise<number | null> {
    const rows = (await this.#gaugeRows()).filter(({ span }) => span.readings[name] !== undefined);
    const newest = Math.max(...rows.map(({ start }) => start));
    const ofWriters = [...Map.groupBy(rows, ({ writer }) => writer).values()];
    const least = ofWriters.flatMap((ofWriter) => {
      if (ofWriter[0]?.start !== newest) return [];
      let [count, min] = [0, Number.POSITIVE_INFINITY];
      for (const { span } of ofWriter) {
        if (count >= samplesMin) break;
        count += span.readings[name]?.count ?? 0;
        min = Math.min(min, span.readings[name]?.min ?? min);
      }
      return count < samplesMin ? [] : [min];
    });
    return least.length === 0 ? null : Math.max(...least);
  }

  async #newest(measure: (spans: readonly GaugeSpan[]) => number | null): Promise<number | null> {
    for (const spans of await this.#gauges()) {
      const value = measure(spans);
      if (value !== null) return value;
    }
    return null;
  }

  /** The gauge samples of the last minutes, latest first. */
  async #gauges(): Promise<readonly (readonly GaugeSpan[])[]> {
    const byMinute = Map.groupBy(await this.#gaugeRows(), ({ start }) => start);
    return [...byMinute.values()].map((ofMinute) => ofMinute.map(({ span }) => span));
  }

  /** Rows per process and minute, latest first. */
  #gaugeRows(): Promise<
    readonly { readonly start: number; readonly writer: number; readonly span: GaugeSpan }[]
  > {
    return this.#once("gauges", async () => {
      const rows = await this.#store.statistics.readGauges({
        step: "minute",
        from: bucketAt(this.now, "minute") - gaugesMs,
        to: this.now + 1,
        limit: 1_000,
      });
      return rows
        .toSorted((one, other) => other.start - one.start)
        .map(({ start, writer, document }) => ({ start, writer, span: JSON.parse(document) as GaugeSpan }));
    });
  }

  async #rows(query: StatisticsQueryOf): Promise<readonly StatisticsRow[]> {
    const { kind, of } = query;
    const page = await this.#store.statistics.read({ kind, of, ...rangeOf(query, this.now), limit: rowsMax });
    return page.rows;
  }

  #once<Answer>(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key) as Promise<Answer> | undefined;
    if (known !== undefined) return known;
    const answer = ask();
    this.#answers.set(key, answer);
    return answer;
  }
}

/** Number of consecutive samples required for a reading. */
const samplesMin = 2;
/** Samples are written at the end of each minute. */
const gaugesMs = 3 * stepMs.minute;

/** Share of request slots that active or waiting requests use, whichever is larger; null if no process has slots. */
export function requestSlotsUsedOf(spans: readonly GaugeSpan[]): number | null {
  const shares = (
    [
      ["active_requests", "request_slots"],
      ["waiting_requests", "waiting_request_slots"],
    ] as const
  ).flatMap(([used, size]) => shareOf(summaryOf(used, spans), summaryOf(size, spans)));
  return shares.length === 0 ? null : Math.max(...shares);
}

function shareOf(used: GaugeSummary | null, size: GaugeSummary | null): readonly number[] {
  return used === null || size === null || size.mean === 0 ? [] : [used.mean / size.mean];
}

function rangeOf(query: StatisticsQueryOf, now: number) {
  if ("hour" in query) return { step: "hour", from: query.hour, to: query.hour + stepMs.hour } as const;
  if ("from" in query) return { step: "hour", from: query.from, to: query.to } as const;
  // Includes the current minute.
  const from = bucketAt(now, "minute") + stepMs.minute - query.windowMs;
  return { step: "minute", from, to: now + 1 } as const;
}

function addedUp(
  rows: readonly StatisticsRow[],
  level: StatisticsOf["level"],
): ReadonlyMap<string | null, Counts> {
  const sums = new Map<string | null, Counts>();
  for (const { tenantId, subject, counts } of rows) {
    const key = { all: null, tenants: tenantId, subjects: subject, named: subject }[level];
    const sum = sums.get(key) ?? new Counts();
    sum.addAll(Counts.unpack(counts));
    sums.set(key, sum);
  }
  return sums;
}

type Measured = Pick<AlertRule, "metric" | "tenantId" | "webhookId" | "eventType" | "attemptsMin">;

/** The buckets that contain the metric of a rule. */
export function bucketsOf({ metric, tenantId, webhookId, eventType }: Measured): {
  readonly kind: FactKind;
  readonly of: StatisticsOf;
} {
  const kind = metric === "published" ? "event" : "delivery";
  const subject = kind === "event" ? eventType : webhookId;
  if (subject !== null) return { kind, of: { level: "subjects", tenantId, subjects: [subject] } };
  return { kind, of: tenantId === null ? { level: "all" } : { level: "tenants", tenantIds: [tenantId] } };
}

/** The value of the metric in a window; null without data. */
export function countedValue({ metric, attemptsMin }: Measured, counts: Counts): number | null {
  const attempts = attemptsOf(counts);
  switch (metric) {
    case "attempts":
      return attempts;
    case "exhausted":
      return counts.get(keys.exhausted);
    case "published":
      return counts.get(keys.published);
    case "failure_rate":
      return attempts < Math.max(1, attemptsMin) ? null : 1 - counts.get(keys.accepted) / attempts;
    case "duration_ms_p95":
      return attempts < Math.max(1, attemptsMin) ? null : percentile(counts, "duration", 0.95);
    default:
      return null;
  }
}

/** The current value of a deployment-wide metric. */
export async function gaugeValue(metric: AlertMetric, readings: AlertReadings): Promise<number | null> {
  if (metric === "request_slots_used") return readings.requestSlotsUsed();
  const { waiting, deadLetters } = await readings.depth();
  if (metric === "waiting") return waiting.high + waiting.normal + waiting.low;
  return Iterator.from(deadLetters.values()).reduce((sum, count) => sum + count, 0);
}

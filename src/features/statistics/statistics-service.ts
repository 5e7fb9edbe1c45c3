import { Counts } from "../../domain/statistics/counts.ts";
import { type FactKind, keys, type StatisticsStep, stepMs } from "../../domain/statistics/facts.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeliveryStore, StoreDepth } from "../../ports/store/deliveries.ts";
import type {
  StatisticsOf,
  StatisticsRow,
  StatisticsStore,
  SubjectName,
} from "../../ports/store/statistics.ts";
import type { InputOf } from "../../resources/field.ts";
import {
  type DeliveryGroup,
  type DeliveryMeasure,
  deliveryStatisticsFields,
  type EventGroup,
  type EventMeasure,
  eventMeasures,
  eventStatisticsFields,
  gaugeStatisticsFields,
  groupsOfAttempts,
  statisticsSeriesMax,
} from "../../resources/statistics.ts";
import { judgeFilters } from "../searched-pages.ts";
import type { Scope } from "../services.ts";
import { isVisible, seenWebhooks, tenantFilter } from "../visibility.ts";
import {
  attemptsOf,
  deliveryMeasuresDefault,
  failureRateOf,
  type GaugePoint,
  gaugePoints,
  gaugeStep,
  type Measures,
  measured,
  pointSeconds,
  type Series,
  seriesOf,
  spanMsDefault,
  splitSeries,
  type TimeAxis,
  timeAxis,
} from "./series.ts";
import { LastDayCounts, lastDayFrom, type Span, StatisticsReader, tooMuch } from "./statistics-reader.ts";

export interface StatisticsOptions {
  readonly store: StatisticsStore;
  /** False if statistics are disabled. Earlier counts can still be read. */
  readonly isCounting: boolean;
  readonly deliveries: Pick<DeliveryStore, "depth">;
  readonly access: Pick<EngineAccess, "webhook">;
  readonly clock: Clock;
  readonly keptMs: Readonly<Record<StatisticsStep, number>>;
}

/** Null means that the value is omitted. */
type Asked<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | null };
export type DeliveryStatisticsQuery = Asked<InputOf<typeof deliveryStatisticsFields>>;
export type EventStatisticsQuery = Asked<InputOf<typeof eventStatisticsFields>>;
export type GaugeStatisticsQuery = Asked<InputOf<typeof gaugeStatisticsFields>>;

/** Times are Unix milliseconds. */
export interface GaugesView {
  readonly stepSeconds: number;
  readonly from: number;
  readonly to: number;
  readonly points: readonly GaugePoint[];
  /** Current counters of the store; the points are samples of these counters. */
  readonly now: { readonly at: number } & StoreDepth;
}

/** Times are Unix milliseconds. */
export interface StatisticsView {
  readonly stepSeconds: number;
  readonly from: number;
  readonly to: number;
  /** All counts before this time are complete. */
  readonly completeUntil: number;
  readonly lagSeconds: number;
  readonly series: readonly SeriesView[];
}

export interface SeriesView {
  /** Null for the total; `other` for all groups beyond the limit. */
  readonly key: string | null;
  readonly points: readonly PointView[];
  readonly totals: Measures;
}

export interface PointView {
  readonly at: number;
  /** Whether the point is incomplete. */
  readonly isPartial: boolean;
  readonly measures: Measures;
}

/** Statistics of a webhook over the last day. */
export interface WebhookStatistics {
  readonly from: number;
  readonly to: number;
  readonly totals: Measures;
}

/** Failures of a webhook within the last day. */
export interface WebhookFailures {
  /** Share of attempts that were not accepted, from 0 to 1, as shown in rows. */
  readonly rate: number;
  readonly failed: number;
  readonly attempts: number;
}

export class Statistics {
  readonly #options: StatisticsOptions;
  readonly #reader: StatisticsReader;
  readonly #lastDay: LastDayCounts;

  constructor(options: StatisticsOptions) {
    this.#options = options;
    this.#reader = new StatisticsReader(options.store);
    this.#lastDay = new LastDayCounts(this.#reader);
  }

  /** Attempts and deliveries over time. */
  async deliveries(scope: Scope, query: DeliveryStatisticsQuery): Promise<StatisticsView> {
    judgeFilters(deliveryStatisticsFields, query);
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const { groupBy = null } = query;
    const webhookIds = seenWebhooks(scope, query.webhookIds);
    const measures = wantedOf<DeliveryMeasure>(query.measures, deliveryMeasuresDefault);
    const isOfWebhooks = groupBy === "webhook" || (webhookIds ?? []).length > 0;
    const whose = isOfWebhooks
      ? this.#ofWebhooks(tenantId, webhookIds)
      : [ofTenants(tenantId, groupBy === "tenant")];
    const known = groupsOfAttempts.includes(groupBy ?? "") ? (["attempts"] as const) : measures;
    return this.#view("delivery", query, whose, groupBy, known);
  }

  /** Published events over time. */
  async events(scope: Scope, query: EventStatisticsQuery): Promise<StatisticsView> {
    judgeFilters(eventStatisticsFields, query);
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const { groupBy = null } = query;
    const whose: StatisticsOf =
      groupBy === "event_type"
        ? { level: "subjects", tenantId, subjects: null }
        : ofTenants(tenantId, groupBy === "tenant");
    const measures = wantedOf<EventMeasure>(query.measures, eventMeasures);
    return this.#view("event", query, [whose], groupBy, measures);
  }

  /**
   * Samples over time that processes took of themselves and of the store. For administrators only, because the samples
   * cover all tenants.
   */
  async gauges(query: GaugeStatisticsQuery): Promise<GaugesView> {
    judgeFilters(gaugeStatisticsFields, query);
    const now = this.#options.clock.now();
    const to = query.to ?? now;
    const step = query.step ?? "auto";
    const axis = timeAxis({ to, from: query.from ?? to - spanMsDefault(step), step, timeZone: "UTC" });
    const range = { step: gaugeStep(axis.step), from: axis.starts[0] ?? to, to: axis.end };
    const rows = await this.#options.store.readGauges({ ...range, limit: gaugeRowsMax + 1 });
    if (rows.length > gaugeRowsMax) throw tooMuch();
    return {
      stepSeconds: pointSeconds(axis.step),
      from: range.from,
      to: range.to,
      points: gaugePoints(rows, axis, now),
      now: { at: now, ...(await this.#options.deliveries.depth()) },
    };
  }

  /** Statistics of each of these webhooks over the last day; webhooks without counts are omitted. */
  async ofWebhooks(webhookIds: readonly string[]): Promise<ReadonlyMap<string, WebhookStatistics>> {
    const now = this.#options.clock.now();
    const from = lastDayFrom(now);
    const counts = await this.#lastDayOf(webhookIds, now);
    return new Map(
      Array.from(counts, ([id, totals]) => [
        id,
        { from, to: now, totals: measured(totals, webhookMeasures) },
      ]),
    );
  }

  /** Failures of each of these webhooks over the last day; webhooks without attempts are omitted. */
  async failuresOf(webhookIds: readonly string[]): Promise<ReadonlyMap<string, WebhookFailures>> {
    const counts = await this.#lastDayOf(webhookIds, this.#options.clock.now());
    return new Map(
      Array.from(counts).flatMap(([id, totals]) => {
        const rate = failureRateOf(totals);
        const attempts = attemptsOf(totals);
        const failed = attempts - totals.get(keys.accepted);
        return rate === null ? [] : [[id, { rate, failed, attempts }] as const];
      }),
    );
  }

  #lastDayOf(webhookIds: readonly string[], now: number): Promise<ReadonlyMap<string, Counts>> {
    return this.#lastDay.of(this.#names(webhookIds), now);
  }

  /** Number of accepted attempts of a webhook since the start of a minute; null if statistics are disabled. */
  async acceptedSince(
    webhookId: string,
    /** Start of a minute, Unix milliseconds. */ since: number,
  ): Promise<number | null> {
    if (!this.#options.isCounting) return null;
    const now = this.#options.clock.now();
    const span = { from: since, to: now, finest: "minute", now } as const;
    const rows = await this.#rowsOfWebhooks([webhookId], span);
    return rows.reduce((sum, { counts }) => sum + Counts.unpack(counts).get(keys.accepted), 0);
  }

  async #rowsOfWebhooks(
    webhookIds: readonly string[],
    { now, ...span }: Omit<Span, "hoursMs"> & { readonly now: number },
  ): Promise<readonly StatisticsRow[]> {
    const names = this.#names(webhookIds);
    if (names.length === 0) return [];
    const progress = await this.#reader.progress();
    return this.#reader.ofWebhooks(names, { span: { ...span, hoursMs: stepMs.day }, progress, now });
  }

  /** The webhooks with their tenants. Deleted webhooks are omitted. */
  #names(webhookIds: readonly string[]): readonly SubjectName[] {
    return webhookIds.flatMap((subject) => {
      const live = this.#options.access.webhook(subject);
      return live === undefined ? [] : [{ tenantId: live.webhook.tenantId, subject }];
    });
  }

  /**
   * Groups webhooks by tenant, because rows are looked up by both. Deleted webhooks are assigned to the requested
   * tenant.
   */
  #ofWebhooks(tenantId: string | null, webhookIds: readonly string[] | null): readonly StatisticsOf[] {
    if (webhookIds === null || webhookIds.length === 0)
      return [{ level: "subjects", tenantId, subjects: null }];
    const ownerOf = (id: string): string | null =>
      this.#options.access.webhook(id)?.webhook.tenantId ?? tenantId;
    const byTenant = Map.groupBy(new Set(webhookIds), ownerOf);
    return [...byTenant].flatMap(([owner, subjects]) =>
      owner === null || !isVisible({ tenantId }, owner)
        ? []
        : [{ level: "subjects" as const, tenantId: owner, subjects }],
    );
  }

  async #view(
    kind: FactKind,
    query: Omit<DeliveryStatisticsQuery, "groupBy" | "measures" | "webhookIds">,
    whose: readonly StatisticsOf[],
    groupBy: DeliveryGroup | EventGroup | null,
    measures: readonly (DeliveryMeasure | EventMeasure)[],
  ): Promise<StatisticsView> {
    const now = this.#options.clock.now();
    const to = query.to ?? now;
    const step = query.step ?? "auto";
    const timeZone = query.timeZone ?? "UTC";
    const axis = timeAxis({ to, from: query.from ?? to - spanMsDefault(step), step, timeZone });
    // How long hour buckets are kept, minus a margin.
    const hoursMs = timeZone === "UTC" ? 2 * stepMs.day : this.#options.keptMs.hour - stepMs.day;
    const finest = ({ "1m": "minute", "5m": "minute", "1h": "hour", "1d": "day" } as const)[axis.step];
    const rows = await this.#rows(kind, { whose, axis, finest, now, hoursMs });
    const whole = seriesOf(rows, axis, keyOf(groupBy));
    const split = groupBy === null ? whole : splitSeries(whole, groupBy, query.limit ?? statisticsSeriesMax);
    const completeUntil = Math.min((await this.#reader.progress()).unwrittenSince ?? now, now);
    return {
      stepSeconds: pointSeconds(axis.step),
      from: axis.starts[0] ?? to,
      to: axis.end,
      completeUntil,
      lagSeconds: (now - completeUntil) / 1_000,
      series: shown(split, axis, now, measures),
    };
  }

  async #rows(
    kind: FactKind,
    of: {
      readonly whose: readonly StatisticsOf[];
      readonly axis: TimeAxis;
      readonly finest: StatisticsStep;
      readonly now: number;
      readonly hoursMs: number;
    },
  ): Promise<readonly StatisticsRow[]> {
    const { whose, axis, finest, now, hoursMs } = of;
    const progress = await this.#reader.progress();
    const rows: StatisticsRow[] = [];
    const span = { from: axis.starts[0] ?? 0, to: axis.end, finest, hoursMs };
    for (const each of whose)
      rows.push(...(await this.#reader.rows({ kind, of: each, ...span }, { progress, now })));
    return rows;
  }
}

/** The requested names, or the default names if the request contains none. The names are already validated. */
function wantedOf<Name extends string>(
  asked: readonly string[] | null | undefined,
  otherwise: readonly Name[],
): readonly Name[] {
  const names = (asked ?? []).flatMap((entry) => entry.split(",")) as Name[];
  return names.length === 0 ? otherwise : names;
}

function ofTenants(tenantId: string | null, separately: boolean): StatisticsOf {
  if (tenantId !== null) return { level: "tenants", tenantIds: [tenantId] };
  return separately ? { level: "tenants", tenantIds: null } : { level: "all" };
}

function keyOf(groupBy: DeliveryGroup | EventGroup | null): (row: StatisticsRow) => string | null {
  if (groupBy === "webhook" || groupBy === "event_type") return ({ subject }) => subject;
  return groupBy === "tenant" ? ({ tenantId }) => tenantId : () => null;
}

/** Omits the points before the first one with a count in any series, because no earlier data exists. */
function shown(
  series: readonly Series[],
  axis: TimeAxis,
  now: number,
  measures: readonly (DeliveryMeasure | EventMeasure)[],
): readonly SeriesView[] {
  const first = Math.min(...series.flatMap(({ points }) => [...points.keys()]));
  const nothing = new Counts();
  return series.map(({ key, points, totals }) => ({
    key,
    totals: measured(totals, measures),
    points: axis.starts.flatMap((at, index) => {
      if (index < first || at > now) return [];
      const isPartial = (axis.starts[index + 1] ?? axis.end) > now;
      return [{ at, isPartial, measures: measured(points.get(index) ?? nothing, measures) }];
    }),
  }));
}

/** One day of three processes with a row per minute is about 4,000 rows of half a kilobyte. */
const gaugeRowsMax = 10_000;

const webhookMeasures = [
  "attempts",
  "accepted",
  "transient",
  "terminal",
  "failure_rate",
  "duration_ms_p50",
  "duration_ms_p95",
] as const;

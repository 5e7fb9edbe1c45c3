import { NotFoundError } from "../../domain/errors.ts";
import { messageOf } from "../../domain/thrown.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, Loop, SearchBudget } from "../../ports/clock.ts";
import { everyRequest, type GatewayStore, type ReceivedRequest } from "../../ports/store/gateway.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { type LiveTopic, liveTopicText } from "../../resources/stream.ts";
import type { Alerts, AlertView } from "../alerts/alert-service.ts";
import type { DeliveryListing } from "../deliveries/delivery-listing.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import type { DeliveryProblems, DeliveryProblemView } from "../problems/problem-service.ts";
import { requireWebhook, seesOperation } from "../visibility.ts";
import { searchBounds } from "../searched-pages.ts";
import type { ListedDelivery, Scope } from "../services.ts";
import { measuresOfNoDeliveries } from "../statistics/series.ts";
import type { PointView, Statistics } from "../statistics/statistics-service.ts";
import { DeliveriesSight, DeliverySight } from "./delivery-sight.ts";

interface OperationSightOptions {
  readonly operations: Pick<BatchOperations, "get">;
  readonly scope: Scope;
}

/** Tracks the progress of one operation. */
class OperationSight implements Sight {
  readonly #id: string;
  readonly #options: OperationSightOptions;
  #told = "";

  constructor(id: string, options: OperationSightOptions) {
    this.#id = id;
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#told = JSON.stringify(await this.#read());
  }

  /** Sends the single row again, which is harmless. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return this.#news(await this.#read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const operation = await this.#read();
    const text = JSON.stringify(operation);
    if (text === this.#told) return [];
    this.#told = text;
    return this.#news(operation);
  }

  #news(operation: BatchOperation): readonly LiveNews[] {
    return [{ kind: "operation", topic: { kind: "operation", id: this.#id }, operation }];
  }

  async #read(): Promise<BatchOperation> {
    const { operations, scope } = this.#options;
    const operation = await operations.get(scope, this.#id);
    if (!seesOperation(scope, operation)) throw new NotFoundError("the batch operation");
    return operation;
  }
}

/** A short list that is polled as a whole. */
interface RowSightOptions<Row> {
  readonly read: () => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** A row has changed if this string differs. */
  readonly textOf: (row: Row) => string;
  readonly newsOf: (rows: readonly Row[]) => LiveNews;
}

/** Number of latest rows that are polled. */
const sightRowsMax = 50;

/** Tracks the latest visible rows of a list and reports new and changed ones. */
class RowSight<Row> implements Sight {
  readonly #options: RowSightOptions<Row>;
  #told = new Map<string, string>();

  constructor(options: RowSightOptions<Row>) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.look();
  }

  /** Sends the few rows again, which is harmless. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return this.#news(await this.#options.read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const { read, idOf, textOf } = this.#options;
    const rows = await read();
    const now = new Map(rows.map((row) => [idOf(row), textOf(row)]));
    const changed = rows.filter((row) => now.get(idOf(row)) !== this.#told.get(idOf(row)));
    this.#told = now;
    return this.#news(changed);
  }

  #news(rows: readonly Row[]): readonly LiveNews[] {
    return rows.length === 0 ? [] : [this.#options.newsOf(rows)];
  }
}

export interface LiveFeedOptions {
  readonly access: Pick<EngineAccess, "webhook" | "refresh">;
  readonly listing: Pick<DeliveryListing, "page" | "byIds">;
  readonly operations: Pick<BatchOperations, "get">;
  readonly alerts: Pick<Alerts, "list">;
  readonly problems: Pick<DeliveryProblems, "list">;
  readonly requests: Pick<GatewayStore, "searchRequests">;
  readonly statistics: Pick<Statistics, "deliveries" | "events">;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, "log">;
}

/** A subscription. */
interface LiveWatch {
  close(): void;
}

interface Watched {
  readonly sight: Sight;
  /** Resolves after the first poll. */
  readonly begun: Promise<void>;
  readonly listeners: Set<LiveListener>;
}

const lookEveryMs = 1_000;
const statisticsMs = 300_000;
const anyStatistics = {
  tenantId: null,
  to: null,
  timeZone: null,
  limit: null,
  groupBy: null,
  webhookIds: null,
  measures: null,
} as const;

/**
 * Sends changes to listeners. It polls the store once per second, and only once for all listeners of the same topic. It
 * is not involved in processing events, works with any number of delivering processes, and costs nothing without
 * listeners.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #looks: Loop;
  #clients = 0;

  constructor(options: LiveFeedOptions) {
    const { clock, telemetry } = options;
    this.#options = options;
    this.#looks = new Loop({
      clock,
      round: () => this.#round(),
      failed: (error) => telemetry.log.warn({ err: messageOf(error) }, "live stream update failed"),
    });
  }

  /** Number of listeners. */
  get clients(): number {
    return this.#clients;
  }

  /**
   * Subscribes a listener to a topic. `since` is the time up to which the listener has received changes, in Unix
   * milliseconds; changes that it missed are sent first. Rejects with `not_found` for a topic outside the scope.
   */
  async watch(
    scope: Scope,
    topics: readonly LiveTopic[],
    since: number | null,
    listener: LiveListener,
  ): Promise<LiveWatch> {
    const watches: LiveWatch[] = [];
    this.#clients += 1;
    const watch = {
      close: () => {
        for (const each of watches.splice(0)) each.close();
        this.#clients -= 1;
      },
    };
    try {
      for (const topic of topics) watches.push(await this.#join(scope, topic, listener));
      if (since === null) return watch;
      for (const topic of topics) {
        const missed = await this.#watched.get(keyOf(scope, topic))?.sight.missedSince(since);
        for (const news of missed ?? []) listener.told(news);
      }
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  stop(): Promise<void> {
    this.#watched.clear();
    return this.#looks.stop();
  }

  async #join(scope: Scope, topic: LiveTopic, listener: LiveListener): Promise<LiveWatch> {
    const key = keyOf(scope, topic);
    const watched = this.#watched.get(key) ?? this.#begin(scope, topic, key);
    watched.listeners.add(listener);
    const close = (): void => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key);
    };
    try {
      await watched.begun;
    } catch (error) {
      close();
      throw error;
    }
    this.#looks.soon(lookEveryMs);
    return { close };
  }

  #begin(scope: Scope, topic: LiveTopic, key: string): Watched {
    const sight = this.#sightOf(scope, topic);
    const begun = this.#requireTopic(scope, topic).then(() => sight.begin());
    const watched: Watched = { sight, begun, listeners: new Set() };
    this.#watched.set(key, watched);
    return watched;
  }

  async #requireTopic(scope: Scope, topic: LiveTopic): Promise<void> {
    if (topic.kind !== "deliveries" || topic.webhookId === null) return;
    await this.#options.access.refresh([topic.webhookId]);
    requireWebhook(this.#options.access, scope, topic.webhookId);
  }

  #sightOf(scope: Scope, topic: LiveTopic): Sight {
    const { listing, operations } = this.#options;
    if (topic.kind === "deliveries") return new DeliveriesSight(topic.webhookId, { listing, scope });
    if (topic.kind === "delivery") return new DeliverySight(topic.id, { listing, scope });
    if (topic.kind === "alerts") return this.#alertSight(scope);
    if (topic.kind === "problems") return this.#problemSight(scope);
    if (topic.kind === "requests") return this.#requestSight(scope);
    if (topic.kind === "stats") return this.#statisticsSight(scope);
    return new OperationSight(topic.id, { operations, scope });
  }

  #alertSight(scope: Scope): Sight {
    const { alerts } = this.#options;
    const page = { limit: sightRowsMax, before: null, offset: 0 };
    return new RowSight({
      read: async () => (await alerts.list(scope, { states: null, rule: null, tenantId: null, page })).rows,
      idOf: ({ alert }) => alert.id,
      // A later evaluation time alone does not count as a change.
      textOf: ({ alert, mutedUntil, muteReason }) =>
        JSON.stringify({ ...alert, lastHeldAt: 0, mutedUntil, muteReason }),
      newsOf: (rows) => ({ kind: "alerts", topic: { kind: "alerts" }, rows }),
    });
  }

  /** Tracks problems, sorted by last change, so that changed rows are among the rows that are read. */
  #problemSight(scope: Scope): Sight {
    const page = { limit: sightRowsMax, after: null, offset: 0 };
    return new RowSight({
      read: async () => (await this.#options.problems.list(scope, { page })).rows,
      idOf: ({ problem }) => problem.id,
      textOf: ({ problem, state, mute }) => JSON.stringify({ ...problem, recent: null, state, mute }),
      newsOf: (rows) => ({ kind: "problems", topic: { kind: "problems" }, rows }),
    });
  }

  /** Tracks the request log. Requests appear in the log shortly after their response. */
  #requestSight({ tenantId }: Scope): Sight {
    const { requests, clock } = this.#options;
    const search = { filter: { ...everyRequest, tenantId }, after: null, limit: sightRowsMax };
    return new RowSight({
      read: async () => {
        const budget = new SearchBudget(clock, searchBounds);
        return (await requests.searchRequests({ ...search, budget })).rows;
      },
      idOf: ({ id }) => id,
      textOf: (request) => JSON.stringify(request),
      newsOf: (rows) => ({
        kind: "requests",
        topic: { kind: "requests" },
        rows,
        leftOut: rows.length === sightRowsMax,
      }),
    });
  }

  /**
   * Tracks the minutes whose counts changed since they were sent: the current minute, and earlier ones with late
   * counts.
   */
  #statisticsSight(scope: Scope): Sight {
    const { statistics, clock } = this.#options;
    return new RowSight({
      read: async () => {
        const query = { ...anyStatistics, from: clock.now() - statisticsMs, step: "1m" } as const;
        const sent = (await statistics.deliveries(scope, query)).series[0]?.points ?? [];
        // Customers see their own deliveries, not published events.
        if (scope.portal !== undefined) return sent;
        const accepted = (await statistics.events(scope, query)).series[0]?.points ?? [];
        return withPublished(sent, accepted);
      },
      idOf: ({ at }) => String(at),
      textOf: (point) => JSON.stringify(point),
      newsOf: (rows) => ({ kind: "stats", topic: { kind: "stats" }, rows }),
    });
  }

  /** Polls sequentially, so that many listeners cause no more load on the store than a few. */
  async #round(): Promise<void> {
    for (const { sight, begun, listeners } of [...this.#watched.values()]) {
      await begun.then(
        () => this.#tell(sight, listeners),
        () => undefined,
      );
    }
    if (this.#watched.size > 0) this.#looks.soon(lookEveryMs);
  }

  async #tell(sight: Sight, listeners: ReadonlySet<LiveListener>): Promise<void> {
    let news: readonly LiveNews[];
    try {
      news = await sight.look();
    } catch (error) {
      // The next poll will include these changes.
      this.#options.telemetry.log.debug({ err: messageOf(error) }, "poll for live stream changes failed");
      return;
    }
    for (const each of news) for (const listener of listeners) listener.told(each);
  }
}

/** Listeners that see the same rows share a poll. */
function keyOf({ tenantId, portal }: Scope, topic: LiveTopic): string {
  const customer = portal === undefined ? "" : `customer:${[...(portal.webhookIds ?? [])].toSorted().join()}`;
  return `${tenantId ?? ""} ${customer} ${liveTopicText(topic)}`;
}

/**
 * Adds published events, including those of minutes in which nothing was sent. Such events may have no receivers, or
 * may be sent in the next minute.
 */
function withPublished(sent: readonly PointView[], accepted: readonly PointView[]): readonly PointView[] {
  const published = new Map(accepted.map(({ at, measures }) => [at, measures["published"] ?? null]));
  const told = new Set(sent.map(({ at }) => at));
  const unsent = accepted
    .filter(({ at }) => !told.has(at))
    .map(({ at, isPartial }) => ({ at, isPartial, measures: measuresOfNoDeliveries }));
  return [...unsent, ...sent].map(({ at, isPartial, measures }) => {
    const all = { ...measures, published: published.get(at) ?? null };
    return { at, isPartial, measures: all };
  });
}

/** A change of a topic. */
export type LiveNews =
  | {
      readonly kind: "deliveries";
      readonly topic: LiveTopic;
      /** New and changed rows in their current state. */
      readonly rows: readonly ListedDelivery[];
      /** Whether there were more new rows than were sent. */
      readonly leftOut: boolean;
    }
  | { readonly kind: "alerts"; readonly topic: LiveTopic; readonly rows: readonly AlertView[] }
  | {
      readonly kind: "problems";
      readonly topic: LiveTopic;
      readonly rows: readonly DeliveryProblemView[];
    }
  | {
      readonly kind: "requests";
      readonly topic: LiveTopic;
      readonly rows: readonly ReceivedRequest[];
      /** Whether there were more new rows than were sent. */
      readonly leftOut: boolean;
    }
  | {
      readonly kind: "stats";
      readonly topic: LiveTopic;
      readonly rows: readonly PointView[];
    }
  | { readonly kind: "operation"; readonly topic: LiveTopic; readonly operation: BatchOperation }
  /** The changes since the last message cannot be determined: the client must reload everything. */
  | { readonly kind: "reset"; readonly topic: LiveTopic };

/** A receiver of changes. */
export interface LiveListener {
  told(news: LiveNews): void;
}

/** A topic that is polled for all its listeners. */
export interface Sight {
  /** The first poll, which reports no changes. Rejects with `not_found` for a topic outside the scope. */
  begin(): Promise<void>;
  /** Changes since the last poll. */
  look(): Promise<readonly LiveNews[]>;
  /**
   * For a listener that reconnects: the changes after this time (Unix milliseconds). Some of them may be sent again.
   */
  missedSince(since: number): Promise<readonly LiveNews[]>;
}

import type { AttemptRecord } from "../../../src/domain/delivery.ts";
import type { FailureCategory } from "../../../src/domain/classify.ts";
import type { Page, PageRequest } from "../../../src/ports/store.ts";
import type {
  AttemptStats,
  Backlog,
  DeadLetterQuery,
  DeliveryQuery,
  EventSummary,
  HistoryStore,
  OperationDeliveries,
  StoredDelivery,
  StoredEvent,
  WaitingCount,
  WaitingQuery,
} from "../../../src/ports/store/history.ts";
import type { DeliverySearch, EventSearch, SearchPage } from "../../../src/ports/store/search.ts";
import { type DeliveryRow, type EventRow, type Rows, storedDelivery, storedEvent } from "./rows.ts";
import { searchEventModel, searchModel } from "./searches.ts";

const statsAttemptsMax = 10_000;

export class ModelHistory implements HistoryStore {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async getEvent(tenantId: string | null, id: string): Promise<StoredEvent | null> {
    const row = this.#rows.events.get(id);
    return row === undefined || !isOf(row, tenantId) ? null : storedEvent(row);
  }

  async searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>> {
    return searchEventModel(this.#rows, search);
  }

  async getDelivery(tenantId: string | null, id: string): Promise<StoredDelivery | null> {
    const row = this.#rows.deliveries.get(id);
    return row === undefined || !isOf(row.event, tenantId) ? null : storedDelivery(row);
  }

  async getDeliveries(tenantId: string | null, ids: readonly string[]): Promise<readonly StoredDelivery[]> {
    const found = await Promise.all(ids.map((id) => this.getDelivery(tenantId, id)));
    return found.filter((delivery) => delivery !== null);
  }

  async payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(eventIds.filter((id) => this.#rows.events.get(id)?.body === null));
  }

  async listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]> {
    return [...(this.#rows.deliveries.get(deliveryId)?.attempts ?? [])];
  }

  async sentByOperation(): Promise<OperationDeliveries> {
    return { states: {}, next: null };
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<StoredDelivery>> {
    return pageOf(this.#deliveries(query).map(storedDelivery), query.page);
  }

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return searchModel(this.#rows, search);
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<StoredDelivery>> {
    return pageOf(this.#deadLetters(query).map(storedDelivery), query.page);
  }

  async countDeadLetters(
    query: Omit<DeadLetterQuery, "page"> & { readonly countMax: number },
  ): Promise<number> {
    return Math.min(query.countMax, this.#deadLetters(query).length);
  }

  async countDeliveries(query: Omit<DeliveryQuery, "page"> & { readonly countMax: number }): Promise<number> {
    return Math.min(query.countMax, this.#deliveries(query).length);
  }

  async backlog(webhookId: string, countMax: number): Promise<Backlog> {
    const waiting = { high: 0, normal: 0, low: 0 };
    const rows = [...this.#rows.waiting()].filter((row) => row.lane.webhookId === webhookId);
    const counted = rows.slice(0, countMax);
    for (const { priority } of counted) waiting[priority] += 1;
    const created = counted.map(({ progress }) => progress.createdAt);
    const oldestCreatedAt = created.length === 0 ? null : Math.min(...created);
    return { waiting, isMore: rows.length > countMax, oldestCreatedAt };
  }

  async waitingOf({ webhookIds, countMax }: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>> {
    const counts = new Map<string, WaitingCount>();
    for (const webhookId of webhookIds) {
      const { waiting, isMore, oldestCreatedAt } = await this.backlog(webhookId, countMax);
      const total = waiting.high + waiting.normal + waiting.low;
      if (oldestCreatedAt !== null) counts.set(webhookId, { total, isMore, oldestCreatedAt });
    }
    return counts;
  }

  async attemptStats(webhookId: string, since: number): Promise<AttemptStats> {
    const attempts = [...this.#rows.deliveries.values()]
      .filter((row) => row.lane.webhookId === webhookId)
      .flatMap((row) => row.attempts)
      .filter((attempt) => attempt.executedAt >= since)
      .toSorted((a, b) => b.executedAt - a.executedAt)
      .slice(0, statsAttemptsMax);
    const byCategory: Partial<Record<FailureCategory, number>> = {};
    for (const { category } of attempts)
      if (category !== null) byCategory[category] = (byCategory[category] ?? 0) + 1;
    const durations = attempts.map((attempt) => attempt.durationMs).toSorted((a, b) => a - b);
    const count = (outcome: AttemptRecord["outcome"]): number =>
      attempts.filter((attempt) => attempt.outcome === outcome).length;
    return {
      total: attempts.length,
      accepted: count("accepted"),
      transient: count("transient"),
      terminal: count("terminal"),
      byCategory,
      durationMsP50: percentile(durations, 0.5),
      durationMsP95: percentile(durations, 0.95),
      lastAttemptAt: attempts[0]?.executedAt ?? null,
    };
  }

  #deliveries(query: Omit<DeliveryQuery, "page">): DeliveryRow[] {
    return [...this.#rows.deliveries.values()].filter(
      (row) =>
        isOf(row.event, query.tenantId) &&
        (query.webhookId === null || row.lane.webhookId === query.webhookId) &&
        (query.eventId === null || row.event.event.id === query.eventId) &&
        (query.states === null || query.states.includes(row.progress.state)) &&
        isBetween(row.progress.createdAt, query),
    );
  }

  #deadLetters(query: Omit<DeadLetterQuery, "page">): DeliveryRow[] {
    return [...this.#rows.deliveries.values()].filter(
      (row) =>
        row.progress.state === "exhausted" &&
        isOf(row.event, query.tenantId) &&
        (query.webhookIds === null || query.webhookIds.includes(row.lane.webhookId)) &&
        (query.eventTypes === null || query.eventTypes.includes(row.event.event.eventType)) &&
        (query.categories === null || (row.category !== null && query.categories.includes(row.category))) &&
        isBetween(row.progress.createdAt, query),
    );
  }
}

function isOf(event: EventRow, tenantId: string | null): boolean {
  return tenantId === null || event.event.tenantId === tenantId;
}

function isBetween(
  time: number,
  range: { readonly from: number | null; readonly to: number | null },
): boolean {
  return (range.from === null || time >= range.from) && (range.to === null || time < range.to);
}

/** Newest first. */
function pageOf<Row extends { readonly position: number }>(
  all: readonly Row[],
  page: PageRequest,
): Page<Row> {
  const newestFirst = all
    .filter((row) => page.before === null || row.position < page.before)
    .toSorted((a, b) => b.position - a.position)
    .slice(page.offset);
  const rows = newestFirst.slice(0, page.limit);
  return { rows, next: newestFirst.length > rows.length ? (rows.at(-1)?.position ?? null) : null };
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

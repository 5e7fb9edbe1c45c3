import type { AttemptRecord } from "../../../src/domain/delivery.ts";
import type { FailureCategory } from "../../../src/domain/classify.ts";
import { unlimitedBudget } from "../../../src/ports/clock.ts";
import type {
  AttemptStats,
  Backlog,
  EventSummary,
  HistoryStore,
  OperationDeliveries,
  StoredDelivery,
  StoredEvent,
  WaitingCount,
  WaitingQuery,
} from "../../../src/ports/store/history.ts";
import type {
  DeliveryFilter,
  DeliverySearch,
  EventSearch,
  SearchPage,
} from "../../../src/ports/store/search.ts";
import { type EventRow, type Rows, storedDelivery, storedEvent } from "./rows.ts";
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

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return searchModel(this.#rows, search);
  }

  async countDeliveries(filter: DeliveryFilter, limit: number): Promise<number> {
    return searchModel(this.#rows, { filter, order: "newest", after: null, limit, budget: unlimitedBudget })
      .rows.length;
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
}

function isOf(event: EventRow, tenantId: string | null): boolean {
  return tenantId === null || event.event.tenantId === tenantId;
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

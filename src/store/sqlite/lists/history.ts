import type { StatementSync } from "node:sqlite";
import type { AttemptRecord } from "../../../domain/delivery.ts";
import type {
  AttemptStats,
  Backlog,
  EventSummary,
  HistoryStore,
  OperationDeliveries,
  OperationDeliveriesQuery,
  StoredDelivery,
  StoredEvent,
  WaitingCount,
  WaitingQuery,
} from "../../../ports/store/history.ts";
import type { DeliveryFilter, DeliverySearch, EventSearch, SearchPage } from "../../../ports/store/search.ts";
import { countedByState, ownedBy } from "../../history-rows.ts";
import { StatementCache } from "../driver/connection.ts";
import type { StoreState } from "../state.ts";
import { AttemptReader, HistoryRows } from "./history-rows.ts";
import { BacklogCounter } from "./backlog.ts";
import { DeliverySearches, EventSearches } from "./delivery-searches.ts";

/** Interactive queries. search-walk.ts and chunks.ts describe how searches stay fast without an index per filter. */
export class SqliteHistory implements HistoryStore {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;
  readonly #attempts: AttemptReader;
  readonly #searches: DeliverySearches;
  readonly #events: EventSearches;
  readonly #tenantOf: StatementSync;
  readonly #payloadsGone: StatementSync;
  readonly #byOperation: StatementSync;
  readonly #backlog: BacklogCounter;

  constructor(state: StoreState) {
    this.#state = state;
    this.#rows = new HistoryRows(state);
    const statements = new StatementCache(state.connection);
    this.#searches = new DeliverySearches(state, statements, this.#rows);
    this.#events = new EventSearches(state, statements, this.#rows);
    this.#backlog = new BacklogCounter(state);
    this.#attempts = new AttemptReader(state);
    this.#tenantOf = state.connection.prepare("SELECT tenant FROM webhooks WHERE id = ?");
    this.#byOperation = state.connection.prepare(
      "SELECT seq, state FROM deliveries WHERE operation = ? AND seq > ? ORDER BY seq LIMIT ?",
    );
    this.#payloadsGone = state.connection.prepare(
      "SELECT e.id FROM json_each(?) g CROSS JOIN events e ON e.id = g.value WHERE e.body IS NULL",
    );
  }

  async getEvent(tenantId: string | null, id: string): Promise<StoredEvent | null> {
    const event = this.#state.connection.read(() => this.#rows.eventById(id));
    return ownedBy(tenantId, event);
  }

  async searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>> {
    return this.#events.page(search);
  }

  async getDelivery(tenantId: string | null, id: string): Promise<StoredDelivery | null> {
    const delivery = this.#state.connection.read(() => this.#rows.deliveryById(id));
    return ownedBy(tenantId, delivery);
  }

  async getDeliveries(tenantId: string | null, ids: readonly string[]): Promise<readonly StoredDelivery[]> {
    return this.#state.connection.read(() =>
      ids.map((id) => ownedBy(tenantId, this.#rows.deliveryById(id))).filter((delivery) => delivery !== null),
    );
  }

  async payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { connection } = this.#state;
    const rows = connection.read(() => this.#payloadsGone.all(JSON.stringify(eventIds)));
    return new Set((rows as unknown as [id: string][]).map(([id]) => id));
  }

  async sentByOperation(query: OperationDeliveriesQuery): Promise<OperationDeliveries> {
    const { operationId, after, limit } = query;
    const rows = this.#state.connection.read(() => this.#byOperation.all(operationId, after ?? 0, limit + 1));
    return countedByState(rows as unknown as [seq: number, state: number][], limit);
  }

  async listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]> {
    return this.#state.connection.read(() => this.#attempts.ofDelivery(deliveryId));
  }

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return this.#searches.page(search);
  }

  async countDeliveries(filter: DeliveryFilter, countMax: number): Promise<number> {
    return this.#searches.count(filter, countMax);
  }

  async backlog(webhookId: string, countMax: number): Promise<Backlog> {
    return this.#backlog.count(webhookId, countMax);
  }

  async waitingOf(query: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>> {
    return this.#backlog.countOfEach(query);
  }

  async attemptStats(webhookId: string, since: number): Promise<AttemptStats> {
    return this.#attempts.stats(
      webhookId,
      this.#state.connection.read(() => this.#webhookTenant(webhookId)),
      since,
    );
  }

  #webhookTenant(webhookId: string): string | null {
    const row = this.#tenantOf.get(webhookId) as unknown as [tenant: string] | undefined;
    return row?.[0] ?? null;
  }
}

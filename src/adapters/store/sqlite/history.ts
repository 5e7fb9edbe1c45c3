import type { StatementSync } from "node:sqlite";
import type { AttemptRecord } from "../../../core/delivery.ts";
import type { Page } from "../../../ports/store.ts";
import type {
  AttemptStats,
  Backlog,
  DeadLetterQuery,
  DeliveryQuery,
  EventSummary,
  HistoryStore,
  OperationDeliveries,
  OperationDeliveriesQuery,
  StoredDelivery,
  StoredEvent,
  WaitingCount,
  WaitingQuery,
} from "../../../ports/store/history.ts";
import { AttemptReader } from "./attempts.ts";
import { BacklogCounter } from "./backlog.ts";
import { countedByState } from "../history-rows.ts";
import { HistoryRows } from "./history-rows.ts";
import { deadLetterWalk, deliveryWalk, type WalkContext } from "./listings.ts";
import { StatementCache } from "./statement-cache.ts";
import type { DeliverySearch, EventSearch, SearchPage } from "../../../ports/store/search.ts";
import { DeliverySearches } from "./search/delivery-searches.ts";
import { EventSearches } from "./search/event-searches.ts";
import type { StoreState } from "./state.ts";
import { collectSeqs, readPage, type Walk } from "./walk.ts";

/** Reads for people. walk.ts and chunks.ts describe how listings stay fast without an index per filter. */
export class SqliteHistory implements HistoryStore {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;
  readonly #attempts: AttemptReader;
  readonly #walks: WalkContext;
  readonly #searches: DeliverySearches;
  readonly #events: EventSearches;
  readonly #tenantOf: StatementSync;
  readonly #payloadsGone: StatementSync;
  readonly #byOperation: StatementSync;
  readonly #backlog: BacklogCounter;

  constructor(state: StoreState) {
    this.#state = state;
    this.#rows = new HistoryRows(state);
    this.#walks = { state, statements: new StatementCache(state.connection) };
    this.#searches = new DeliverySearches({ ...this.#walks, rows: this.#rows });
    this.#events = new EventSearches({ ...this.#walks, rows: this.#rows });
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

  async listDeliveries(query: DeliveryQuery): Promise<Page<StoredDelivery>> {
    return this.#deliveryPage(
      this.#plan(() => this.#deliveryWalk(query)),
      query.page,
    );
  }

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return this.#searches.page(search);
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<StoredDelivery>> {
    return this.#deliveryPage(
      this.#plan(() => this.#deadLetterWalk(query)),
      query.page,
    );
  }

  async countDeadLetters(
    query: Omit<DeadLetterQuery, "page"> & { readonly countMax: number },
  ): Promise<number> {
    return this.#count(
      this.#plan(() => this.#deadLetterWalk(query)),
      query.countMax,
    );
  }

  async countDeliveries(query: Omit<DeliveryQuery, "page"> & { readonly countMax: number }): Promise<number> {
    return this.#count(
      this.#plan(() => this.#deliveryWalk(query)),
      query.countMax,
    );
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
      this.#plan(() => this.#webhookTenant(webhookId)),
      since,
    );
  }

  #deliveryWalk(query: Omit<DeliveryQuery, "page">): Walk | null {
    const tenantIds = new Set<string>();
    if (query.tenantId !== null) tenantIds.add(query.tenantId);
    const owner = query.webhookId === null ? null : this.#webhookTenant(query.webhookId);
    if (owner !== null) tenantIds.add(owner);
    return deliveryWalk(this.#walks, query, [...tenantIds]);
  }

  /** Dead letters of webhooks are found among those of their tenants. */
  #deadLetterWalk(query: Omit<DeadLetterQuery, "page">): Walk | null {
    const owners = query.webhookIds?.map((id) => this.#webhookTenant(id)) ?? [null];
    const known = owners.filter((owner) => owner !== null);
    const tenantIds = query.tenantId === null ? known : [query.tenantId];
    const areAll = query.tenantId !== null || known.length === owners.length;
    return deadLetterWalk(this.#walks, query, areAll ? [...new Set(tenantIds)] : null);
  }

  #webhookTenant(webhookId: string): string | null {
    const row = this.#tenantOf.get(webhookId) as unknown as [tenant: string] | undefined;
    return row?.[0] ?? null;
  }

  #plan<Result>(make: () => Result): Result {
    return this.#state.connection.read(make);
  }

  async #deliveryPage(walk: Walk | null, page: DeliveryQuery["page"]): Promise<Page<StoredDelivery>> {
    if (walk === null) return noRows;
    return readPage(this.#state.connection, walk, page, (seq) => this.#rows.delivery(seq));
  }

  async #count(walk: Walk | null, countMax: number): Promise<number> {
    if (walk === null) return 0;
    return (await collectSeqs(this.#state.connection, walk, { before: null, limit: countMax })).length;
  }
}

const noRows = { rows: [], next: null };

/** Rows of other tenants count as missing. */
function ownedBy<Row extends { readonly tenantId: string }>(
  tenantId: string | null,
  row: Row | null,
): Row | null {
  return row === null || (tenantId !== null && row.tenantId !== tenantId) ? null : row;
}

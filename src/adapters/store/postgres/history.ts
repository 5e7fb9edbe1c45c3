import type { AttemptRecord } from "../../../core/delivery.ts";
import type { Page, PageRequest } from "../../../ports/store.ts";
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
import { countedByState } from "../history-rows.ts";
import type { DeliveryRow, EventRow } from "../history-rows.ts";
import { attemptStats, attemptsOf } from "./attempts.ts";
import { isStoredId, plainWords } from "./columns.ts";
import { deadLetterFilter, deliveryFilter, type Filter } from "./filters.ts";
import { deliveryColumns, eventColumns, HistoryRows, ofDelivery } from "./history-rows.ts";
import type { DeliverySearch, EventSearch, SearchPage } from "../../../ports/store/search.ts";
import { DeliverySearches } from "./search/delivery-searches.ts";
import { EventSearches } from "./search/event-searches.ts";
import { backlogOfWebhook, waitingOfWebhooks } from "./backlog.ts";
import type { StoreState } from "./state.ts";

/** A listing: its columns, its tables, and its position column. */
interface Listing {
  readonly columns: string;
  readonly from: string;
  readonly position: string;
}

const events: Omit<Listing, "position"> = { columns: eventColumns, from: "posthorn.events e" };
const deliveries: Listing = {
  columns: deliveryColumns,
  from: `posthorn.deliveries d ${ofDelivery}`,
  position: "d.seq",
};
const deadLetters: Listing = {
  columns: deliveryColumns,
  from: `posthorn.dead_letters l JOIN posthorn.deliveries d ON d.seq = l.delivery
    ${ofDelivery}`,
  position: "l.delivery",
};

/** Reads for people, over the maintenance pool. */
export class PostgresHistory implements HistoryStore {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;
  readonly #searches: DeliverySearches;
  readonly #events: EventSearches;

  constructor(state: StoreState) {
    this.#state = state;
    this.#rows = new HistoryRows(state.strings, state.lanes);
    this.#searches = new DeliverySearches(state, this.#rows);
    this.#events = new EventSearches(state, this.#rows);
  }

  async getEvent(tenantId: string | null, id: string): Promise<StoredEvent | null> {
    const rows = await this.#byId<EventRow>(events, "e.id", id);
    return ownedBy(tenantId, await this.#rows.events(rows));
  }

  async searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>> {
    return this.#events.page(search);
  }

  async getDelivery(tenantId: string | null, id: string): Promise<StoredDelivery | null> {
    const rows = await this.#byId<DeliveryRow>(deliveries, "d.id", id);
    return ownedBy(tenantId, await this.#rows.deliveries(rows));
  }

  async getDeliveries(tenantId: string | null, ids: readonly string[]): Promise<readonly StoredDelivery[]> {
    const { columns, from } = deliveries;
    const rows = await this.#state.aside.rows<DeliveryRow>(
      `SELECT ${columns} FROM ${from} WHERE d.id = ANY ($1::uuid[])`,
      [plainWords(ids.filter(isStoredId))],
    );
    const found = await this.#rows.deliveries(rows);
    return found.filter((row) => tenantId === null || row.tenantId === tenantId);
  }

  async payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#state.aside.rows<[id: string]>(
      "SELECT id FROM posthorn.events WHERE id = ANY ($1::uuid[]) AND body IS NULL",
      [plainWords(eventIds.filter(isStoredId))],
    );
    return new Set(rows.map(([id]) => id));
  }

  async sentByOperation(query: OperationDeliveriesQuery): Promise<OperationDeliveries> {
    const { operationId, after, limit } = query;
    if (!isStoredId(operationId)) return { states: {}, next: null };
    const rows = await this.#state.aside.rows<[seq: number, state: number]>(
      "SELECT seq, state FROM posthorn.deliveries WHERE operation = $1::uuid AND seq > $2 ORDER BY seq LIMIT $3",
      [operationId, after ?? 0, limit + 1],
    );
    return countedByState(rows, limit);
  }

  async listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]> {
    return attemptsOf(this.#state, deliveryId);
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<StoredDelivery>> {
    const filter = await deliveryFilter(this.#state.strings, query);
    const { rows, next } = await this.#page<DeliveryRow>(deliveries, filter, query.page);
    return { rows: await this.#rows.deliveries(rows), next };
  }

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return this.#searches.page(search);
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<StoredDelivery>> {
    const filter = await deadLetterFilter(this.#state.strings, query);
    const { rows, next } = await this.#page<DeliveryRow>(deadLetters, filter, query.page);
    return { rows: await this.#rows.deliveries(rows), next };
  }

  async countDeadLetters(
    query: Omit<DeadLetterQuery, "page"> & { readonly countMax: number },
  ): Promise<number> {
    const filter = await deadLetterFilter(this.#state.strings, query);
    return this.#count(deadLetters, filter, query.countMax);
  }

  async countDeliveries(query: Omit<DeliveryQuery, "page"> & { readonly countMax: number }): Promise<number> {
    const filter = await deliveryFilter(this.#state.strings, query);
    return this.#count(deliveries, filter, query.countMax);
  }

  async backlog(webhookId: string, countMax: number): Promise<Backlog> {
    return backlogOfWebhook(this.#state, webhookId, countMax);
  }

  async waitingOf(query: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>> {
    return waitingOfWebhooks(this.#state, query);
  }

  async attemptStats(webhookId: string, since: number): Promise<AttemptStats> {
    return attemptStats(this.#state, webhookId, since);
  }

  async #byId<Row extends readonly unknown[]>(
    { columns, from }: Omit<Listing, "position">,
    column: string,
    id: string,
  ): Promise<readonly Row[]> {
    if (!isStoredId(id)) return [];
    return this.#state.aside.rows<Row>(`SELECT ${columns} FROM ${from} WHERE ${column} = $1::uuid LIMIT 1`, [
      id,
    ]);
  }

  async #page<Row extends readonly [position: number, ...columns: unknown[]]>(
    { columns, from, position }: Listing,
    filter: Filter | null,
    page: PageRequest,
  ): Promise<Page<Row>> {
    if (filter === null) return { rows: [], next: null };
    const at = filter.values.length;
    // One row more than the limit shows whether there is an older one.
    const rows = await this.#state.aside.rows<Row>(
      `SELECT ${columns} FROM ${from} WHERE ${filter.where} AND ${position} < $${at + 1}
       ORDER BY ${position} DESC LIMIT $${at + 2} OFFSET $${at + 3}`,
      [...filter.values, page.before ?? Number.MAX_SAFE_INTEGER, page.limit + 1, page.offset],
    );
    const shown = rows.slice(0, page.limit);
    return { rows: shown, next: rows.length > page.limit ? (shown.at(-1)?.[0] ?? null) : null };
  }

  async #count({ from }: Listing, filter: Filter | null, countMax: number): Promise<number> {
    if (filter === null) return 0;
    const [row] = await this.#state.aside.rows<[count: number]>(
      `SELECT count(*) FROM (SELECT FROM ${from} WHERE ${filter.where} LIMIT $${filter.values.length + 1}) AS found`,
      [...filter.values, countMax],
    );
    return row?.[0] ?? 0;
  }
}

/** Rows of other tenants count as missing. */
function ownedBy<Row extends { readonly tenantId: string }>(
  tenantId: string | null,
  rows: readonly Row[],
): Row | null {
  const row = rows[0];
  return row === undefined || (tenantId !== null && row.tenantId !== tenantId) ? null : row;
}

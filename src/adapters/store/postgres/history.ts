import type { AttemptRecord } from "../../../core/delivery.ts";
import type { Page, PageRequest } from "../../../ports/store.ts";
import type {
  AttemptStats,
  DeadLetterQuery,
  DeliveryQuery,
  EventQuery,
  HistoryStore,
  StoredDelivery,
  StoredEvent,
} from "../../../ports/store/history.ts";
import type { DeliveryRow, EventRow } from "../history-rows.ts";
import { attemptStats, attemptsOf } from "./attempts.ts";
import { isStoredId } from "./columns.ts";
import { deadLetterFilter, deliveryFilter, eventFilter, type Filter } from "./filters.ts";
import { deliveryColumns, eventColumns, HistoryRows } from "./history-rows.ts";
import type { StoreState } from "./state.ts";

/** What is listed: its columns, its tables, and the column that holds the position. */
interface Listing {
  readonly columns: string;
  readonly from: string;
  readonly position: string;
}

const events: Listing = { columns: eventColumns, from: "posthorn.events e", position: "e.seq" };
const deliveries: Listing = {
  columns: deliveryColumns,
  from: "posthorn.deliveries d JOIN posthorn.events e ON e.seq = d.event",
  position: "d.seq",
};
const deadLetters: Listing = {
  columns: deliveryColumns,
  from: `posthorn.dead_letters l JOIN posthorn.deliveries d ON d.seq = l.delivery
    JOIN posthorn.events e ON e.seq = d.event`,
  position: "l.delivery",
};

/** Reads for people, on connections of their own. */
export class PostgresHistory implements HistoryStore {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;

  constructor(state: StoreState) {
    this.#state = state;
    this.#rows = new HistoryRows(state);
  }

  async getEvent(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<StoredEvent | null> {
    const rows = await this.#byId<EventRow>(events, { column: "e.id", id: query.id });
    return ownedBy(query.tenantId, await this.#rows.events(rows));
  }

  async listEvents(query: EventQuery): Promise<Page<StoredEvent>> {
    const filter = await eventFilter(this.#state.strings, query);
    const { rows, next } = await this.#page<EventRow>(events, { filter, page: query.page });
    return { rows: await this.#rows.events(rows), next };
  }

  async getDelivery(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<StoredDelivery | null> {
    const rows = await this.#byId<DeliveryRow>(deliveries, { column: "d.id", id: query.id });
    return ownedBy(query.tenantId, await this.#rows.deliveries(rows));
  }

  async listAttempts(deliveryId: string): Promise<readonly AttemptRecord[]> {
    return attemptsOf(this.#state, deliveryId);
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<StoredDelivery>> {
    const filter = await deliveryFilter(this.#state.strings, query);
    const { rows, next } = await this.#page<DeliveryRow>(deliveries, { filter, page: query.page });
    return { rows: await this.#rows.deliveries(rows), next };
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<StoredDelivery>> {
    const filter = await deadLetterFilter(this.#state.strings, query);
    const { rows, next } = await this.#page<DeliveryRow>(deadLetters, { filter, page: query.page });
    return { rows: await this.#rows.deliveries(rows), next };
  }

  async countDeadLetters(
    query: Omit<DeadLetterQuery, "page"> & { readonly countMax: number },
  ): Promise<number> {
    const filter = await deadLetterFilter(this.#state.strings, query);
    return this.#count(deadLetters, { filter, countMax: query.countMax });
  }

  async countDeliveries(query: Omit<DeliveryQuery, "page"> & { readonly countMax: number }): Promise<number> {
    const filter = await deliveryFilter(this.#state.strings, query);
    return this.#count(deliveries, { filter, countMax: query.countMax });
  }

  async attemptStats(query: { readonly webhookId: string; readonly since: number }): Promise<AttemptStats> {
    return attemptStats(this.#state, query);
  }

  async #byId<Row extends readonly unknown[]>(
    { columns, from }: Listing,
    key: { readonly column: string; readonly id: string },
  ): Promise<readonly Row[]> {
    if (!isStoredId(key.id)) return [];
    return this.#state.aside.rows<Row>(
      `SELECT ${columns} FROM ${from} WHERE ${key.column} = $1::uuid LIMIT 1`,
      [key.id],
    );
  }

  async #page<Row extends readonly [position: number, ...columns: unknown[]]>(
    { columns, from, position }: Listing,
    { filter, page }: { readonly filter: Filter | null; readonly page: PageRequest },
  ): Promise<Page<Row>> {
    if (filter === null) return { rows: [], next: null };
    const at = filter.values.length;
    // One more than asked for tells whether there is an older row.
    const rows = await this.#state.aside.rows<Row>(
      `SELECT ${columns} FROM ${from} WHERE ${filter.where} AND ${position} < $${at + 1}
       ORDER BY ${position} DESC LIMIT $${at + 2} OFFSET $${at + 3}`,
      [...filter.values, page.before ?? Number.MAX_SAFE_INTEGER, page.limit + 1, page.offset],
    );
    const shown = rows.slice(0, page.limit);
    return { rows: shown, next: rows.length > page.limit ? (shown.at(-1)?.[0] ?? null) : null };
  }

  async #count(
    { from }: Listing,
    { filter, countMax }: { readonly filter: Filter | null; readonly countMax: number },
  ): Promise<number> {
    if (filter === null) return 0;
    const [row] = await this.#state.aside.rows<[count: number]>(
      `SELECT count(*) FROM (SELECT FROM ${from} WHERE ${filter.where} LIMIT $${filter.values.length + 1}) AS found`,
      [...filter.values, countMax],
    );
    return row?.[0] ?? 0;
  }
}

/** Rows of other tenants do not exist. */
function ownedBy<Row extends { readonly tenantId: string }>(
  tenantId: string | null,
  rows: readonly Row[],
): Row | null {
  const row = rows[0];
  return row === undefined || (tenantId !== null && row.tenantId !== tenantId) ? null : row;
}

import type { StatementSync } from "node:sqlite";
import { unlimitedBudget } from "../../../ports/clock.ts";
import type { EventSummary, StoredDelivery } from "../../../ports/store/history.ts";
import {
  type DeliveryFilter,
  type DeliverySearch,
  type EventSearch,
  type SearchPage,
  waitingLookedMax,
} from "../../../ports/store/search.ts";
import { waitingMax } from "../../column-values.ts";
import { asksForDeadLetters, asksForWaiting } from "../../history-rows.ts";
import type { StatementCache } from "../driver/connection.ts";
import type { StoreState } from "../state.ts";
import type { HistoryRows } from "./history-rows.ts";
import {
  deliveryTable,
  eventSearchFilter,
  eventTable,
  type SearchFilter,
  searchFilter,
} from "./search-filter.ts";
import {
  allConditions,
  allValues,
  DeadLetterSource,
  ListSource,
  RowSource,
  type SearchSource,
} from "./search-sources.ts";
import { Pace, walk, walkPage } from "./search-walk.ts";

/**
 * Positions of waiting deliveries. Some may have ended in the meantime, so each position has to be checked against its
 * row.
 */
interface WaitingPositions {
  readonly positions: readonly number[];
  readonly areAll: boolean;
}

/**
 * Finds waiting deliveries without scanning the history. They are in their lanes, except those leased on insertion,
 * which have no position in a lane and are tracked in memory.
 */
class WaitingDeliveries {
  readonly #state: StoreState;
  readonly #all: StatementSync;
  readonly #ofWebhooks: StatementSync;

  constructor(state: StoreState) {
    this.#state = state;
    const entries = "SELECT e.delivery FROM lane_entries e";
    const { connection } = state;
    this.#all = connection.prepare(`${entries} LIMIT ${waitingLookedMax + 1}`);
    this.#ofWebhooks = connection.prepare(
      `${entries} WHERE e.lane IN (SELECT l.ref FROM lanes l WHERE l.webhook IN (SELECT value FROM json_each(?)))
       LIMIT ${waitingLookedMax + 1}`,
    );
  }

  /**
   * Positions for these webhooks, or for all. Uses a single lookup, because a delivery could change its position
   * between several lookups.
   */
  positions(webhookIds: readonly string[] | null): WaitingPositions {
    const { strings, leases } = this.#state;
    const rows =
      webhookIds === null
        ? this.#all.all()
        : this.#ofWebhooks.all(
            JSON.stringify(webhookIds.map((id) => strings.find(id)).filter((ref) => ref !== null)),
          );
    const placed = (rows as unknown as [delivery: number][]).map(([delivery]) => delivery);
    const fresh = [...leases.fresh()].map(([seq]) => seq);
    return { positions: [...placed, ...fresh], areAll: placed.length <= waitingLookedMax };
  }
}

type DueRow = [seq: number, dueAt: number];
type EventPlaceRow = [seq: number, first: number, count: number];

/**
 * Interactive searches, in short turns of the event loop with deliveries in between, until the page is full or the
 * budget is used up.
 */
export class DeliverySearches {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;
  readonly #statements: StatementCache;
  readonly #waiting: WaitingDeliveries;

  constructor(state: StoreState, statements: StatementCache, rows: HistoryRows) {
    this.#state = state;
    this.#statements = statements;
    this.#rows = rows;
    this.#waiting = new WaitingDeliveries(state);
  }

  async page(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    const { connection } = this.#state;
    const filter = connection.read(() => this.#compiled(search.filter));
    if (filter === null) return nothing;
    if (search.order === "next_attempt") return this.#byNextAttempt(search, filter);
    const isNewestFirst = search.order === "newest";
    const source = connection.read(() => this.#source(search.filter, filter, isNewestFirst));
    const page = await walkPage(
      this.#state,
      this.#statements,
      { ...search, isNewestFirst, table: deliveryTable },
      source,
    );
    return { ...page, ...this.#read(page.rows) };
  }

  async count(asked: DeliveryFilter, countMax: number): Promise<number> {
    const { connection, counters } = this.#state;
    const source = connection.read(() => {
      const filter = this.#compiled(asked);
      return filter === null ? null : this.#source(asked, filter, true);
    });
    if (source === null) return 0;
    const search = { limit: countMax, budget: unlimitedBudget, begin: counters.deliveryLast + 1 };
    return (await walk(connection, search, source)).rows.length;
  }

  #compiled(filter: DeliveryFilter): SearchFilter | null {
    return searchFilter(this.#state.strings, filter, this.#tenantsOf(filter));
  }

  /** Without a tenant filter, uses the tenants of the webhooks, so that the index on both can be used. */
  #tenantsOf(filter: DeliveryFilter): readonly string[] | null {
    if (filter.tenantId !== null) return [filter.tenantId];
    if (filter.webhookIds === null) return null;
    const rows = this.#statements
      .get("SELECT id, tenant FROM webhooks WHERE id IN (SELECT value FROM json_each(?))")
      .all(JSON.stringify(filter.webhookIds)) as unknown as [id: string, tenant: string][];
    const known = new Set(rows.map(([id]) => id));
    return filter.webhookIds.every((id) => known.has(id))
      ? [...new Set(rows.map(([, tenant]) => tenant))]
      : null;
  }

  #source(asked: DeliveryFilter, filter: SearchFilter, isNewestFirst: boolean): SearchSource {
    const { eventId, idempotencyKey, webhookIds } = asked;
    if (eventId !== null || idempotencyKey !== null) {
      const positions = this.#positionsOfEvents(asked);
      return new ListSource(this.#statements, { isNewestFirst, filter, positions });
    }
    if (asksForWaiting(asked)) {
      const { positions, areAll } = this.#waiting.positions(webhookIds);
      if (areAll) return new ListSource(this.#statements, { isNewestFirst, filter, positions });
    }
    if (asksForDeadLetters(asked)) {
      const { strings, counters } = this.#state;
      const tenants =
        this.#tenantsOf(asked)?.flatMap((id) => strings.find(id) ?? []) ??
        counters.deadLetters().map(([tenant]) => tenant);
      return new DeadLetterSource(this.#state, this.#statements, {
        isNewestFirst,
        filter,
        range: asked,
        tenants,
      });
    }
    return new RowSource(this.#state, this.#statements, { isNewestFirst, filter, range: asked });
  }

  /** Deliveries written with an event are contiguous; deliveries added later are listed by event. */
  #positionsOfEvents({ eventId, idempotencyKey, tenantId }: DeliveryFilter): readonly number[] {
    const { strings } = this.#state;
    const columns = "SELECT e.seq, e.delivery_first, e.delivery_count FROM";
    const byId = eventId === null ? null : this.#events(`${columns} events e WHERE e.id = ?`, eventId);
    const byKey =
      idempotencyKey === null
        ? null
        : this.#events(
            `${columns} ${eventsOfKey}`,
            idempotencyKey,
            tenantId === null ? null : strings.find(tenantId),
          );
    const events =
      byId === null ? byKey : byId.filter(([seq]) => byKey?.some(([other]) => other === seq) ?? true);
    const later = this.#statements.get("SELECT delivery FROM event_requeues WHERE event = ?");
    const positions: number[] = [];
    for (const [seq, first, count] of events ?? []) {
      for (let position = first; position < first + count; position += 1) positions.push(position);
      for (const [delivery] of later.all(seq) as unknown as [delivery: number][]) positions.push(delivery);
    }
    return positions;
  }

  #events(sql: string, ...values: (string | number | null)[]): readonly EventPlaceRow[] {
    return this.#statements.get(sql).all(...values) as unknown as EventPlaceRow[];
  }

  async #byNextAttempt(search: DeliverySearch, filter: SearchFilter): Promise<SearchPage<StoredDelivery>> {
    const { connection } = this.#state;
    const { positions, areAll } = connection.read(() => this.#waiting.positions(search.filter.webhookIds));
    const source = connection.read(() => {
      const ofEvents = search.filter.eventId ?? search.filter.idempotencyKey;
      if (ofEvents === null) return positions;
      const known = new Set(this.#positionsOfEvents(search.filter));
      return positions.filter((position) => known.has(position));
    });
    const due = this.#statements.get(
      `SELECT d.seq, d.due_at FROM json_each(?) p CROSS JOIN deliveries d ON d.seq = p.value
       WHERE d.state <= ${waitingMax} AND ${allConditions(filter)}`,
    );
    const found: DueRow[] = [];
    const pace = new Pace(waitingAtOnce);
    const readSome = (some: readonly number[]) =>
      connection.read(() => due.all(JSON.stringify(some), ...allValues(filter))) as unknown as DueRow[];
    for (let left: readonly number[] = source; left.length > 0; ) {
      const all = left;
      const { some, rows } = pace.run((size) => ({
        some: all.slice(0, size),
        rows: readSome(all.slice(0, size)),
      }));
      found.push(...rows);
      left = all.slice(some.length);
      await pace.yield();
    }
    return this.#duePage(search, this.#taken(found, filter), areAll);
  }

  #taken(rows: readonly DueRow[], { takesType }: SearchFilter): readonly DueRow[] {
    if (takesType === null) return rows;
    const type = this.#statements.get(
      "SELECT e.event_type FROM deliveries d JOIN events e ON e.seq = d.event WHERE d.seq = ?",
    );
    return this.#state.connection.read(() =>
      rows.filter(([seq]) => takesType((type.get(seq) as unknown as [number])[0])),
    );
  }

  #duePage(
    { after, limit }: DeliverySearch,
    found: readonly DueRow[],
    areAll: boolean,
  ): SearchPage<StoredDelivery> {
    const order = ([seqA, dueA]: DueRow, [seqB, dueB]: DueRow): number => dueA - dueB || seqA - seqB;
    const behind =
      after === null ? found : found.filter((row) => order(row, [after.position, after.dueAt ?? 0]) > 0);
    const shown = behind.toSorted(order).slice(0, limit);
    const last = shown.at(-1);
    const next = behind.length <= limit || last === undefined ? null : { position: last[0], dueAt: last[1] };
    const isCutShort = next === null && !areAll;
    return { ...this.#read(shown.map(([seq]) => seq)), next, searchedTo: null, isCutShort };
  }

  /** Skips rows that upkeep has removed since the search. */
  #read(seqs: readonly number[]): Pick<SearchPage<StoredDelivery>, "rows"> {
    const rows = this.#state.connection.read(() =>
      seqs.map((seq) => this.#rows.delivery(seq)).filter((row) => row !== undefined),
    );
    return { rows };
  }
}

/** Events with key ?1, of tenant ?2 or of all tenants. */
const eventsOfKey = `tenant_counters t CROSS JOIN dedup_keys k ON k.tenant = t.tenant AND k.key = ?1
  CROSS JOIN events e ON e.seq = k.event WHERE ?2 IS NULL OR t.tenant = ?2`;

/** Number of waiting deliveries read in the first turn. */
const waitingAtOnce = 512;

const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

/** Bodies may be as large as 256 KiB, so the first turn of a search through them is small. */
const bodiesFirst = 32;

/** Searches events in the same way as `DeliverySearches` searches deliveries. */
export class EventSearches {
  readonly #state: StoreState;
  readonly #statements: StatementCache;
  readonly #rows: HistoryRows;

  constructor(state: StoreState, statements: StatementCache, rows: HistoryRows) {
    this.#state = state;
    this.#statements = statements;
    this.#rows = rows;
  }

  async page(search: EventSearch): Promise<SearchPage<EventSummary>> {
    const { connection, strings } = this.#state;
    const source = connection.read(() => {
      const filter = eventSearchFilter(strings, search.filter);
      return filter === null ? null : this.#source(search, filter);
    });
    const page = await walkPage(
      this.#state,
      this.#statements,
      { ...search, isNewestFirst: true, table: eventTable },
      source,
    );
    // Skips rows that upkeep has removed since the search.
    const rows = connection.read(() =>
      page.rows.map((seq) => this.#rows.eventSummary(seq)).filter((row) => row !== undefined),
    );
    return { ...page, rows };
  }

  #source({ filter: asked }: EventSearch, filter: SearchFilter): SearchSource {
    const { idempotencyKey, tenantId, dataContains } = asked;
    const isNewestFirst = true;
    if (idempotencyKey === null) {
      const rowsFirst = dataContains === null ? undefined : bodiesFirst;
      return new RowSource(this.#state, this.#statements, { isNewestFirst, rowsFirst, filter, range: asked });
    }
    const tenant = tenantId === null ? null : this.#state.strings.find(tenantId);
    const found = this.#statements.get(`SELECT e.seq FROM ${eventsOfKey}`).all(idempotencyKey, tenant);
    const positions = (found as unknown as [seq: number][]).map(([seq]) => seq);
    return new ListSource(this.#statements, { isNewestFirst, filter, positions });
  }
}

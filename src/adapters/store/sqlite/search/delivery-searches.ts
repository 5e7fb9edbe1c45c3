import { waitingStates } from "../../../../core/delivery.ts";
import type { DeliverySearch, SearchPage } from "../../../../ports/store/search.ts";
import type { StoredDelivery } from "../../../../ports/store/history.ts";
import { waitingMax } from "../../codes.ts";
import type { HistoryRows } from "../history-rows.ts";
import type { StatementCache } from "../statement-cache.ts";
import type { StoreState } from "../state.ts";
import { Pace } from "./pace.ts";
import { deliveryTable, searchFilter, type SearchFilter } from "./search-filter.ts";
import { allConditions, allValues, ListSource, RowSource, type SearchSource } from "./search-sources.ts";
import { walkPage } from "./search-walk.ts";
import { WaitingDeliveries } from "./waiting-positions.ts";

type DueRow = [seq: number, dueAt: number];
type EventPlaceRow = [seq: number, first: number, count: number];

/**
 * Searches for people, in short turns of the event loop with deliveries in between, until the page is full or the
 * budget is spent.
 */
export class DeliverySearches {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;
  readonly #statements: StatementCache;
  readonly #waiting: WaitingDeliveries;

  constructor(context: {
    readonly state: StoreState;
    readonly rows: HistoryRows;
    readonly statements: StatementCache;
  }) {
    this.#state = context.state;
    this.#rows = context.rows;
    this.#statements = context.statements;
    this.#waiting = new WaitingDeliveries(context.state);
  }

  async page(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    const { connection, strings } = this.#state;
    const filter = connection.read(() => searchFilter(strings, search.filter, this.#tenantsOf(search)));
    if (filter === null) return nothing;
    if (search.order === "next_attempt") return this.#byNextAttempt(search, filter);
    const source = connection.read(() => this.#source(search, filter));
    return source === null ? nothing : this.#walk(search, source);
  }

  /** Without a tenant filter, uses the tenants of the webhooks, so that the index on both can be used. */
  #tenantsOf({ filter }: DeliverySearch): readonly string[] | null {
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

  #source(search: DeliverySearch, filter: SearchFilter): SearchSource | null {
    const { eventId, idempotencyKey, states, webhookIds } = search.filter;
    const direction = { isNewestFirst: search.order === "newest" };
    const context = { state: this.#state, statements: this.#statements };
    if (eventId !== null || idempotencyKey !== null) {
      const positions = this.#positionsOfEvents(search);
      return new ListSource(context.statements, { ...direction, filter, positions });
    }
    if (states?.every((state) => waitingStates.some((waiting) => waiting === state)) === true) {
      const { positions, areAll } = this.#waiting.positions(webhookIds);
      if (areAll) return new ListSource(context.statements, { ...direction, filter, positions });
    }
    return new RowSource(context.state, context.statements, { ...direction, filter, range: search.filter });
  }

  /** Deliveries written with an event are contiguous, later ones are listed by event. */
  #positionsOfEvents({ filter }: DeliverySearch): readonly number[] {
    const { eventId, idempotencyKey, tenantId } = filter;
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

  async #walk(search: DeliverySearch, source: SearchSource): Promise<SearchPage<StoredDelivery>> {
    const context = { state: this.#state, statements: this.#statements };
    const isNewestFirst = search.order === "newest";
    const page = await walkPage(
      context.state,
      context.statements,
      { ...search, isNewestFirst, table: deliveryTable },
      source,
    );
    return { ...page, ...this.#read(page.rows) };
  }

  async #byNextAttempt(search: DeliverySearch, filter: SearchFilter): Promise<SearchPage<StoredDelivery>> {
    const { connection } = this.#state;
    const { positions, areAll } = connection.read(() => this.#waiting.positions(search.filter.webhookIds));
    const source = connection.read(() => {
      const ofEvents = search.filter.eventId ?? search.filter.idempotencyKey;
      if (ofEvents === null) return positions;
      const known = new Set(this.#positionsOfEvents(search));
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

  /** Skips rows that upkeep removed in between. */
  #read(seqs: readonly number[]): Pick<SearchPage<StoredDelivery>, "rows"> {
    const rows = this.#state.connection.read(() =>
      seqs.map((seq) => this.#rows.delivery(seq)).filter((row) => row !== undefined),
    );
    return { rows };
  }
}

/** Events with key ?1, of tenant ?2 or of all. */
export const eventsOfKey = `tenant_tallies t CROSS JOIN dedup_keys k ON k.tenant = t.tenant AND k.key = ?1
  CROSS JOIN events e ON e.seq = k.event WHERE ?2 IS NULL OR t.tenant = ?2`;

/** How many waiting deliveries the first turn reads. */
const waitingAtOnce = 512;

const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

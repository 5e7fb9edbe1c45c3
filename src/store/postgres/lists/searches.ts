import { unlimitedBudget } from "../../../ports/clock.ts";
import type { EventSummary, StoredDelivery } from "../../../ports/store/history.ts";
import {
  type DeliveryFilter,
  type DeliverySearch,
  type EventSearch,
  type SearchPage,
  waitingLookedMax,
} from "../../../ports/store/search.ts";
import { isStoredId } from "../../column-values.ts";
import type { DeliveryRow, EventRow } from "../../history-rows.ts";
import { asksForDeadLetters, asksForWaiting } from "../../history-rows.ts";
import type { Transactor } from "../driver/database.ts";
import { searchBounds } from "../driver/server.ts";
import { numbers } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import { deliveryColumns, eventSummaryColumns, type HistoryRows } from "./history-rows.ts";
import { eventConditions, Parameters, type SearchConditions, searchConditions } from "./search-filter.ts";
import {
  type DatedWindow,
  eventsOfKeySql,
  fewerRows,
  nextRows,
  type Scope,
  type Span,
  spanOf,
  unlessItWasMuch,
  type WalkedWindow,
  type Window,
  walkPositions,
  walkWindows,
  windowSql,
  withEvent,
  withLastAttempt,
} from "./search-walk.ts";

const rowsFirst = 500;
/** Bodies may be as large as 256 KiB, so the first window of a search through them is small. */
const bodiesFirst = 50;
const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

/** A window as SQL: all of its rows, its matches, and the columns to read for the matches. */
interface WindowSql {
  readonly seen: string;
  readonly found: string;
  readonly shown: string;
  readonly parameters: Parameters;
  readonly isOldestFirst: boolean;
}

/** Examines all rows of a window, and reads the matching ones. */
async function readWindow<Row extends readonly [position: number, ...columns: unknown[]]>(
  maintenance: Transactor,
  { seen, found, shown, parameters, isOldestFirst }: WindowSql,
): Promise<DatedWindow<Row>> {
  const [direction, opposite] = isOldestFirst ? ["ASC", "DESC"] : ["DESC", "ASC"];
  const rows = await maintenance.rows<
    readonly [looked: number, reached: number | null, createdAt: number | null, ...Row]
  >(
    `WITH seen AS MATERIALIZED (${seen}),
     edge AS (SELECT seq, created_at FROM seen ORDER BY seq ${opposite} LIMIT 1),
     found AS MATERIALIZED (
       ${found})
     SELECT (SELECT count(*) FROM seen), (SELECT seq FROM edge), (SELECT created_at FROM edge), f.*
     FROM (SELECT) AS one LEFT JOIN (
       ${shown}) f ON true
     ORDER BY f.seq ${direction}`,
    parameters.values,
    searchBounds,
  );
  const [looked = 0, reached = null, createdAt = null] = rows[0] ?? [];
  // If nothing matches, a single row with nulls in the columns of the match still reports how far the statement
  // searched.
  const matches = rows
    .map(([, , , ...row]) => row as unknown as Row)
    .filter(([position]) => (position as number | null) !== null);
  return { looked, reached, createdAt, matches };
}

/**
 * Interactive searches, over the maintenance pool: window by window until the page is full or the budget is used up.
 */
export class DeliverySearches {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;

  constructor(state: StoreState, rows: HistoryRows) {
    this.#state = state;
    this.#rows = rows;
  }

  async page(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    const owner = await this.#owner(search.filter);
    if (owner === null) return nothing;
    return search.order === "next_attempt" ? this.#byNextAttempt(search, owner) : this.#walk(search, owner);
  }

  /** The number of results, up to `countMax`. */
  async count(filter: DeliveryFilter, countMax: number): Promise<number> {
    const owner = await this.#owner(filter);
    if (owner === null) return 0;
    const place = { after: null, range: filter, table: "deliveries", isOldestFirst: false } as const;
    const search = {
      limit: countMax,
      budget: unlimitedBudget,
      isOldestFirst: false,
      rowsFirst,
      span: await spanOf(this.#state.maintenance, place),
    };
    const { rows } = await walkWindows<readonly [position: number], number>(search, (window) =>
      this.#window(filter, owner, "newest", window, "SELECT d.seq FROM found d"),
    );
    return rows.length;
  }

  /** Null if no rows can match. */
  async #owner(filter: DeliveryFilter): Promise<Owner | null> {
    const { strings } = this.#state;
    await strings.lookUp([filter.tenantId, ...(filter.webhookIds ?? [])].filter((string) => string !== null));
    const tenant = filter.tenantId === null ? null : strings.find(filter.tenantId);
    const webhooks = filter.webhookIds?.map((id) => strings.find(id)).filter((ref) => ref !== null) ?? null;
    if ((filter.tenantId !== null && tenant === null) || webhooks?.length === 0) return null;
    const events = await this.#events(filter, tenant);
    return events?.length === 0 ? null : { tenant, webhooks, events };
  }

  async #events(
    { eventId, idempotencyKey }: DeliveryFilter,
    tenant: number | null,
  ): Promise<readonly number[] | null> {
    const { maintenance } = this.#state;
    const positions = async (sql: string, values: readonly (string | number | null)[]) =>
      (await maintenance.rows<[seq: number]>(sql, values, searchBounds)).map(([seq]) => seq);
    const byKey = idempotencyKey === null ? null : await positions(eventsOfKeySql, [idempotencyKey, tenant]);
    if (eventId === null) return byKey;
    if (!isStoredId(eventId)) return [];
    const byId = await positions("SELECT seq FROM posthorn.events WHERE id = $1::uuid LIMIT 1", [eventId]);
    return byId.filter((seq) => byKey?.includes(seq) ?? true);
  }

  async #walk(search: DeliverySearch, owner: Owner): Promise<SearchPage<StoredDelivery>> {
    const { limit, order, after, filter } = search;
    const isOldestFirst = order === "oldest";
    const { maintenance } = this.#state;
    const span = await spanOf(maintenance, { after, range: filter, table: "deliveries", isOldestFirst });
    const first = Math.max(rowsFirst, limit + 1);
    const page = await walkPositions<DeliveryRow>(
      { ...search, span, isOldestFirst, rowsFirst: first, createdAtOf: (row) => row[11] },
      (window) => this.#window(filter, owner, order, window, shownDeliveries),
    );
    return { ...page, rows: await this.#rows.deliveries(page.rows) };
  }

  #window<Row extends readonly [position: number, ...columns: unknown[]]>(
    filter: DeliveryFilter,
    owner: Owner,
    order: DeliverySearch["order"],
    { span, rows, wanted }: WalkedWindow,
    shown: string,
  ): Promise<DatedWindow<Row>> {
    const parameters = new Parameters();
    const seen = windowSql({ scope: scopeOf(filter, owner), span, rows, order }, parameters);
    const matching = matchingSql(ofOwner(owner, parameters), searchConditions(filter, parameters));
    const isOldestFirst = order === "oldest";
    const found = `SELECT d.* FROM seen d ${matching}
      ORDER BY d.seq ${isOldestFirst ? "ASC" : "DESC"} LIMIT ${parameters.add(wanted)}`;
    return readWindow(this.#state.maintenance, { seen, found, shown, parameters, isOldestFirst });
  }

  /** Examines waiting deliveries window by window, and keeps those with the earliest due times. */
  async #byNextAttempt(search: DeliverySearch, owner: Owner): Promise<SearchPage<StoredDelivery>> {
    const { limit, after, budget } = search;
    const place = { dueAt: after?.dueAt ?? Number.MIN_SAFE_INTEGER, position: after?.position ?? -1 };
    let found: readonly DueRow[] = [];
    let looked = 0;
    let isEnd = false;
    const below = Number.MAX_SAFE_INTEGER;
    let above = -1;
    for (let rows = rowsFirst; !isEnd && looked < waitingLookedMax && !(looked > 0 && budget.isSpent); ) {
      const begun = performance.now();
      const scope = { kind: "waiting" } as const;
      const window = { scope, span: { above, below }, rows, order: "oldest" } as const;
      const seen = await this.#dueWindow(search, owner, window, place).catch(unlessItWasMuch(rows));
      if (seen === null) {
        rows = fewerRows(rows);
        continue;
      }
      found = found
        .concat(seen.rows)
        .toSorted(byDueTime)
        .slice(0, limit + 1);
      looked += seen.looked;
      budget.spend(seen.looked);
      isEnd = seen.looked < rows;
      above = seen.reached ?? 0;
      rows = nextRows(rows, performance.now() - begun);
    }
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const next = found.length <= limit || last === undefined ? null : { position: last[0], dueAt: last[1] };
    return {
      rows: await this.#read(shown.map(([seq]) => seq)),
      next,
      searchedTo: null,
      isCutShort: next === null && !isEnd,
    };
  }

  async #dueWindow(
    { filter, limit }: DeliverySearch,
    owner: Owner,
    window: Window,
    place: { readonly dueAt: number; readonly position: number },
  ) {
    const parameters = new Parameters();
    const inWindow = windowSql(window, parameters);
    const dueAt = `${parameters.add(place.dueAt)}::bigint`;
    const behind = `(d.due_at, d.seq) > (${dueAt}, ${parameters.add(place.position)}::bigint)`;
    const matching = matchingSql(
      [...ofOwner(owner, parameters), behind],
      searchConditions(filter, parameters),
    );
    const rows = await this.#state.maintenance.rows<
      readonly [looked: number, reached: number | null, seq: number | null, dueAt: number]
    >(
      `WITH seen AS MATERIALIZED (${inWindow})
       SELECT (SELECT count(*) FROM seen), (SELECT max(seq) FROM seen), f.seq, f.due_at
       FROM (SELECT) AS one LEFT JOIN (SELECT d.seq, d.due_at FROM seen d ${matching}
         ORDER BY d.due_at, d.seq LIMIT ${parameters.add(limit + 1)}) f ON true`,
      parameters.values,
      searchBounds,
    );
    const [looked = 0, reached = null] = rows[0] ?? [];
    const due = rows.flatMap(([, , seq, at]): DueRow[] => (seq === null ? [] : [[seq, at]]));
    return { looked, reached, rows: due };
  }

  /** Returns the rows in the order of the given positions. */
  async #read(positions: readonly number[]): Promise<readonly StoredDelivery[]> {
    const rows = await this.#state.maintenance.rows<DeliveryRow>(
      `SELECT ${deliveryColumns} FROM unnest($1::bigint[]) WITH ORDINALITY AS p (seq, place)
       JOIN posthorn.deliveries d ON d.seq = p.seq ${withEvent} ${withLastAttempt} ORDER BY p.place`,
      [numbers(positions)],
      searchBounds,
    );
    return this.#rows.deliveries(rows);
  }
}

type DueRow = readonly [seq: number, dueAt: number];

function byDueTime([seqA, dueA]: DueRow, [seqB, dueB]: DueRow): number {
  return dueA - dueB || seqA - seqB;
}

const shownDeliveries = `SELECT ${deliveryColumns} FROM found d ${withEvent} ${withLastAttempt}`;

interface Owner {
  readonly tenant: number | null;
  readonly webhooks: readonly number[] | null;
  readonly events: readonly number[] | null;
}

/** The smallest scope that contains all results and can be read in order. */
function scopeOf(filter: DeliveryFilter, { tenant, webhooks, events }: Owner): Scope {
  if (events !== null) return { kind: "of", column: "event", owners: events };
  if (asksForDeadLetters(filter)) return { kind: "dead_letters", tenant };
  if (webhooks !== null) return { kind: "of", column: "webhook", owners: webhooks };
  if (asksForWaiting(filter)) return { kind: "waiting" };
  return tenant === null ? { kind: "everything" } : { kind: "of", column: "tenant", owners: [tenant] };
}

function ofOwner({ tenant, webhooks, events }: Owner, parameters: Parameters): readonly string[] {
  const conditions: string[] = [];
  if (tenant !== null) conditions.push(`d.tenant = ${parameters.add(tenant)}`);
  if (webhooks !== null) conditions.push(`d.webhook = ANY (${parameters.add(numbers(webhooks))}::int[])`);
  if (events !== null) conditions.push(`d.event = ANY (${parameters.add(numbers(events))}::bigint[])`);
  return conditions;
}

/** Joins events and attempts only if a filter needs them. */
function matchingSql(owner: readonly string[], { onRow, onAttempt, onEvent }: SearchConditions): string {
  const joins = [onEvent.length > 0 ? withEvent : "", onAttempt.length > 0 ? withLastAttempt : ""];
  const conditions = ["true", ...owner, ...onRow, ...onAttempt, ...onEvent];
  return `${joins.join(" ")} WHERE ${conditions.join(" AND ")}`;
}

/** Which events are searched: those of a tenant, those with a key, or all. */
interface EventScope {
  readonly tenant: number | null;
  readonly events: readonly number[] | null;
}

/** Searches events in the same way as `DeliverySearches` searches deliveries. */
export class EventSearches {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;

  constructor(state: StoreState, rows: HistoryRows) {
    this.#state = state;
    this.#rows = rows;
  }

  async page(search: EventSearch): Promise<SearchPage<EventSummary>> {
    const { filter, after } = search;
    const { maintenance, strings } = this.#state;
    await strings.lookUp(filter.tenantId === null ? [] : [filter.tenantId]);
    const tenant = filter.tenantId === null ? null : strings.find(filter.tenantId);
    if (filter.tenantId !== null && tenant === null) return nothing;
    const scope = { tenant, events: await this.#ofKey(filter.idempotencyKey, tenant) };
    const span = await spanOf(maintenance, { after, range: filter, table: "events", isOldestFirst: false });
    const page = await walkPositions<EventRow>(
      {
        ...search,
        span,
        isOldestFirst: false,
        rowsFirst: filter.dataContains === null ? Math.max(rowsFirst, search.limit + 1) : bodiesFirst,
        createdAtOf: (row) => row[9],
      },
      (window) => this.#window(search, scope, window),
    );
    return { ...page, rows: await this.#rows.eventSummaries(page.rows) };
  }

  async #ofKey(key: string | null, tenant: number | null): Promise<readonly number[] | null> {
    if (key === null) return null;
    const rows = await this.#state.maintenance.rows<[seq: number]>(
      eventsOfKeySql,
      [key, tenant],
      searchBounds,
    );
    return rows.map(([seq]) => seq);
  }

  #window(
    { filter }: EventSearch,
    scope: EventScope,
    { span, rows, wanted }: WalkedWindow,
  ): Promise<DatedWindow<EventRow>> {
    const parameters = new Parameters();
    const seen = eventWindowSql(scope, span, rows, parameters);
    const conditions = ["true", ...eventConditions(filter, parameters)].join(" AND ");
    const found = `SELECT e.seq FROM seen e WHERE ${conditions}
      ORDER BY e.seq DESC LIMIT ${parameters.add(wanted)}`;
    const shown = `SELECT ${eventSummaryColumns} FROM found w JOIN posthorn.events e ON e.seq = w.seq`;
    return readWindow(this.#state.maintenance, { seen, found, shown, parameters, isOldestFirst: false });
  }
}

/** Uses a single index, like the windows of deliveries. */
function eventWindowSql(
  { tenant, events }: EventScope,
  span: Span,
  rows: number,
  parameters: Parameters,
): string {
  const above = `${parameters.add(span.above)}::bigint`;
  const below = `${parameters.add(span.below)}::bigint`;
  const limit = `LIMIT ${parameters.add(rows)}`;
  const columns = `e.seq, e.created_at, e.event_type, e.source, e.delivery_count + e.requeue_count AS deliveries`;
  const range = `e.seq > ${above} AND e.seq < ${below}`;
  if (events !== null) {
    const ofTenant = tenant === null ? "" : `AND e.tenant = ${parameters.add(tenant)}`;
    return `SELECT ${columns} FROM posthorn.events e
      WHERE e.seq = ANY (${parameters.add(numbers(events))}::bigint[]) AND ${range} ${ofTenant}
      ORDER BY e.seq DESC ${limit}`;
  }
  if (tenant === null)
    return `SELECT ${columns} FROM posthorn.events e WHERE ${range} ORDER BY e.seq DESC ${limit}`;
  const owner = `${parameters.add(tenant)}::int`;
  return `SELECT ${columns} FROM posthorn.events e
    WHERE (e.tenant, e.seq) > (${owner}, ${above}) AND (e.tenant, e.seq) < (${owner}, ${below})
    ORDER BY e.tenant DESC, e.seq DESC ${limit}`;
}

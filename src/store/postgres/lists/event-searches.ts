import type { EventSummary } from "../../../ports/store/history.ts";
import type { EventSearch, SearchPage } from "../../../ports/store/search.ts";
import type { EventRow } from "../../history-rows.ts";
import { numbers } from "../driver/columns.ts";
import type { StoreState } from "../state.ts";
import { eventSummaryColumns, type HistoryRows } from "./history-rows.ts";
import {
  type DatedWindow,
  eventConditions,
  eventsOfKeySql,
  Parameters,
  searchBounds,
  type Span,
  spanOf,
  walkPositions,
} from "./search-walk.ts";

const rowsFirst = 500;
/** Bodies may have 256 KiB, so the first window of a search through them is small. */
const bodiesFirst = 50;

/** Which events are searched: of a tenant, of a key, or all. */
interface Scope {
  readonly tenant: number | null;
  readonly events: readonly number[] | null;
}

/** Searches events like DeliverySearches searches deliveries. */
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

  async #window(
    { filter }: EventSearch,
    scope: Scope,
    window: { readonly span: Span; readonly rows: number; readonly wanted: number },
  ): Promise<DatedWindow<EventRow>> {
    const parameters = new Parameters();
    const inWindow = windowSql(scope, window.span, window.rows, parameters);
    const conditions = ["true", ...eventConditions(filter, parameters)].join(" AND ");
    const rows = await this.#state.maintenance.rows<
      readonly [looked: number, reached: number | null, createdAt: number | null, ...EventRow]
    >(
      `WITH seen AS MATERIALIZED (${inWindow}),
       edge AS (SELECT seq, created_at FROM seen ORDER BY seq LIMIT 1),
       found AS MATERIALIZED (SELECT e.seq FROM seen e WHERE ${conditions}
         ORDER BY e.seq DESC LIMIT ${parameters.add(window.wanted)})
       SELECT (SELECT count(*) FROM seen), (SELECT seq FROM edge), (SELECT created_at FROM edge), f.*
       FROM (SELECT) AS one LEFT JOIN (
         SELECT ${eventSummaryColumns} FROM found w JOIN posthorn.events e ON e.seq = w.seq) f ON true
       ORDER BY f.seq DESC`,
      parameters.values,
      searchBounds,
    );
    const [looked = 0, reached = null, createdAt = null] = rows[0] ?? [];
    const matches = rows
      .map(([, , , ...row]): EventRow => row)
      .filter((row) => (row[0] as number | null) !== null);
    return { looked, reached, createdAt, matches };
  }
}

const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

/** Uses a single index, like the windows of deliveries. */
function windowSql({ tenant, events }: Scope, span: Span, rows: number, parameters: Parameters): string {
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

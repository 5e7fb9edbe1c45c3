import type { EventSummary } from "../../../../ports/store/history.ts";
import type { EventSearch, SearchPage } from "../../../../ports/store/search.ts";
import type { HistoryRows } from "../history-rows.ts";
import type { StatementCache } from "../statement-cache.ts";
import type { StoreState } from "../state.ts";
import { eventsOfKey } from "./delivery-searches.ts";
import { eventSearchFilter, eventTable, type SearchFilter } from "./search-filter.ts";
import { ListSource, RowSource, type SearchSource } from "./search-sources.ts";
import { walkPage } from "./search-walk.ts";

/** Bodies may have 256 KiB, so the first turn of a search through them is small. */
const bodiesFirst = 32;

/** Searches events like DeliverySearches searches deliveries. */
export class EventSearches {
  readonly #context: { readonly state: StoreState; readonly statements: StatementCache };
  readonly #rows: HistoryRows;

  constructor(context: {
    readonly state: StoreState;
    readonly statements: StatementCache;
    readonly rows: HistoryRows;
  }) {
    this.#context = context;
    this.#rows = context.rows;
  }

  async page(search: EventSearch): Promise<SearchPage<EventSummary>> {
    const { connection, strings } = this.#context.state;
    const source = connection.read(() => {
      const filter = eventSearchFilter(strings, search.filter);
      return filter === null ? null : this.#source(search, filter);
    });
    const page = await walkPage(
      this.#context.state,
      this.#context.statements,
      { ...search, isNewestFirst: true, table: eventTable },
      source,
    );
    // Skips rows that upkeep removed in between.
    const rows = connection.read(() =>
      page.rows.map((seq) => this.#rows.eventSummary(seq)).filter((row) => row !== undefined),
    );
    return { ...page, rows };
  }

  #source({ filter: asked }: EventSearch, filter: SearchFilter): SearchSource {
    const { idempotencyKey, tenantId, dataContains } = asked;
    const direction = { isNewestFirst: true };
    if (idempotencyKey === null) {
      const rowsFirst = dataContains === null ? {} : { rowsFirst: bodiesFirst };
      return new RowSource(this.#context.state, this.#context.statements, {
        ...direction,
        ...rowsFirst,
        filter,
        range: asked,
      });
    }
    const { statements, state } = this.#context;
    const tenant = tenantId === null ? null : state.strings.find(tenantId);
    const found = statements.get(`SELECT e.seq FROM ${eventsOfKey}`).all(idempotencyKey, tenant);
    const positions = (found as unknown as [seq: number][]).map(([seq]) => seq);
    return new ListSource(this.#context.statements, { ...direction, filter, positions });
  }
}

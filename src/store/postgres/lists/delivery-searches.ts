import { waitingStates } from "../../../domain/delivery.ts";
import type { StoredDelivery } from "../../../ports/store/history.ts";
import { type DeliverySearch, type SearchPage, waitingLookedMax } from "../../../ports/store/search.ts";
import { isStoredId } from "../../column-values.ts";
import type { DeliveryRow } from "../../history-rows.ts";
import { numbers } from "../driver/columns.ts";
import type { StoreState } from "../state.ts";
import { deliveryColumns, type HistoryRows } from "./history-rows.ts";
import {
  eventsOfKeySql,
  fewerRows,
  nextRows,
  Parameters,
  type Scope,
  type SearchConditions,
  searchBounds,
  searchConditions,
  spanOf,
  unlessItWasMuch,
  type Window,
  walkPositions,
  windowSql,
  withEvent,
  withLastAttempt,
} from "./search-walk.ts";

/** Result for a window: the number of rows, the last one and its creation time; null if it is empty. */
type EdgeRow = readonly [looked: number, reached: number | null, createdAt: number | null];

const rowsFirst = 500;

/** Searches for people, over the maintenance pool: window by window until the page is full or the budget is spent. */
export class DeliverySearches {
  readonly #state: StoreState;
  readonly #rows: HistoryRows;

  constructor(state: StoreState, rows: HistoryRows) {
    this.#state = state;
    this.#rows = rows;
  }

  async page(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    const { filter } = search;
    await this.#state.strings.lookUp(
      [filter.tenantId, ...(filter.webhookIds ?? [])].filter((string) => string !== null),
    );
    const owner = await this.#owner(search);
    if (owner === null) return nothing;
    return search.order === "next_attempt" ? this.#byNextAttempt(search, owner) : this.#walk(search, owner);
  }

  /** Null if no rows can match. */
  async #owner({ filter }: DeliverySearch): Promise<Owner | null> {
    const { strings } = this.#state;
    const tenant = filter.tenantId === null ? null : strings.find(filter.tenantId);
    const webhooks = filter.webhookIds?.map((id) => strings.find(id)).filter((ref) => ref !== null) ?? null;
    if ((filter.tenantId !== null && tenant === null) || webhooks?.length === 0) return null;
    const events = await this.#events(filter, tenant);
    return events?.length === 0 ? null : { tenant, webhooks, events };
  }

  async #events(
    { eventId, idempotencyKey }: DeliverySearch["filter"],
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
    const scope = scopeOf(search, owner);
    const isOldestFirst = order === "oldest";
    const { maintenance } = this.#state;
    const span = await spanOf(maintenance, { after, range: filter, table: "deliveries", isOldestFirst });
    const first = Math.max(rowsFirst, limit + 1);
    const page = await walkPositions<DeliveryRow>(
      { ...search, span, isOldestFirst, rowsFirst: first, createdAtOf: (row) => row[11] },
      ({ wanted, ...window }) => this.#window(search, owner, { ...window, scope, order }, wanted),
    );
    return { ...page, rows: await this.#rows.deliveries(page.rows) };
  }

  /** Examines all rows of a window, and reads the matching ones. */
  async #window({ filter, order }: DeliverySearch, owner: Owner, window: Window, wanted: number) {
    const parameters = new Parameters();
    const inWindow = windowSql(window, parameters);
    const matching = matchingSql(ofOwner(owner, parameters), searchConditions(filter, parameters));
    const [direction, opposite] = order === "oldest" ? ["ASC", "DESC"] : ["DESC", "ASC"];
    const rows = await this.#state.maintenance.rows<readonly [...EdgeRow, ...DeliveryRow]>(
      `WITH seen AS MATERIALIZED (${inWindow}),
       edge AS (SELECT seq, created_at FROM seen ORDER BY seq ${opposite} LIMIT 1),
       found AS MATERIALIZED (
         SELECT d.* FROM seen d ${matching} ORDER BY d.seq ${direction} LIMIT ${parameters.add(wanted)})
       SELECT (SELECT count(*) FROM seen), (SELECT seq FROM edge), (SELECT created_at FROM edge), f.*
       FROM (SELECT) AS one LEFT JOIN (
         SELECT ${deliveryColumns} FROM found d ${withEvent} ${withLastAttempt}) f ON true
       ORDER BY f.seq ${direction}`,
      parameters.values,
      searchBounds,
    );
    const [looked = 0, reached = null, createdAt = null] = rows[0] ?? [];
    return { looked, reached, createdAt, matches: rows.map(withoutEdge).filter(isThere) };
  }

  /** Examines waiting deliveries window by window, and keeps those that are due first. */
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

  /** In the order of the given positions. */
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

const nothing: SearchPage<never> = { rows: [], next: null, searchedTo: null, isCutShort: false };

interface Owner {
  readonly tenant: number | null;
  readonly webhooks: readonly number[] | null;
  readonly events: readonly number[] | null;
}

/** The smallest source that holds all results and has an order. */
function scopeOf({ filter }: DeliverySearch, { tenant, webhooks, events }: Owner): Scope {
  if (events !== null) return { kind: "of", column: "event", owners: events };
  if (webhooks !== null) return { kind: "of", column: "webhook", owners: webhooks };
  const isWaiting = filter.states?.every((state) => waitingStates.some((waiting) => waiting === state));
  if (isWaiting === true) return { kind: "waiting" };
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

function withoutEdge([, , , ...row]: readonly [...EdgeRow, ...DeliveryRow]): DeliveryRow {
  return row;
}

/** A statement returns a row of nulls when nothing matches, because it also reports how far it looked. */
function isThere(row: DeliveryRow): boolean {
  return (row[0] as number | null) !== null;
}

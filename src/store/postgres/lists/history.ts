import type { AttemptRecord } from "../../../domain/delivery.ts";
import type { FailureCategory, Outcome } from "../../../domain/classify.ts";
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
import type { DeliverySearch, EventSearch, SearchPage } from "../../../ports/store/search.ts";
import {
  categoryCodes,
  decode,
  decodeOrNull,
  isStoredId,
  outcomeCodes,
  stateCodes,
} from "../../column-values.ts";
import {
  type AttemptRow,
  backlogOf,
  type BacklogRow,
  countedByState,
  type DeliveryRow,
  type EventRow,
  toAttempt,
} from "../../history-rows.ts";
import { numbers, plainWords, texts } from "../driver/columns.ts";
import type { Value } from "../driver/database.ts";
import type { StringTable } from "../driver/string-table.ts";
import type { StoreState } from "../state.ts";
import { DeliverySearches } from "./delivery-searches.ts";
import { EventSearches } from "./event-searches.ts";
import { attemptColumns, deliveryColumns, eventColumns, HistoryRows, ofDelivery } from "./history-rows.ts";

/** One row per outcome and category, and a total with `outcome` null. */
type StatRow = [
  outcome: number | null,
  category: number | null,
  count: number,
  durationMsP50: number | null,
  durationMsP95: number | null,
  lastAttemptAt: number | null,
];

/** As the port promises, statistics read no more than this many attempts. */
const attemptsReadMax = 10_000;

async function attemptsOf(state: StoreState, deliveryId: string): Promise<readonly AttemptRecord[]> {
  if (!isStoredId(deliveryId)) return [];
  const rows = await state.maintenance.rows<AttemptRow>(
    `SELECT ${attemptColumns} FROM posthorn.deliveries d JOIN posthorn.attempts a ON a.delivery = d.seq WHERE d.id = $1::uuid ORDER BY a.number`,
    [deliveryId],
  );
  return rows.map(toAttempt);
}

async function attemptStats(state: StoreState, webhookId: string, since: number): Promise<AttemptStats> {
  const { strings, maintenance } = state;
  await strings.lookUp([webhookId]);
  const rows = await maintenance.rows<StatRow>(
    `WITH recent AS MATERIALIZED (
       SELECT outcome, category, duration_ms, executed_at FROM posthorn.attempts
       WHERE webhook = $1 AND executed_at >= $2 ORDER BY executed_at DESC LIMIT ${attemptsReadMax})
     SELECT outcome, category, count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms),
       percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms), max(executed_at)
     FROM recent GROUP BY GROUPING SETS ((), (outcome, category))`,
    [strings.find(webhookId), since],
  );
  return summaryOf(rows);
}

function summaryOf(rows: readonly StatRow[]): AttemptStats {
  const all = rows.find(([outcome]) => outcome === null);
  const outcomes: Record<Outcome, number> = { accepted: 0, transient: 0, terminal: 0 };
  const byCategory: Partial<Record<FailureCategory, number>> = {};
  for (const [outcome, category, count] of rows) {
    if (outcome === null) continue;
    outcomes[decode(outcomeCodes, outcome)] += count;
    const name = decodeOrNull(categoryCodes, category);
    if (name !== null) byCategory[name] = (byCategory[name] ?? 0) + count;
  }
  return {
    total: all?.[2] ?? 0,
    ...outcomes,
    byCategory,
    durationMsP50: all?.[3] ?? null,
    durationMsP95: all?.[4] ?? null,
    lastAttemptAt: all?.[5] ?? null,
  };
}

/**
 * Waiting deliveries in the lanes of a webhook, up to $2. Two lookups per lane, because each partial index covers one
 * kind of row: free or leased.
 */
const waitingIn = (webhook: string): string => `SELECT f.delivery, f.priority
    FROM posthorn.strings w JOIN posthorn.lanes l ON l.webhook = w.ref CROSS JOIN LATERAL (
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL LIMIT $2)
      UNION ALL
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT $2)) f
    WHERE w.string = ${webhook} LIMIT $2`;

const backlogSql = `WITH looked AS MATERIALIZED (${waitingIn("$1")})
  SELECT k.priority, count(*), min((SELECT d.created_at FROM posthorn.deliveries d WHERE d.seq = k.delivery))
  FROM looked k GROUP BY k.priority ORDER BY k.priority`;

/** The lowest position is the oldest, except for commits that ran concurrently. */
const waitingSql = `SELECT g.id, k.total, d.created_at
  FROM unnest($1::text[]) AS g (id)
    CROSS JOIN LATERAL (SELECT count(*) AS total, min(f.delivery) AS first FROM (${waitingIn("g.id")}) f) AS k
    JOIN posthorn.deliveries d ON d.seq = k.first`;

async function waitingOfWebhooks(
  { maintenance }: Pick<StoreState, "maintenance">,
  { webhookIds, countMax }: WaitingQuery,
): Promise<ReadonlyMap<string, WaitingCount>> {
  const rows = await maintenance.rows<[webhookId: string, total: number, oldest: number]>(waitingSql, [
    texts(webhookIds),
    countMax + 1,
  ]);
  return new Map(
    rows.map(([webhookId, total, oldestCreatedAt]) => [
      webhookId,
      { total: Math.min(total, countMax), isMore: total > countMax, oldestCreatedAt },
    ]),
  );
}

async function backlogOfWebhook(
  { maintenance }: Pick<StoreState, "maintenance">,
  webhookId: string,
  countMax: number,
): Promise<Backlog> {
  // One row more than is counted shows whether there are more.
  const rows = await maintenance.rows<BacklogRow>(backlogSql, [webhookId, countMax + 1]);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  const last = rows.at(-1);
  if (total <= countMax || last === undefined) return backlogOf(rows, false);
  return backlogOf([...rows.slice(0, -1), [last[0], last[1] - 1, last[2]]], true);
}

/** Conditions of a listing as SQL with their values; null when no row can match. */
interface Filter {
  readonly where: string;
  readonly values: readonly Value[];
}

/** Collects conditions; a string that was never stored makes the whole filter empty. */
class FilterDraft {
  readonly #conditions: string[] = ["true"];
  readonly #values: Value[] = [];
  #empty = false;

  equal(column: string, value: number | null): void {
    if (value === null) this.#empty = true;
    else this.add(`${column} = ?`, value);
  }

  oneOf(column: string, values: readonly (number | null)[]): void {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) this.#empty = true;
    else this.add(`${column} = ANY (?::int[])`, numbers(known));
  }

  created(from: number | null, to: number | null): void {
    if (from !== null) this.add("d.created_at >= ?", from);
    if (to !== null) this.add("d.created_at <= ?", to);
  }

  ofEvent(id: string): void {
    if (!isStoredId(id)) this.#empty = true;
    else this.add("d.event = (SELECT seq FROM posthorn.events WHERE id = ?::uuid LIMIT 1)", id);
  }

  add(condition: string, value: Value): void {
    this.#values.push(value);
    this.#conditions.push(condition.replace("?", `$${this.#values.length}`));
  }

  done(): Filter | null {
    return this.#empty ? null : { where: this.#conditions.join(" AND "), values: this.#values };
  }
}

/** The listed table is `d`. */
async function deliveryFilter(
  strings: StringTable,
  query: Omit<DeliveryQuery, "page">,
): Promise<Filter | null> {
  await strings.lookUp([query.tenantId, query.webhookId].filter((string) => string !== null));
  const draft = new FilterDraft();
  if (query.tenantId !== null) draft.equal("d.tenant", strings.find(query.tenantId));
  if (query.webhookId !== null) draft.equal("d.webhook", strings.find(query.webhookId));
  if (query.eventId !== null) draft.ofEvent(query.eventId);
  if (query.states !== null) {
    draft.oneOf(
      "d.state",
      query.states.map((state) => stateCodes.encode[state]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}

/** The listed tables are `l` (dead letters), `d` and `e`. */
async function deadLetterFilter(
  strings: StringTable,
  query: Omit<DeadLetterQuery, "page">,
): Promise<Filter | null> {
  const { tenantId, webhookIds, eventTypes, categories } = query;
  await strings.lookUp([
    ...(tenantId === null ? [] : [tenantId]),
    ...(webhookIds ?? []),
    ...(eventTypes ?? []),
  ]);
  const draft = new FilterDraft();
  const find = (string: string) => strings.find(string);
  if (tenantId !== null) draft.equal("l.tenant", find(tenantId));
  if (webhookIds !== null) draft.oneOf("d.webhook", webhookIds.map(find));
  if (eventTypes !== null) draft.oneOf("e.event_type", eventTypes.map(find));
  if (categories !== null) {
    draft.oneOf(
      "d.category",
      categories.map((category) => categoryCodes.encode[category]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}

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
    const rows = await this.#state.maintenance.rows<DeliveryRow>(
      `SELECT ${columns} FROM ${from} WHERE d.id = ANY ($1::uuid[])`,
      [plainWords(ids.filter(isStoredId))],
    );
    const found = await this.#rows.deliveries(rows);
    return found.filter((row) => tenantId === null || row.tenantId === tenantId);
  }

  async payloadsGone(eventIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#state.maintenance.rows<[id: string]>(
      "SELECT id FROM posthorn.events WHERE id = ANY ($1::uuid[]) AND body IS NULL",
      [plainWords(eventIds.filter(isStoredId))],
    );
    return new Set(rows.map(([id]) => id));
  }

  async sentByOperation(query: OperationDeliveriesQuery): Promise<OperationDeliveries> {
    const { operationId, after, limit } = query;
    if (!isStoredId(operationId)) return { states: {}, next: null };
    const rows = await this.#state.maintenance.rows<[seq: number, state: number]>(
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
    return this.#state.maintenance.rows<Row>(
      `SELECT ${columns} FROM ${from} WHERE ${column} = $1::uuid LIMIT 1`,
      [id],
    );
  }

  async #page<Row extends readonly [position: number, ...columns: unknown[]]>(
    { columns, from, position }: Listing,
    filter: Filter | null,
    page: PageRequest,
  ): Promise<Page<Row>> {
    if (filter === null) return { rows: [], next: null };
    const at = filter.values.length;
    // One row more than the limit shows whether there is an older one.
    const rows = await this.#state.maintenance.rows<Row>(
      `SELECT ${columns} FROM ${from} WHERE ${filter.where} AND ${position} < $${at + 1}
       ORDER BY ${position} DESC LIMIT $${at + 2} OFFSET $${at + 3}`,
      [...filter.values, page.before ?? Number.MAX_SAFE_INTEGER, page.limit + 1, page.offset],
    );
    const shown = rows.slice(0, page.limit);
    return { rows: shown, next: rows.length > page.limit ? (shown.at(-1)?.[0] ?? null) : null };
  }

  async #count({ from }: Listing, filter: Filter | null, countMax: number): Promise<number> {
    if (filter === null) return 0;
    const [row] = await this.#state.maintenance.rows<[count: number]>(
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

import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { AttemptRecord } from "../../../domain/delivery.ts";
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
import { categoryCodes, exhausted, stateCodes } from "../../column-values.ts";
import { countedByState } from "../../history-rows.ts";
import { chunkEnd, chunkKinds, chunkOf, chunkStart } from "../driver/chunks.ts";
import { type Connection, StatementCache } from "../driver/connection.ts";
import type { StringTable } from "../driver/string-table.ts";
import type { StoreState } from "../state.ts";
import { AttemptReader, HistoryRows } from "./history-rows.ts";
import { BacklogCounter } from "./backlog.ts";
import { DeliverySearches, EventSearches } from "./delivery-searches.ts";

/** Conditions of a listing as SQL with their values; null when no row can match. */
interface Filter {
  readonly conditions: readonly string[];
  readonly values: readonly (number | string)[];
}

/** Collects conditions; a string that was never stored makes the whole filter empty. */
class FilterDraft {
  readonly conditions: string[] = [];
  readonly values: (number | string)[] = [];
  empty = false;

  equal(column: string, value: number | null): void {
    if (value === null) this.empty = true;
    else this.add(`${column} = ?`, value);
  }

  oneOf(column: string, values: readonly (number | null)[]): void {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) this.empty = true;
    // One parameter for any list length, so that the statement can be cached.
    else this.add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(known));
  }

  created(from: number | null, to: number | null): void {
    if (from !== null) this.add("d.created_at >= ?", from);
    if (to !== null) this.add("d.created_at <= ?", to);
  }

  add(condition: string, ...values: (number | string)[]): void {
    this.conditions.push(condition);
    this.values.push(...values);
  }

  done(): Filter | null {
    return this.empty ? null : { conditions: this.conditions, values: this.values };
  }
}

/**
 * The listed table is `d`. `tenantId` is the webhook's tenant when only the webhook was given, so that the index on
 * both can be used.
 */
function deliveryFilter(
  strings: StringTable,
  query: Omit<DeliveryQuery, "page">,
  tenantIds: readonly string[],
): Filter | null {
  const draft = new FilterDraft();
  for (const tenantId of tenantIds) draft.equal("d.tenant", strings.find(tenantId));
  if (query.webhookId !== null) draft.equal("d.webhook", strings.find(query.webhookId));
  if (query.states !== null) {
    const codes = query.states.map((state) => stateCodes.encode[state]);
    draft.add(`d.state IN (${codes.join(", ")})`);
  }
  draft.created(query.from, query.to);
  return draft.done();
}

function deadLetterFilter(strings: StringTable, query: Omit<DeadLetterQuery, "page">): Filter | null {
  const draft = new FilterDraft();
  draft.add(`d.state = ${exhausted}`);
  if (query.tenantId !== null) draft.equal("d.tenant", strings.find(query.tenantId));
  if (query.webhookIds !== null)
    draft.oneOf(
      "d.webhook",
      query.webhookIds.map((id) => strings.find(id)),
    );
  if (query.eventTypes !== null) {
    draft.oneOf(
      "(SELECT event_type FROM events WHERE seq = d.event)",
      query.eventTypes.map((name) => strings.find(name)),
    );
  }
  if (query.categories !== null) {
    draft.oneOf(
      "d.category",
      query.categories.map((category) => categoryCodes.encode[category]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}

/** How a listing finds its rows: newest first, chunk by chunk. */
interface Walk {
  /** The newest chunk that can hold rows below a position; null when there is none. */
  readonly chunkBelow: (before: number) => number | null;
  /** Positions of matching rows in one chunk, descending. */
  readonly seqs: (slice: ChunkSlice) => readonly number[];
}

interface ChunkSlice {
  readonly chunk: number;
  readonly before: number;
  readonly limit: number;
}

/** Chunks per turn of the event loop: about a millisecond when nothing in them matches. */
const chunksPerTurn = 4;

/**
 * Collects up to `limit` positions. A rare filter may have to search the whole history. It lets other work run between
 * chunks, so it takes long for the caller but blocks nothing else.
 */
async function collectSeqs(
  connection: Connection,
  walk: Walk,
  search: { readonly before: number | null; readonly limit: number },
): Promise<readonly number[]> {
  const found: number[] = [];
  let before: number | null = search.before ?? Number.MAX_SAFE_INTEGER;
  while (before !== null && found.length < search.limit) {
    const from: number = before;
    before = connection.read(() => walkTurn(walk, from, found, search.limit));
    if (before !== null && found.length < search.limit) await setImmediate();
  }
  return found;
}

/** Adds the matches of a few chunks; returns where to continue, null at the end. */
function walkTurn(walk: Walk, from: number, found: number[], limit: number): number | null {
  let before = from;
  for (let turns = 0; turns < chunksPerTurn && found.length < limit; turns += 1) {
    const chunk = walk.chunkBelow(before);
    if (chunk === null) return null;
    for (const seq of walk.seqs({ chunk, before, limit: limit - found.length })) found.push(seq);
    before = chunkStart(chunk);
  }
  return before;
}

/** One page of a walk; `read` turns a position into a row, or undefined when upkeep removed it in between. */
async function readPage<Row>(
  connection: Connection,
  walk: Walk,
  page: PageRequest,
  read: (seq: number) => Row | undefined,
): Promise<Page<Row>> {
  const { limit, offset, before } = page;
  // One row more than requested shows whether there is an older one.
  const seqs = await collectSeqs(connection, walk, { before, limit: offset + limit + 1 });
  const shown = seqs.slice(offset, offset + limit);
  const rows = connection.read(() => shown.map((seq) => read(seq)).filter((row) => row !== undefined));
  return { rows, next: seqs.length > offset + limit ? (shown.at(-1) ?? null) : null };
}

interface WalkContext {
  readonly state: StoreState;
  readonly statements: StatementCache;
}

function deliveryWalk(
  context: WalkContext,
  query: Omit<DeliveryQuery, "page">,
  tenantIds: readonly string[],
): Walk | null {
  const filter = deliveryFilter(context.state.strings, query, tenantIds);
  if (filter === null) return null;
  if (query.eventId !== null) return eventDeliveriesWalk(context, query.eventId, filter);
  const indexed = tenantIds.length > 0 || query.webhookId !== null;
  return {
    chunkBelow: (before) => chunkBelow(context.state, query.from, query.to, before),
    seqs: sliceReader(context, { filter, isOwned: indexed }),
  };
}

/**
 * The dead letters of a tenant have a separate index, so chunks without any are skipped. `tenantIds` are the tenants of
 * all results, null if unknown.
 */
function deadLetterWalk(
  context: WalkContext,
  query: Omit<DeadLetterQuery, "page">,
  tenantIds: readonly string[] | null,
): Walk | null {
  const { state, statements } = context;
  const filter = deadLetterFilter(state.strings, query);
  if (filter === null) return null;
  const tenants =
    tenantIds === null
      ? state.counters.deadLetters().map(([tenant]) => tenant)
      : tenantIds.map((id) => state.strings.find(id)).filter((tenant) => tenant !== null);
  const names = JSON.stringify(tenants);
  const isDead = "state = 3";
  const newest = statements.get(
    `SELECT max((SELECT max(d.seq) FROM deliveries d INDEXED BY deliveries_dead
       WHERE d.${isDead} AND d.tenant = t.value AND d.seq < ?)) FROM json_each(?) t`,
  );
  const conditions = filter.conditions.map((condition) => `AND ${condition}`).join(" ");
  const slice = statements.get(
    `SELECT d.seq FROM json_each(?) t CROSS JOIN deliveries d INDEXED BY deliveries_dead
       ON d.${isDead} AND d.tenant = t.value AND d.seq >= ? AND d.seq <= ? AND d.seq < ?
     WHERE true ${conditions} ORDER BY d.seq DESC LIMIT ?`,
  );
  return {
    chunkBelow: (before) => {
      const [seq] = newest.get(before, names) as unknown as [seq: number | null];
      return seq === null ? null : chunkOf(seq);
    },
    // Also by the index, so that few rows are read of a chunk with few dead letters.
    seqs: ({ chunk, before, limit }) => {
      const range = [chunkStart(chunk), chunkEnd(chunk), before];
      const rows = slice.all(names, ...range, ...filter.values, limit) as unknown as [seq: number][];
      return rows.map(([seq]) => seq);
    },
  };
}

/** Deliveries of one event: those written with it are contiguous, later ones are listed by event. */
function eventDeliveriesWalk(context: WalkContext, eventId: string, filter: Filter): Walk | null {
  const { statements } = context;
  const event = statements
    .get("SELECT seq, delivery_first, delivery_count FROM events WHERE id = ?")
    .get(eventId) as unknown as [seq: number, first: number, count: number] | undefined;
  if (event === undefined) return null;
  const [seq, first, count] = event;
  const ofEvent = statements.get(
    `SELECT seq FROM (
       SELECT seq FROM deliveries WHERE seq >= ?1 AND seq < ?2 AND seq < ?4
       UNION ALL SELECT delivery FROM event_requeues WHERE event = ?3 AND delivery < ?4)
     ORDER BY seq DESC LIMIT 1`,
  );
  const scope = "d.event = ?";
  return {
    chunkBelow: (before) => {
      const newest = ofEvent.get(first, first + count, seq, before) as unknown as [seq: number] | undefined;
      return newest === undefined ? null : chunkOf(newest[0]);
    },
    seqs: sliceReader(context, {
      filter: { conditions: [...filter.conditions, scope], values: [...filter.values, seq] },
      isOwned: false,
    }),
  };
}

function chunkBelow(
  state: StoreState,
  from: number | null,
  to: number | null,
  before: number,
): number | null {
  return state.chunks.atOrBelow(chunkKinds.deliveries, { from, to, chunk: chunkOf(before - 1) });
}

/** Uses the index on (chunk, owner) if the owner is known, and scans the rows otherwise. */
function sliceReader(
  context: WalkContext,
  source: { readonly filter: Filter; readonly isOwned: boolean },
): (slice: ChunkSlice) => readonly number[] {
  const { filter, isOwned } = source;
  const scope = isOwned ? "d.seq >> 12 = ? AND d.seq < ?" : "d.seq >= ? AND d.seq <= ? AND d.seq < ?";
  const where = [scope, ...filter.conditions].join(" AND ");
  const from = isOwned ? "deliveries d INDEXED BY deliveries_owner" : "deliveries d";
  const statement = context.statements.get(
    `SELECT d.seq FROM ${from} WHERE ${where} ORDER BY d.seq DESC LIMIT ?`,
  );
  return ({ chunk, before, limit }) => {
    const range = isOwned ? [chunk, before] : [chunkStart(chunk), chunkEnd(chunk), before];
    const rows = statement.all(...range, ...filter.values, limit) as unknown as [seq: number][];
    return rows.map(([seq]) => seq);
  };
}

/** Reads for people. `walkTurn` and chunks.ts describe how listings stay fast without an index per filter. */
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

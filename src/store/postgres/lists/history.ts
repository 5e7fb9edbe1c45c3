import type { AttemptRecord } from "../../../domain/delivery.ts";
import type { FailureCategory, Outcome } from "../../../domain/classify.ts";
import type {
  AttemptStats,
  Backlog,
  EventSummary,
  HistoryStore,
  OperationDeliveries,
  OperationDeliveriesQuery,
  StoredDelivery,
  StoredEvent,
  WaitingCount,
  WaitingQuery,
} from "../../../ports/store/history.ts";
import type { DeliveryFilter, DeliverySearch, EventSearch, SearchPage } from "../../../ports/store/search.ts";
import { categoryCodes, decode, decodeOrNull, isStoredId, outcomeCodes } from "../../column-values.ts";
import {
  type AttemptRow,
  backlogOf,
  type BacklogRow,
  countedByState,
  type DeliveryRow,
  type EventRow,
  ownedBy,
  toAttempt,
} from "../../history-rows.ts";
import { plainWords, texts } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import { attemptColumns, deliveryColumns, eventColumns, HistoryRows, ofDelivery } from "./history-rows.ts";
import { DeliverySearches, EventSearches } from "./searches.ts";

/** One row per outcome and category, and a row of totals whose `outcome` is null. */
type StatRow = [
  outcome: number | null,
  category: number | null,
  count: number,
  durationMsP50: number | null,
  durationMsP95: number | null,
  lastAttemptAt: number | null,
];

/** Statistics read no more than this many attempts, as the port promises. */
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
 * Waiting deliveries in the lanes of a webhook, up to $2. There are two lookups per lane, because each partial index
 * covers one kind of row: unleased or leased.
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
  // Reads one row more than the limit, to detect whether there are more rows.
  const rows = await maintenance.rows<BacklogRow>(backlogSql, [webhookId, countMax + 1]);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  const last = rows.at(-1);
  if (total <= countMax || last === undefined) return backlogOf(rows, false);
  return backlogOf([...rows.slice(0, -1), [last[0], last[1] - 1, last[2]]], true);
}

const eventsSql = `SELECT ${eventColumns} FROM posthorn.events e`;
const deliveriesSql = `SELECT ${deliveryColumns} FROM posthorn.deliveries d ${ofDelivery}`;

/** Interactive queries, over the maintenance pool. */
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
    const [event] = await this.#rows.events(await this.#byId<EventRow>(eventsSql, "e.id", id));
    return ownedBy(tenantId, event);
  }

  async searchEvents(search: EventSearch): Promise<SearchPage<EventSummary>> {
    return this.#events.page(search);
  }

  async getDelivery(tenantId: string | null, id: string): Promise<StoredDelivery | null> {
    const [delivery] = await this.#rows.deliveries(await this.#byId<DeliveryRow>(deliveriesSql, "d.id", id));
    return ownedBy(tenantId, delivery);
  }

  async getDeliveries(tenantId: string | null, ids: readonly string[]): Promise<readonly StoredDelivery[]> {
    const rows = await this.#state.maintenance.rows<DeliveryRow>(
      `${deliveriesSql} WHERE d.id = ANY ($1::uuid[])`,
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

  async searchDeliveries(search: DeliverySearch): Promise<SearchPage<StoredDelivery>> {
    return this.#searches.page(search);
  }

  async countDeliveries(filter: DeliveryFilter, countMax: number): Promise<number> {
    return this.#searches.count(filter, countMax);
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
    select: string,
    column: string,
    id: string,
  ): Promise<readonly Row[]> {
    if (!isStoredId(id)) return [];
    return this.#state.maintenance.rows<Row>(`${select} WHERE ${column} = $1::uuid LIMIT 1`, [id]);
  }
}

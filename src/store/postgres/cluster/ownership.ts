import type { LaneKey } from "../../../domain/webhook.ts";
import type { LanePage, WebhookRuntimeState } from "../../../ports/store/deliveries.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  Acquisition,
  EndpointReportRow,
  FollowedOrders,
  Handover,
  Heartbeat,
  JoiningWorker,
  OverdueQuery,
  OwnershipStore,
  PendingLane,
  PendingLanePage,
  RateHandover,
  RuntimeOrder,
  WorkerLife,
} from "../../../ports/store/ownership.ts";
import { orderingCodes, tierSpan } from "../../column-values.ts";
import { type RuntimeRow, toRuntimeState } from "../../document-rows.ts";
import { numbers, texts } from "../driver/sql.ts";
import type { Value } from "../driver/database.ts";
import { hasFree, hasLeased, lanesFound } from "../events/lane-counters.ts";
import type { StoreState } from "../state.ts";
import type { ConfigAnnouncer } from "./config-changes.ts";
import {
  acquireLeadershipSql,
  acquireNamedSql,
  type AcquireRow,
  acquireWorkSql,
  followedSql,
  freeNamedSql,
  heartbeatSql,
  joinSql,
  lanesPerPage,
  leaveSql,
  ordersForWebhooksSql,
  ordersForWorkerSql,
  ownedBesideSql,
  pendingLanesAfter,
  pendingLanesIn,
  poolsSql,
  reapSql,
  releaseSql,
  reportSql,
  reportsSql,
  retireSql,
} from "./ownership-sql.ts";

type OverdueRow = [lane: number, overdue: boolean];

const tiers = [0, 1, 2] as const;

const freeDue = (tier: number): string =>
  hasFree(
    "l.ref",
    `q.queue_position >= ${tier * tierSpan} AND q.queue_position <= ${tier * tierSpan} + least(greatest($4::bigint,
      0), ${tierSpan - 1})`,
  );

const leased = (until: string): string => hasLeased("l.ref", `q.lease_until ${until}`);

/**
 * Due time of the oldest delivery of an ordered lane that has no running leases. This delivery is either unleased or
 * has an expired lease. The number of expired leases is bounded by the number of deliveries that a process holds in
 * memory.
 */
const headDueAt = `(SELECT d.due_at FROM (
      (SELECT q.delivery, q.queue_position FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL
        ORDER BY q.queue_position, q.delivery LIMIT 1)
      UNION ALL SELECT q.delivery, q.queue_position FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT
        NULL) AS first
    JOIN posthorn.deliveries d ON d.seq = first.delivery ORDER BY first.queue_position, first.delivery LIMIT 1)`;

/**
 * A page of $2 lanes with work after lane $1, and whether worker $3 could have claimed deliveries in them since $4.
 * Each lookup reads a row or two of an index (lane-counters.ts), and only for webhooks that the worker owns.
 */
const overdueSql = `WITH RECURSIVE ${lanesFound("$1::int")},
  looked AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2)
  SELECT l.ref, CASE WHEN o.webhook IS NULL THEN false
    WHEN l.ordering = ${orderingCodes.encode.none} THEN ${tiers.map(freeDue).join("\n      OR ")} OR ${leased("<= $4")}
    WHEN ${leased("> $4")} THEN false
    ELSE coalesce(${headDueAt} <= $4, false) END
  FROM looked JOIN posthorn.lanes l ON l.ref = looked.lane
  LEFT JOIN posthorn.ownership o ON o.webhook = l.webhook AND o.worker = $3
  ORDER BY l.ref`;

/** Lanes from which the owner could have claimed a long time ago but did not. */
async function overdueLanes(
  { database, lanes }: Pick<StoreState, "database" | "lanes">,
  { worker, before, after, limit }: OverdueQuery,
): Promise<LanePage> {
  const from = after === null ? 0 : Number(after);
  const rows = await database.rows<OverdueRow>(overdueSql, [from, limit, worker, before]);
  const found = rows.filter(([, overdue]) => overdue).map(([ref]) => ref);
  await lanes.load(found);
  const last = rows.at(-1)?.[0];
  return {
    lanes: found.map((ref) => lanes.byRef(ref).key),
    next: rows.length < limit || last === undefined ? null : String(last),
  };
}

/**
 * A heartbeat that waits for a lock is cancelled early and repeated, because at least one of the four heartbeats in a
 * worker's lifetime has to succeed.
 */
const heartbeatBounds = { statementMs: 2_500, lockMs: 2_000 };

/** After a restart of the database, the other workers either rejoin within this time (two heartbeats) or are dead. */
const returnMs = 6_000;

/** Stores ownership in rows. Only the database's clock decides whether a worker is alive. */
export class PostgresOwnership implements OwnershipStore {
  readonly #state: StoreState;
  readonly #config: ConfigAnnouncer;
  /** When the database last answered a heartbeat or the registration of a worker. */
  #heardMs = performance.now();
  /**
   * No worker is reaped before this time: the restart of the database also disconnected the other workers, which may be
   * about to rejoin.
   */
  #reapsFromMs = Number.NEGATIVE_INFINITY;

  constructor(state: StoreState, config: ConfigAnnouncer) {
    this.#state = state;
    this.#config = config;
  }

  async join({ aliveMs, pool, keeps = [] }: JoiningWorker): Promise<number> {
    const { database, membership, strings } = this.#state;
    const { worker: former, token: formerToken } =
      membership.worker === null ? (membership.joined ?? nobody) : nobody;
    if (former !== null) await strings.lookUp(keeps.map(({ webhookId }) => webhookId));
    const known = former === null ? [] : keeps.filter(({ webhookId }) => strings.find(webhookId) !== null);
    const given = [
      aliveMs,
      pool,
      former,
      formerToken,
      numbers(known.map(({ webhookId }) => strings.ref(webhookId))),
      numbers(known.map(({ ownerEpoch }) => ownerEpoch)),
    ];
    const [row] = await database.rows<[worker: number, token: string]>(joinSql, given);
    if (row === undefined) throw new Error("the database did not assign a number to the worker");
    const [worker, token] = row;
    this.#heardMs = performance.now();
    if (former !== null) this.#reapsFromMs = this.#heardMs + returnMs;
    membership.worker = worker;
    membership.joined = { worker, token };
    membership.former.delete(worker);
    return worker;
  }

  async heartbeat({ worker, aliveMs }: WorkerLife): Promise<Heartbeat | null> {
    const { database } = this.#state;
    if (this.#isFormer(worker)) return null;
    const sentMs = performance.now();
    const [row] = await database.rows<[workers: number, owned: number]>(
      heartbeatSql,
      [worker, aliveMs],
      heartbeatBounds,
    );
    const wasAway = sentMs - this.#heardMs > aliveMs;
    this.#heardMs = performance.now();
    if (row === undefined) return null;
    // The cause of this worker's missed heartbeats may have affected the others too, so give them time before they are
    // reaped.
    if (!wasAway && sentMs >= this.#reapsFromMs) await database.rows(reapSql, [worker], heartbeatBounds);
    return { workers: row[0], owned: row[1] };
  }

  async acquire(request: AcquireRequest): Promise<Acquisition> {
    const { worker, from, limit, slack } = request;
    if (this.#isFormer(worker)) return { webhooks: [], next: null };
    const bounds = [worker, limit, slack] as const;
    if (from.kind === "webhooks") {
      const refs = await this.#refs(from.ids);
      if (refs.length === 0) return { webhooks: [], next: null };
      return this.#acquired(await this.#rows(acquireNamedSql, [...bounds, numbers(refs)]));
    }
    const after = from.after === null ? 0 : Number(from.after);
    const except = numbers(await this.#refs(from.except));
    const rows = await this.#rows(acquireWorkSql, [...bounds, after, except]);
    // Every row has these columns, and there is always at least one row.
    const [, , , , , , , , , , lastLane, looked] = rows[0] ?? noRow;
    const { webhooks } = await this.#acquired(rows);
    return { webhooks, next: looked < lanesPerPage || lastLane === null ? null : String(lastLane) };
  }

  async pendingLanes(keys: readonly LaneKey[]): Promise<readonly PendingLane[]> {
    const { lanes } = this.#state;
    await lanes.lookUp(keys);
    const refs = keys.flatMap((key) => lanes.find(key)?.ref ?? []);
    return refs.length === 0 ? [] : pendingLanesIn(this.#state, refs);
  }

  async unownedLanes(after: string | null, limit: number): Promise<PendingLanePage> {
    const { lanes, next } = await pendingLanesAfter(this.#state, Number(after ?? 0), limit);
    return {
      lanes: lanes.filter(({ worker }) => worker === null),
      next: next === null ? null : String(next),
    };
  }

  async overdue(query: OverdueQuery): Promise<LanePage> {
    return this.#isFormer(query.worker) ? { lanes: [], next: null } : overdueLanes(this.#state, query);
  }

  async release(worker: number, webhooks: readonly Handover[]): Promise<void> {
    const { strings, database, announcer } = this.#state;
    if (this.#isFormer(worker)) return;
    await strings.lookUp(webhooks.map(({ state }) => state.webhookId));
    const known = webhooks.filter(({ state }) => strings.find(state.webhookId) !== null);
    if (known.length === 0) return;
    const states = known.map(({ state }) => state);
    const rows = await database.rows<[lane: number]>(releaseSql, [
      worker,
      numbers(states.map(({ webhookId }) => strings.ref(webhookId))),
      `{${known.map(({ rateFullAt }) => rateFullAt ?? "NULL").join(",")}}`,
      numbers(states.map(({ pausedUntil }) => pausedUntil)),
      texts(states.map(({ pauseReason }) => pauseReason)),
      numbers(states.map(({ lastSuccessAt }) => lastSuccessAt)),
      texts(states.map(({ circuit }) => circuit)),
      texts(states.map(({ health }) => health)),
      numbers(states.map(({ ownerEpoch }) => ownerEpoch ?? null)),
    ]);
    announcer.announce(rows.map(([lane]) => lane));
  }

  /**
   * Reads and releases in two statements, because a single delayed statement would release webhooks that the worker has
   * acquired since.
   */
  async keepOnly(worker: number, webhookIds: readonly string[]): Promise<void> {
    const { database, announcer } = this.#state;
    if (this.#isFormer(worker)) return;
    const kept = numbers(await this.#refs(webhookIds));
    const owned = await database.rows<[webhook: number, ownerEpoch: number]>(ownedBesideSql, [worker, kept]);
    if (owned.length === 0) return;
    const rows = await database.rows<[lane: number]>(freeNamedSql, [
      worker,
      numbers(owned.map(([webhook]) => webhook)),
      numbers(owned.map(([, ownerEpoch]) => ownerEpoch)),
    ]);
    announcer.announce(rows.map(([lane]) => lane));
  }

  async retire(worker: number): Promise<void> {
    if (!this.#isFormer(worker)) await this.#state.database.rows(retireSql, [worker]);
  }

  async pools(): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.#state.maintenance.rows<[pool: string, workers: number]>(poolsSql));
  }

  async leave(worker: number): Promise<void> {
    if (this.#isFormer(worker)) return;
    const rows = await this.#state.database.rows<[lane: number]>(leaveSql, [worker]);
    this.#state.announcer.announce(rows.map(([lane]) => lane));
  }

  async order(webhookId: string, order: string): Promise<void> {
    await this.#state.database.rows(
      "INSERT INTO posthorn.runtime_orders (webhook, document) VALUES ($1, $2)",
      [webhookId, order],
    );
    await this.#config.announce({ kind: "orders", webhookIds: [webhookId] });
  }

  async orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]> {
    const { database } = this.#state;
    if ("worker" in query && this.#isFormer(query.worker)) return [];
    type Row = [ref: number, webhookId: string, order: string];
    const rows =
      "worker" in query
        ? await database.rows<Row>(ordersForWorkerSql, [query.worker])
        : await database.rows<Row>(ordersForWebhooksSql, [texts(query.webhookIds)]);
    return rows.map(([ref, webhookId, order]) => ({ ref, webhookId, order }));
  }

  async report(rows: readonly EndpointReportRow[]): Promise<void> {
    const { strings, maintenance } = this.#state;
    await strings.lookUp(rows.map(({ webhookId }) => webhookId));
    const known = rows.filter(({ webhookId }) => strings.find(webhookId) !== null);
    if (known.length === 0) return;
    await maintenance.rows(reportSql, [
      numbers(known.map(({ webhookId }) => strings.ref(webhookId))),
      numbers(known.map(({ ownerEpoch }) => ownerEpoch)),
      texts(known.map(({ document }) => document)),
    ]);
  }

  async reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]> {
    const rows = await this.#state.database.rows<[webhookId: string, ownerEpoch: number, document: string]>(
      reportsSql,
      [texts(webhookIds)],
    );
    return rows.map(([webhookId, ownerEpoch, document]) => ({ webhookId, ownerEpoch, document }));
  }

  async states(webhookIds: readonly string[]): Promise<readonly WebhookRuntimeState[]> {
    const rows = await this.#state.database.rows<RuntimeRow>(
      `SELECT webhook, paused_until, pause_reason, last_success_at, circuit, health
       FROM posthorn.webhook_states WHERE webhook = ANY ($1::text[])`,
      [texts(webhookIds)],
    );
    return rows.map(toRuntimeState);
  }

  async followed({ worker, refs }: FollowedOrders): Promise<void> {
    if (refs.length > 0 && !this.#isFormer(worker))
      await this.#state.database.rows(followedSql, [worker, numbers(refs)]);
  }

  async acquireLeadership(name: string, owner: string, forMs: number): Promise<boolean> {
    const rows = await this.#state.database.rows(acquireLeadershipSql, [name, owner, forMs]);
    return rows.length > 0;
  }

  async leaderships(): Promise<ReadonlySet<string>> {
    const rows = await this.#state.maintenance.rows<[name: string]>(
      "SELECT name FROM posthorn.leadership WHERE until > clock_timestamp()",
    );
    return new Set(rows.map(([name]) => name));
  }

  #rows(sql: string, values: readonly Value[]): Promise<readonly AcquireRow[]> {
    return this.#state.database.rows<AcquireRow>(sql, values);
  }

  /** A worker of an earlier server run counts as reaped, and its number may belong to another worker. */
  #isFormer(worker: number): boolean {
    return this.#state.membership.former.has(worker);
  }

  /** A webhook whose id has no number never had a delivery, so there is nothing to own. */
  async #refs(ids: readonly string[]): Promise<readonly number[]> {
    if (ids.length === 0) return [];
    const { strings } = this.#state;
    await strings.lookUp(ids);
    return ids.map((id) => strings.find(id)).filter((ref) => ref !== null);
  }

  async #acquired(rows: readonly AcquireRow[]): Promise<Acquisition> {
    const { strings, lanes } = this.#state;
    const acquired = Map.groupBy(rows, ([webhook]) => webhook);
    acquired.delete(null);
    await strings.load([...acquired.keys()].flatMap((webhook) => webhook ?? []));
    await lanes.load(rows.flatMap(laneIn));
    const webhooks = [...acquired].map(([webhook, group]): AcquiredWebhook => {
      const webhookId = strings.text(webhook ?? 0);
      const first = group[0] ?? noRow;
      const [, ownerEpoch, rateHanded] = first;
      return {
        webhookId,
        ownerEpoch,
        runtime: runtimeOf(webhookId, first),
        rate: rateOf(rateHanded),
        lanes: group.flatMap(laneIn).map((lane) => lanes.byRef(lane).key),
      };
    });
    return { webhooks, next: null };
  }
}

/** A webhook without waiting deliveries still has a row, without a lane. */
function laneIn([, , , , , , , , , lane]: AcquireRow): readonly number[] {
  return lane === null ? [] : [lane];
}

const nobody = { worker: null, token: null };

const noRow: AcquireRow = [null, 0, null, false, null, null, null, null, null, null, null, 0];

function runtimeOf(webhookId: string, row: AcquireRow): AcquiredWebhook["runtime"] {
  const [, , , hasState, pausedUntil, pauseReason, lastSuccessAt, circuit, health] = row;
  return hasState ? { webhookId, pausedUntil, pauseReason, lastSuccessAt, circuit, health } : null;
}

/** Null: the last owner had no limit. Negative: the last owner died and reported nothing (../schema.ts). */
function rateOf(handed: number | null): RateHandover {
  if (handed === null) return { kind: "unused" };
  return handed < 0 ? { kind: "unknown" } : { kind: "full_at", fullAt: handed };
}

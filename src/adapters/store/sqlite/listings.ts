import type { DeadLetterQuery, DeliveryQuery } from "../../../ports/store/history.ts";
import { chunkEnd, chunkKinds, chunkOf, chunkStart } from "./chunks.ts";
import { deadLetterFilter, deliveryFilter, type Filter } from "./filters.ts";
import type { StoreState } from "./state.ts";
import type { StatementCache } from "./statement-cache.ts";
import type { ChunkSlice, Walk } from "./walk.ts";

export interface WalkContext {
  readonly state: StoreState;
  readonly statements: StatementCache;
}

export function deliveryWalk(
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
export function deadLetterWalk(
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

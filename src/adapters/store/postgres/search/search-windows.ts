import type { DeliverySearch } from "../../../../ports/store/search.ts";
import { numbers } from "../columns.ts";
import type { Parameters } from "./search-filter.ts";

/** What a search walks through: all rows, those of a tenant, of some webhooks or events, or the waiting deliveries. */
export type Scope =
  | { readonly kind: "everything" }
  | { readonly kind: "waiting" }
  | {
      readonly kind: "of";
      readonly column: "tenant" | "webhook" | "event";
      readonly owners: readonly number[];
    };

/** The bounds of the rest of a walk; both excluded. */
export interface Span<Place = number> {
  readonly above: Place;
  readonly below: Place;
}

export interface Window {
  readonly scope: Scope;
  readonly span: Span;
  readonly rows: number;
  readonly order: DeliverySearch["order"];
}

const columns = `d.seq, d.event, d.created_at, d.due_at, d.first_attempt_at, d.completed_at, d.id,
  d.retried_at, d.retried_attempts, d.retries, d.replay_of, d.replayed_by, d.tenant, d.webhook, d.lane, d.attempt_count, d.attempt_last, d.state, d.priority, d.origin, d.category, d.reason,
  d.format`;

/**
 * `OFFSET 0` keeps each a lookup of one row. Otherwise the planner may start with the attempts, and read all of them.
 */
export const withEvent = `CROSS JOIN LATERAL (
  SELECT e.id, e.event_type, e.idempotency_key FROM posthorn.events e WHERE e.seq = d.event OFFSET 0) e`;
export const withLastAttempt = `LEFT JOIN LATERAL (
  SELECT * FROM posthorn.attempts a WHERE a.delivery = d.seq AND a.number = d.attempt_last OFFSET 0) a ON true`;

/**
 * The next rows of a walk, matching or not. The filter is applied to these rows only, so the cost of a window depends
 * only on its size. Each query is written so that a single index has its order: with an equality instead of the row
 * comparison, the planner may choose to walk through all rows.
 */
export function windowSql({ scope, span, rows, order }: Window, parameters: Parameters): string {
  const direction = order === "oldest" ? "ASC" : "DESC";
  const above = `${parameters.add(span.above)}::bigint`;
  const below = `${parameters.add(span.below)}::bigint`;
  const limit = `LIMIT ${parameters.add(rows)}`;
  if (scope.kind === "everything") {
    return `SELECT ${columns} FROM posthorn.deliveries d WHERE d.seq > ${above} AND d.seq < ${below}
      ORDER BY d.seq ${direction} ${limit}`;
  }
  if (scope.kind === "waiting") {
    return `SELECT ${columns} FROM (SELECT q.delivery FROM posthorn.queue q
        WHERE q.delivery > ${above} AND q.delivery < ${below} ORDER BY q.delivery ${direction} ${limit}) q
      JOIN posthorn.deliveries d ON d.seq = q.delivery`;
  }
  const { column, owners } = scope;
  // The newest rows overall are among the newest rows of each owner.
  return `SELECT o.* FROM unnest(${parameters.add(numbers(owners))}::bigint[]) w CROSS JOIN LATERAL (
      SELECT ${columns} FROM posthorn.deliveries d
      WHERE (d.${column}, d.seq) > (w, ${above}) AND (d.${column}, d.seq) < (w, ${below})
      ORDER BY d.${column} ${direction}, d.seq ${direction} ${limit}) o
    ORDER BY o.seq ${direction} ${limit}`;
}

/**
 * The first position whose row was created at time $1 or later, found by binary search: rows are created in the order
 * of their positions, except for differences between clocks and commits.
 */
export const positionAtSql = (
  table: "events" | "deliveries",
): string => `WITH RECURSIVE halved (low, high) AS (
    SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) + 1 FROM posthorn.${table}
    UNION ALL
    SELECT CASE WHEN m.created_at < $1 THEN m.seq + 1 ELSE h.low END,
      CASE WHEN m.created_at < $1 THEN h.high ELSE (h.low + h.high) / 2 END
    FROM halved h LEFT JOIN LATERAL (SELECT d.seq, d.created_at FROM posthorn.${table} d
      WHERE d.seq >= (h.low + h.high) / 2 AND d.seq < h.high ORDER BY d.seq LIMIT 1) m ON true
    WHERE h.low < h.high)
  SELECT min(high) FROM halved`;

/** Positions of the events with key $1, of one tenant ($2) or of all. */
export const eventsOfKeySql = `SELECT n.seq FROM posthorn.tenant_sequences t
  CROSS JOIN LATERAL (SELECT k.event FROM posthorn.dedup_keys k WHERE k.tenant = t.tenant AND k.key = $1) k
  CROSS JOIN LATERAL (SELECT e.seq FROM posthorn.events e WHERE e.id = k.event LIMIT 1) n
  WHERE $2::int IS NULL OR t.tenant = $2`;

import { codeOf } from "../../../domain/thrown.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { clocksDifferMs, type DeliverySearch, type SearchPage } from "../../../ports/store/search.ts";
import { numbers } from "../driver/sql.ts";
import type { Transactor } from "../driver/database.ts";
import { searchBounds } from "../driver/server.ts";
import type { Parameters } from "./search-filter.ts";

/**
 * The rows that a search scans: all rows, those of a tenant, those of some webhooks or events, the waiting deliveries,
 * or the dead letters of a tenant (null: of all tenants).
 */
export type Scope =
  | { readonly kind: "everything" }
  | { readonly kind: "waiting" }
  | { readonly kind: "dead_letters"; readonly tenant: number | null }
  | {
      readonly kind: "of";
      readonly column: "tenant" | "webhook" | "event";
      readonly owners: readonly number[];
    };

/** The remaining range of a scan; both bounds are exclusive. */
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
 * `OFFSET 0` ensures that each join remains a lookup of one row. Otherwise, the planner may start with the attempts and
 * read all of them.
 */
export const withEvent = `CROSS JOIN LATERAL (
  SELECT e.id, e.event_type, e.idempotency_key FROM posthorn.events e WHERE e.seq = d.event OFFSET 0) e`;
export const withLastAttempt = `LEFT JOIN LATERAL (
  SELECT * FROM posthorn.attempts a WHERE a.delivery = d.seq AND a.number = d.attempt_last OFFSET 0) a ON true`;

/**
 * The next rows of a scan, whether they match or not. The filter is applied only to these rows, so the cost of a window
 * depends only on its size. Each query is written so that a single index has its order: with an equality instead of the
 * row comparison, the planner may choose to scan all rows.
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
  if (scope.kind === "dead_letters") {
    const tenant = scope.tenant === null ? null : `${parameters.add(scope.tenant)}::int`;
    const range =
      tenant === null
        ? `l.delivery > ${above} AND l.delivery < ${below} ORDER BY l.delivery ${direction}`
        : `(l.tenant, l.delivery) > (${tenant}, ${above}) AND (l.tenant, l.delivery) < (${tenant}, ${below})
           ORDER BY l.tenant ${direction}, l.delivery ${direction}`;
    return `SELECT ${columns} FROM (SELECT l.delivery FROM posthorn.dead_letters l WHERE ${range} ${limit}) l
      JOIN posthorn.deliveries d ON d.seq = l.delivery`;
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
const positionAtSql = (table: "events" | "deliveries"): string => `WITH RECURSIVE halved (low, high) AS (
    SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) + 1 FROM posthorn.${table}
    UNION ALL
    SELECT CASE WHEN m.created_at < $1 THEN m.seq + 1 ELSE h.low END,
      CASE WHEN m.created_at < $1 THEN h.high ELSE (h.low + h.high) / 2 END
    FROM halved h LEFT JOIN LATERAL (SELECT d.seq, d.created_at FROM posthorn.${table} d
      WHERE d.seq >= (h.low + h.high) / 2 AND d.seq < h.high ORDER BY d.seq LIMIT 1) m ON true
    WHERE h.low < h.high)
  SELECT min(high) FROM halved`;

/** Positions of the events with key $1, of one tenant ($2) or of all tenants. */
export const eventsOfKeySql = `SELECT n.seq FROM posthorn.tenant_sequences t
  CROSS JOIN LATERAL (SELECT k.event FROM posthorn.dedup_keys k WHERE k.tenant = t.tenant AND k.key = $1) k
  CROSS JOIN LATERAL (SELECT e.seq FROM posthorn.events e WHERE e.id = k.event LIMIT 1) n
  WHERE $2::int IS NULL OR t.tenant = $2`;

const rowsMin = 50;
const rowsMax = 10_000;
/** Target duration of one statement, so that a page ends soon after its time is up. */
const statementGoalMs = 25;

/** The result of a window: the number of rows, the last one, and the matches. */
export interface SeenWindow<Row, Place = number> {
  readonly looked: number;
  readonly reached: Place | null;
  readonly matches: readonly Row[];
}

/** The result of a window, with the creation time of its last row. */
export interface DatedWindow<Row> extends SeenWindow<Row> {
  readonly createdAt: number | null;
}

/** A window: its span, the number of rows, and how many matches are wanted. */
export interface WalkedWindow<Place = number> {
  readonly span: Span<Place>;
  readonly rows: number;
  readonly wanted: number;
}

type WalkSearch<Place> = Pick<DeliverySearch, "limit" | "budget"> & {
  readonly isOldestFirst: boolean;
  readonly span: Span<Place>;
  readonly rowsFirst: number;
};

/** Reads rows in the order of their positions. Also returns the creation time up to which it searched. */
export async function walkPositions<Row extends readonly [position: number, ...columns: unknown[]]>(
  search: WalkSearch<number> & { readonly createdAtOf: (row: Row) => number },
  look: (window: WalkedWindow) => Promise<DatedWindow<Row>>,
): Promise<SearchPage<Row>> {
  let lookedTo: number | null = null;
  const { rows, next, isCutShort } = await walkWindows<Row, number>(search, async (window) => {
    const seen = await look(window);
    lookedTo = seen.createdAt;
    return seen;
  });
  if (next === null) return { rows, next, searchedTo: null, isCutShort };
  const last = isCutShort ? undefined : rows.at(-1);
  const searchedTo = last === undefined ? lookedTo : search.createdAtOf(last);
  return { rows, next: { position: next, dueAt: null }, searchedTo, isCutShort };
}

/** Reads window by window, until the page is full or the budget is spent. Places are positions or ids. */
export async function walkWindows<Row extends readonly [place: Place, ...columns: unknown[]], Place>(
  search: WalkSearch<Place>,
  look: (window: WalkedWindow<Place>) => Promise<SeenWindow<Row, Place>>,
): Promise<Pick<SearchPage<Row, Place>, "rows" | "next" | "isCutShort">> {
  const { limit, budget, isOldestFirst } = search;
  const found: Row[] = [];
  let { span } = search;
  for (let rows = search.rowsFirst; ; ) {
    const begun = performance.now();
    const wanted = limit + 1 - found.length;
    const seen = await look({ span, rows, wanted }).catch(unlessItWasMuch(rows));
    if (seen === null) {
      rows = fewerRows(rows);
      continue;
    }
    found.push(...seen.matches);
    budget.spend(seen.looked);
    const isFull = found.length > limit;
    const { reached: at } = seen;
    if (at === null || (!isFull && seen.looked < rows)) return { rows: found, next: null, isCutShort: false };
    if (isFull || budget.isSpent) {
      const shown = found.slice(0, limit);
      return { rows: shown, next: isFull ? (shown.at(-1)?.[0] ?? at) : at, isCutShort: !isFull };
    }
    span = isOldestFirst ? { above: at, below: span.below } : { above: span.above, below: at };
    rows = nextRows(rows, performance.now() - begun);
  }
}

/** The span of positions that a search still has to examine, given its time range and the end of the previous page. */
export async function spanOf(
  maintenance: Transactor,
  search: Pick<DeliverySearch, "after"> & {
    readonly table: "events" | "deliveries";
    readonly range: { readonly from: number | null; readonly to: number | null };
    readonly isOldestFirst: boolean;
  },
): Promise<Span> {
  const { after, range, table, isOldestFirst } = search;
  const at = async (time: number): Promise<number> => {
    const [row] = await maintenance.rows<[position: number]>(positionAtSql(table), [time], searchBounds);
    return row?.[0] ?? 0;
  };
  const above = range.from === null ? -1 : (await at(range.from - clocksDifferMs)) - 1;
  const below = range.to === null ? Number.MAX_SAFE_INTEGER : await at(range.to + clocksDifferMs);
  if (after === null) return { above, below };
  return isOldestFirst
    ? { above: Math.max(above, after.position), below }
    : { above, below: Math.min(below, after.position) };
}

/**
 * Turns a timeout into null if the window was large: a busy server, or one that reads from disk, may not finish such a
 * window in time. A small window has to succeed, so its timeout is thrown, as is any other error.
 */
export function unlessItWasMuch(rows: number): (error: unknown) => null {
  return (error) => {
    const isTimeout = error instanceof StoreUnavailableError && codeOf(error.cause) === queryCanceled;
    if (isTimeout && rows > rowsMin) return null;
    throw error;
  };
}

const queryCanceled = "57014";

/** The next window size after a window that the server did not finish. */
export function fewerRows(rows: number): number {
  return Math.max(rowsMin, Math.floor(rows / 8));
}

/** The size is at most doubled, because one fast window says little about the next. */
export function nextRows(rows: number, tookMs: number): number {
  const wanted = Math.min(rows * 2, Math.floor((rows * statementGoalMs) / Math.max(tookMs, 1)));
  return Math.min(rowsMax, Math.max(rowsMin, wanted));
}

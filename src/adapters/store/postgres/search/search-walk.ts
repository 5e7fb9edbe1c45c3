import { codeOf } from "../../../../core/thrown.ts";
import { clocksDifferMs, type DeliverySearch, type SearchPage } from "../../../../ports/store/search.ts";
import { StoreUnavailableError } from "../../../../ports/store.ts";
import type { Transactor } from "../database.ts";
import type { ServerBounds } from "../server-greeting.ts";
import { positionAtSql, type Span } from "./search-windows.ts";

const rowsMin = 50;
const rowsMax = 10_000;
/** Target duration of one statement, so that a page ends soon after its time is up. */
const statementGoalMs = 25;

/** The server cancels a statement that takes much longer, because it is busy with other work. */
export const searchBounds: ServerBounds = { statementMs: 1_000, lockMs: 500, walksByIndex: true };

/** The result of a window: the number of rows, the last one, and the matches. */
export interface SeenWindow<Row, Place = number> {
  readonly looked: number;
  readonly reached: Place | null;
  readonly matches: readonly Row[];
}

/** With the creation time of the last row. */
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

/** Rows by position, with the creation time of the last one. */
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

/** The span left by the time range and the previous page; null if it is empty. */
export async function spanOf(
  aside: Transactor,
  search: Pick<DeliverySearch, "after"> & {
    readonly table: "events" | "deliveries";
    readonly range: { readonly from: number | null; readonly to: number | null };
    readonly isOldestFirst: boolean;
  },
): Promise<Span> {
  const { after, range, table, isOldestFirst } = search;
  const at = async (time: number): Promise<number> => {
    const [row] = await aside.rows<[position: number]>(positionAtSql(table), [time], searchBounds);
    return row?.[0] ?? 0;
  };
  const above = range.from === null ? -1 : (await at(range.from - clocksDifferMs)) - 1;
  const below = range.to === null ? Number.MAX_SAFE_INTEGER : await at(range.to + clocksDifferMs);
  if (after === null) return { above, below };
  return isOldestFirst
    ? { above: Math.max(above, after.position), below }
    : { above, below: Math.min(below, after.position) };
}

/** A server that is busy, or reads from disk, may not finish a large window in time; a small one has to work. */
export function unlessItWasMuch(rows: number): (error: unknown) => null {
  return (error) => {
    const isTimeout = error instanceof StoreUnavailableError && codeOf(error.cause) === queryCanceled;
    if (isTimeout && rows > rowsMin) return null;
    throw error;
  };
}

const queryCanceled = "57014";

/** After a window that the server did not finish. */
export function fewerRows(rows: number): number {
  return Math.max(rowsMin, Math.floor(rows / 8));
}

/** Never more than doubled: one quick window says little about the next. */
export function nextRows(rows: number, tookMs: number): number {
  const wanted = Math.min(rows * 2, Math.floor((rows * statementGoalMs) / Math.max(tookMs, 1)));
  return Math.min(rowsMax, Math.max(rowsMin, wanted));
}

import type { StatementSync } from "node:sqlite";
import { chunkEnd, chunkOf, chunkRows, chunkStart, type TimeRange } from "../driver/chunks.ts";
import type { StatementCache } from "../driver/connection.ts";
import type { StoreState } from "../state.ts";
import { isDeadLetter, type SearchFilter, type SearchTable } from "./search-filter.ts";

/** Finds the rows of a search in the order of their places (positions or ids), one range at a time. */
export interface SearchSource<Place = number> {
  /** Number of rows examined in the first turn; later turns depend on its duration. */
  readonly rowsFirst: number;
  /** Examines the next rows behind a place and returns the matches; null if no rows are left. Only inside a read. */
  stretch(from: Place, rows: number, limit: number): Stretch<Place> | null;
}

export interface Stretch<Place = number> {
  /** Places of matching rows, in order. */
  readonly found: readonly Place[];
  /** The last place examined. */
  readonly reached: Place;
  readonly looked: number;
}

interface Direction {
  readonly isNewestFirst: boolean;
}

type FoundRow = [seq: number, eventType: number];

/** Scans the rows themselves, chunk by chunk; chunks outside the time range are skipped. */
export class RowSource implements SearchSource {
  readonly #state: StoreState;
  readonly #filter: SearchFilter;
  readonly #range: TimeRange;
  readonly #isNewestFirst: boolean;
  readonly #statement: StatementSync;
  readonly rowsFirst: number;

  constructor(
    state: StoreState,
    statements: StatementCache,
    search: Direction & {
      readonly filter: SearchFilter;
      readonly range: TimeRange;
      readonly rowsFirst?: number | undefined;
    },
  ) {
    const { filter, isNewestFirst } = search;
    this.#state = state;
    this.#filter = filter;
    this.#range = search.range;
    // The index finds an owner's rows, so that most of a chunk costs nothing.
    this.rowsFirst = search.rowsFirst ?? (filter.owner === null ? rowsFirst : chunkRows);
    this.#isNewestFirst = isNewestFirst;
    const owned = filter.owner === null ? [] : ["d.seq >> 12 = ?", ...filter.owner.conditions];
    const where = [...owned, "d.seq BETWEEN ? AND ?", ...filter.conditions].join(" AND ");
    this.#statement = statements.get(
      `SELECT ${columnsOf(filter)} FROM ${filter.table.name} d ${indexOf(filter)}
       WHERE ${where} ORDER BY d.seq ${isNewestFirst ? "DESC" : "ASC"}`,
    );
  }

  stretch(from: number, rows: number, limit: number): Stretch | null {
    const chunk = chunkBehind(this.#state, this.#filter.table, this.#range, this.#isNewestFirst, from);
    if (chunk === null) return null;
    const { owner } = this.#filter;
    const [first, last] = this.#span(chunk, from, rows);
    const ofOwner = owner === null ? [] : [chunk, ...owner.values];
    const found = this.#statement.all(...ofOwner, first, last, ...this.#filter.values);
    return cutAt(
      taken(found as unknown as FoundRow[], this.#filter),
      limit,
      this.#isNewestFirst ? first : last,
      owner === null ? last - first + 1 : found.length + rowsPerSeek,
    );
  }

  #span(chunk: number, from: number, rows: number): readonly [first: number, last: number] {
    if (this.#isNewestFirst) {
      const last = Math.min(from - 1, chunkEnd(chunk));
      return [Math.max(chunkStart(chunk), last - rows + 1), last];
    }
    const first = Math.max(from + 1, chunkStart(chunk));
    return [first, Math.min(chunkEnd(chunk), first + rows - 1)];
  }
}

/** The next chunk that may contain rows in this time range. */
function chunkBehind(
  { chunks }: StoreState,
  { kind }: SearchTable,
  range: TimeRange,
  isNewestFirst: boolean,
  from: number,
): number | null {
  return isNewestFirst
    ? chunks.atOrBelow(kind, { ...range, chunk: chunkOf(from - 1) })
    : chunks.atOrAbove(kind, { ...range, chunk: chunkOf(from + 1) });
}

/** Number of rows examined in the first turn. */
const rowsFirst = 512;
/** The cost of a lookup in the index of a chunk, expressed in rows. */
const rowsPerSeek = 16;

/** Searches a list of known positions: those of one event, or of waiting deliveries. */
export class ListSource implements SearchSource {
  readonly rowsFirst = rowsFirst;
  readonly #positions: readonly number[];
  readonly #filter: SearchFilter;
  readonly #isNewestFirst: boolean;
  readonly #statement: StatementSync;

  constructor(
    statements: StatementCache,
    search: Direction & { readonly filter: SearchFilter; readonly positions: readonly number[] },
  ) {
    const { filter, isNewestFirst, positions } = search;
    this.#filter = filter;
    this.#isNewestFirst = isNewestFirst;
    this.#positions = [...new Set(positions)].toSorted((a, b) => (isNewestFirst ? b - a : a - b));
    this.#statement = statements.get(
      `SELECT ${columnsOf(filter)} FROM json_each(?) p CROSS JOIN ${filter.table.name} d ON d.seq = p.value
       WHERE ${allConditions(filter)} ORDER BY d.seq ${isNewestFirst ? "DESC" : "ASC"}`,
    );
  }

  stretch(from: number, rows: number, limit: number): Stretch | null {
    const start = this.#firstBehind(from);
    const positions = this.#positions.slice(start, start + rows);
    const reached = positions.at(-1);
    if (reached === undefined) return null;
    const found = this.#statement.all(JSON.stringify(positions), ...allValues(this.#filter));
    return cutAt(taken(found as unknown as FoundRow[], this.#filter), limit, reached, positions.length);
  }

  #firstBehind(from: number): number {
    let [low, high] = [0, this.#positions.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const position = this.#positions[middle] ?? 0;
      if (this.#isNewestFirst ? position < from : position > from) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Dead letters of some tenants, by their index: the history between them is not read. */
export class DeadLetterSource implements SearchSource {
  readonly rowsFirst = chunkRows;
  readonly #state: StoreState;
  readonly #filter: SearchFilter;
  readonly #range: TimeRange;
  readonly #tenants: string;
  readonly #isNewestFirst: boolean;
  readonly #nearest: StatementSync;
  readonly #slice: StatementSync;

  constructor(
    state: StoreState,
    statements: StatementCache,
    search: Direction & {
      readonly filter: SearchFilter;
      readonly range: TimeRange;
      readonly tenants: readonly number[];
    },
  ) {
    const { filter, isNewestFirst } = search;
    this.#state = state;
    this.#filter = filter;
    this.#range = search.range;
    this.#tenants = JSON.stringify(search.tenants);
    this.#isNewestFirst = isNewestFirst;
    const [nearest, behind, order] = isNewestFirst ? ["max", "<", "DESC"] : ["min", ">", "ASC"];
    const from = "deliveries d INDEXED BY deliveries_dead";
    const ofTenant = `${isDeadLetter} AND d.tenant = t.value`;
    this.#nearest = statements.get(
      `SELECT ${nearest}((SELECT ${nearest}(d.seq) FROM ${from} WHERE ${ofTenant} AND d.seq ${behind} ?))
       FROM json_each(?) t`,
    );
    this.#slice = statements.get(
      `SELECT ${columnsOf(filter)} FROM json_each(?) t CROSS JOIN ${from} ON ${ofTenant} AND d.seq BETWEEN ? AND ?
       WHERE ${allConditions(filter)} ORDER BY d.seq ${order}`,
    );
  }

  stretch(from: number, rows: number, limit: number): Stretch | null {
    const isNewestFirst = this.#isNewestFirst;
    const chunk = chunkBehind(this.#state, this.#filter.table, this.#range, isNewestFirst, from);
    if (chunk === null) return null;
    const begin = isNewestFirst ? Math.min(from, chunkEnd(chunk) + 1) : Math.max(from, chunkStart(chunk) - 1);
    const [nearest] = this.#nearest.get(begin, this.#tenants) as unknown as [seq: number | null];
    if (nearest === null) return null;
    // A page may end at this position, and cursors cannot contain negative positions.
    const reached = isNewestFirst ? Math.max(0, nearest - rows + 1) : nearest + rows - 1;
    const [first, last] = isNewestFirst ? [reached, nearest] : [nearest, reached];
    const found = this.#slice.all(this.#tenants, first, last, ...allValues(this.#filter));
    const matches = taken(found as unknown as FoundRow[], this.#filter);
    return cutAt(matches, limit, reached, found.length + rowsPerSeek);
  }
}

function columnsOf({ takesType, table }: SearchFilter): string {
  return `d.seq, ${takesType === null ? "0" : table.eventType}`;
}

function indexOf({ owner, table }: SearchFilter): string {
  return owner === null ? "" : `INDEXED BY ${table.ownerIndex}`;
}

export function allConditions({ owner, conditions }: SearchFilter): string {
  return [...(owner?.conditions ?? []), ...conditions, "true"].join(" AND ");
}

export function allValues({ owner, values }: SearchFilter): readonly (number | string)[] {
  return [...(owner?.values ?? []), ...values];
}

function taken(rows: readonly FoundRow[], { takesType }: SearchFilter): readonly number[] {
  const ofType = takesType === null ? rows : rows.filter(([, eventType]) => takesType(eventType));
  return ofType.map(([seq]) => seq);
}

/** Returns no more matches than requested. Rows behind the last returned match count as not examined. */
export function cutAt<Place>(
  found: readonly Place[],
  limit: number,
  reached: Place,
  looked: number,
): Stretch<Place> {
  if (found.length < limit) return { found, reached, looked };
  const kept = found.slice(0, limit);
  return { found: kept, reached: kept.at(-1) ?? reached, looked };
}

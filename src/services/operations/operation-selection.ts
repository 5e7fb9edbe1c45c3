import type { HistoryStore, StoredDelivery } from "../../ports/store/history.ts";
import type { OperationSelection } from "../../ports/store/operations.ts";
import type { Page, PageRequest } from "../../ports/store.ts";

/** Selections that are listed from the newest on. */
export type Selection = Exclude<OperationSelection, { readonly kind: "ids" | "search" }>;

/** Rows per read. */
const pageRows = 200;
/** Counting stops here: the difference between one and two million does not matter. */
const countMax = 100_000;

/** Positions; both `below` and `from` are exclusive. Slices are processed from the oldest. */
export interface Slice {
  readonly from: number;
  readonly below: number;
}

/** The number of deliveries in a selection, and the position above the newest. */
export async function measureSelection(
  history: HistoryStore,
  selection: Selection,
): Promise<{ readonly count: number; readonly before: number }> {
  const newest = await readPage(history, selection, null, 1);
  const before = (newest.rows[0]?.position ?? -1) + 1;
  if (selection.kind === "dead_letters") {
    return { before, count: await history.countDeadLetters({ ...withoutKind(selection), countMax }) };
  }
  return { before, count: await history.countDeliveries({ ...withoutKind(selection), countMax }) };
}

/**
 * Cuts a selection into slices, oldest first: receivers should get old events before newer ones, while listings start
 * with the newest. Stores one number per page, so a million deliveries take some tens of kilobytes.
 */
export async function sliceSelection(
  history: HistoryStore,
  selection: Selection,
  before: number,
  isCancelled: () => boolean,
): Promise<readonly Slice[]> {
  const slices: Slice[] = [];
  for (let below: number | null = before; below !== null && !isCancelled(); ) {
    const page: Page<StoredDelivery> = await readPage(history, selection, below, pageRows);
    const oldest = page.rows.at(-1);
    if (oldest === undefined) break;
    slices.push({ from: oldest.position - 1, below });
    below = page.next;
  }
  return slices.reverse();
}

/** Deliveries of a slice, oldest first. */
export async function readSlice(
  history: HistoryStore,
  selection: Selection,
  slice: Slice,
): Promise<readonly StoredDelivery[]> {
  const found: StoredDelivery[] = [];
  // More than one page only if deliveries joined the selection after it was cut.
  for (let below: number | null = slice.below; below !== null && below > slice.from; ) {
    const page: Page<StoredDelivery> = await readPage(history, selection, below, pageRows);
    found.push(...page.rows.filter((row) => row.position > slice.from));
    const oldest = page.rows.at(-1);
    below = oldest === undefined || oldest.position <= slice.from ? null : page.next;
  }
  return found.reverse();
}

function readPage(
  history: HistoryStore,
  selection: Selection,
  before: number | null,
  limit: number,
): Promise<Page<StoredDelivery>> {
  const page: PageRequest = { limit, before, offset: 0 };
  if (selection.kind === "dead_letters") return history.listDeadLetters({ ...withoutKind(selection), page });
  return history.listDeliveries({ ...withoutKind(selection), page });
}

/** Removes our own tag before the query is passed on. */
function withoutKind<Tagged extends { readonly kind: string }>(selection: Tagged): Omit<Tagged, "kind"> {
  const { kind: _, ...query } = selection;
  return query;
}

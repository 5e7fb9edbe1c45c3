import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryStore, StoredDelivery } from "../../ports/store/history.ts";
import { type DeliverySearch, everyDelivery, type SearchPage } from "../../ports/store/search.ts";
import type { DeliveryListing } from "../deliveries/delivery-listing.ts";
import type { FeatureContext, ListedDelivery } from "../services.ts";
import { filterOf, measureSelection, type Selection, SelectionWalk } from "./selection-walk.ts";

const selection: Selection = {
  kind: "dead_letters",
  tenantId: "a",
  webhookIds: ["w"],
  eventTypes: null,
  categories: null,
  from: null,
  to: null,
};
const never = () => false;
/** A search examines this many positions before its budget is spent. */
const lookedMax = 150;

/** Searches these positions in both directions. */
function search(
  rows: ReadonlySet<number>,
  { order, after, limit }: DeliverySearch,
): SearchPage<StoredDelivery> {
  const all = [...rows.keys()].toSorted((a, b) => (order === "oldest" ? a - b : b - a));
  const place = after?.position ?? null;
  const behind = all.filter(
    (position) => place === null || (order === "oldest" ? position > place : position < place),
  );
  const shown = behind.slice(0, Math.min(limit, lookedMax));
  const last = shown.at(-1);
  const next = behind.length > shown.length && last !== undefined ? { position: last, dueAt: null } : null;
  return {
    rows: shown.map(
      (position) => ({ position, retries: [], progress: { state: "exhausted" }, lane: {} }) as never,
    ),
    next,
    searchedTo: null,
    isCutShort: next !== null && shown.length < limit,
  };
}

function historyOf(rows: ReadonlySet<number>): HistoryStore {
  return {
    countDeliveries: async () => rows.size,
    searchDeliveries: async (asked: DeliverySearch) => search(rows, asked),
    payloadsGone: async () => new Set(),
  } as unknown as HistoryStore;
}

function rowsOf(count: number) {
  return new Set(Array.from({ length: count }, (_, index) => index * 3));
}

async function readAll(
  history: HistoryStore,
  before: number,
  more: { readonly cursor?: number; readonly read?: (position: number) => void } = {},
): Promise<readonly number[]> {
  const listing = {
    read: async (asked: DeliverySearch) => {
      const page = await history.searchDeliveries(asked);
      return {
        ...page,
        rows: page.rows.map((delivery) => ({ delivery, webhook: {} }) as unknown as ListedDelivery),
      };
    },
  } as unknown as DeliveryListing;
  const clock = { monotonicMs: () => 0 };
  const walk = new SelectionWalk({ store: { history }, clock } as FeatureContext, listing);
  const { cursor = null, read } = more;
  const positions: number[] = [];
  for await (const { items } of walk.portions(
    { id: null, kind: "dlq_retry", selection, cursor, before },
    never,
  ))
    for (const { row } of items) {
      positions.push(row?.delivery.position ?? -1);
      read?.(row?.delivery.position ?? -1);
    }
  return positions;
}

test("a selection is read completely, once, from oldest to newest, however often a search ends early", async () => {
  for (const count of [0, 1, 149, 150, 151, 400, 1_234]) {
    const rows = rowsOf(count);
    const history = historyOf(rows);
    const { count: measured, before } = await measureSelection(history, selection);
    assert.equal(measured, count);
    assert.deepEqual(await readAll(history, before), [...rows.keys()]);
  }
});

test("later deliveries are not included", async () => {
  const rows = rowsOf(500);
  const history = historyOf(rows);
  const { count, before } = await measureSelection(history, selection);
  assert.equal(count, 500);
  for (let later = 0; later < 300; later += 1) rows.add(before + later);
  const positions = await readAll(history, before);
  assert.equal(positions.length, 500);
  assert.ok(positions.every((position) => position < before));
});

test("deliveries that leave the selection while it is read push out none of the others", async () => {
  const rows = rowsOf(1_000);
  const all = [...rows.keys()];
  const positions = await readAll(historyOf(rows), 3_000, { read: (position) => void rows.delete(position) });
  assert.deepEqual(positions, all);
});

test("an interrupted walk continues after its last item", async () => {
  const rows = rowsOf(400);
  const positions = await readAll(historyOf(rows), 1_200, { cursor: 600 });
  assert.deepEqual(positions, [...rows.keys()].slice(201));
});

test("the store gets every filter of a selection", () => {
  const { kind: _, ...filter } = selection;
  assert.deepEqual(filterOf(selection), { ...everyDelivery, ...filter, states: ["exhausted"] });
  const missed: Selection = {
    kind: "deliveries",
    tenantId: "a",
    webhookIds: ["w"],
    states: ["skipped"],
    from: 1,
    to: 2,
  };
  const of = { tenantId: "a", webhookIds: ["w"], states: ["skipped"], from: 1, to: 2 };
  assert.deepEqual(filterOf(missed), { ...everyDelivery, ...of });
});

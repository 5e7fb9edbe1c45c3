import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryQuery, HistoryStore, StoredDelivery } from "../../ports/store/history.ts";
import { measureSelection, readSlice, type Selection, sliceSelection } from "./selection-walk.ts";

const selection = { kind: "deliveries", states: ["exhausted"] } as unknown as Selection;
const never = () => false;

/** A history that lists these positions, newest first. */
function historyOf(rows: ReadonlySet<number>): HistoryStore {
  return {
    async countDeliveries() {
      return rows.size;
    },
    async listDeliveries({ page }: DeliveryQuery) {
      const below = page.before ?? Infinity;
      const found = [...rows.keys()].filter((position) => position < below).toSorted((a, b) => b - a);
      const shown = found.slice(0, page.limit);
      return {
        rows: shown.map((position) => ({ position }) as StoredDelivery),
        next: found.length > shown.length ? (shown.at(-1) ?? null) : null,
      };
    },
  } as unknown as HistoryStore;
}

function rowsOf(count: number) {
  return new Set(Array.from({ length: count }, (_, index) => index * 3));
}

async function readAll(history: HistoryStore, before: number): Promise<readonly number[]> {
  const positions: number[] = [];
  for (const slice of await sliceSelection(history, selection, before, never)) {
    positions.push(...(await readSlice(history, selection, slice)).map((row) => row.position));
  }
  return positions;
}

test("a selection of several pages is read completely, once, from oldest to newest", async () => {
  for (const count of [0, 1, 199, 200, 201, 400, 1_234]) {
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

test("deliveries that join a slice later push out none of the old ones", async () => {
  const rows = rowsOf(150);
  const history = historyOf(rows);
  const [slice] = await sliceSelection(history, selection, 450, never);
  assert.ok(slice !== undefined);
  for (let position = 1; position < 450; position += 1) rows.add(position);
  const positions = (await readSlice(history, selection, slice)).map((row) => row.position);
  assert.equal(positions.length, 450);
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
  );
});

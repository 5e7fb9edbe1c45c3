import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryOrder } from "../../../resources/delivery.ts";
import { type DeliverySearch, everyDelivery } from "../../../ports/store/search.ts";
import { StoreUnavailableError } from "../../../ports/store.ts";
import { SearchBudget } from "../../../ports/clock.ts";
import type { HistoryRows } from "./history-rows.ts";
import type { StoreState } from "../state.ts";
import { DeliverySearches } from "./searches.ts";

const canceled = Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
const rowsOfWindow = (values: readonly unknown[]): number => Number(values[2]);

/** A server that processes a hundred rows within its time limit and cancels any statement that reads more. */
class SlowServer {
  readonly windows: number[] = [];
  readonly maintenance = {
    rows: async (_sql: string, values: readonly unknown[]) => {
      const wanted = rowsOfWindow(values);
      this.windows.push(wanted);
      if (wanted > 100) throw new StoreUnavailableError("too long", { cause: canceled });
      return [];
    },
  };
  readonly strings = { lookUp: async () => undefined, find: () => null };
}

for (const order of ["newest", "next_attempt"] as const satisfies readonly DeliveryOrder[])
  test(`a window that the server does not finish in time is retried with fewer rows: ${order}`, async () => {
    const server = new SlowServer();
    const rows = { deliveries: async () => [] };
    const searches = new DeliverySearches(server as unknown as StoreState, rows as unknown as HistoryRows);
    const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 10_000, durationMsMax: 150 });
    const search: DeliverySearch = { filter: everyDelivery, order, after: null, limit: 10, budget };
    const page = await searches.page(search);
    assert.deepEqual(page.rows, []);
    assert.deepEqual(server.windows.slice(0, 2), [500, 62]);
  });

import { unlimitedBudget } from "../src/ports/clock.ts";
import type { Page, PageRequest } from "../src/ports/store.ts";
import type { HistoryStore, StoredDelivery } from "../src/ports/store/history.ts";
import { type DeliveryFilter, everyDelivery } from "../src/ports/store/search.ts";

const firstPage: PageRequest = { limit: 100, before: null, offset: 0 };

/** Matching deliveries, newest first. */
export async function listDeliveries(
  history: Pick<HistoryStore, "searchDeliveries">,
  filter: Partial<DeliveryFilter>,
  page: Partial<PageRequest> = {},
): Promise<Page<StoredDelivery>> {
  const { limit, before, offset } = { ...firstPage, ...page };
  const { rows, next } = await history.searchDeliveries({
    filter: { ...everyDelivery, ...filter },
    order: "newest",
    after: before === null ? null : { position: before, dueAt: null },
    limit: offset + limit,
    budget: unlimitedBudget,
  });
  return { rows: rows.slice(offset), next: next?.position ?? null };
}

export function listDeadLetters(
  history: Pick<HistoryStore, "searchDeliveries">,
  filter: Partial<DeliveryFilter> = {},
  page: Partial<PageRequest> = {},
): Promise<Page<StoredDelivery>> {
  return listDeliveries(history, { ...filter, states: ["exhausted"] }, page);
}

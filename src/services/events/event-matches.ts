import { matches } from "../../core/event-type.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore, StoredDelivery, StoredEvent } from "../../ports/store/history.ts";
import { everyDelivery } from "../../ports/store/search.ts";
import type { DeliverySearch, SearchPage } from "../../ports/store/search.ts";
import { SearchBudget } from "../../ports/timing/search-budget.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { EventMatch, EventMatchPage } from "../services.ts";
import { searchBounds } from "../searched-pages.ts";

export interface EventMatchesOptions {
  readonly access: Pick<EngineAccess, "webhooks">;
  readonly history: Pick<HistoryStore, "searchDeliveries">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** Deliveries of the event per read. */
const deliveriesAtOnce = 250;

export interface EventMatchPageRequest {
  readonly limit: number;
  readonly offset: number;
  /** Id of the last webhook of the previous page; null for the first page. */
  readonly after: string | null;
}

/** Which of a tenant's webhooks received an event, and the first reason why others did not. Latest webhook first. */
export async function eventMatches(
  { access, history, clock }: EventMatchesOptions,
  event: StoredEvent,
  page: EventMatchPageRequest,
): Promise<EventMatchPage> {
  const { limit, offset, after } = page;
  const webhooks = [...access.webhooks()]
    .map(({ webhook }) => webhook)
    .filter(({ id, tenantId }) => tenantId === event.tenantId && (after === null || id < after))
    .toSorted((left, right) => (left.id > right.id ? -1 : 1));
  const shown = webhooks.slice(offset, offset + limit);
  const deliveries = await newestDeliveries({ history, clock }, event, shown);
  const rows = shown.map((webhook) => matchOf(event, webhook, deliveries.get(webhook.id) ?? null));
  const hasMore = webhooks.length > offset + limit;
  return { rows, next: hasMore ? (shown.at(-1)?.id ?? null) : null };
}

/** The latest delivery of the event for each of these webhooks. */
async function newestDeliveries(
  { history, clock }: Pick<EventMatchesOptions, "history" | "clock">,
  event: StoredEvent,
  webhooks: readonly Webhook[],
): Promise<ReadonlyMap<string, StoredDelivery>> {
  const found = new Map<string, StoredDelivery>();
  const filter = {
    ...everyDelivery,
    tenantId: event.tenantId,
    eventId: event.id,
    webhookIds: webhooks.map(({ id }) => id),
  };
  const budget = new SearchBudget(clock, searchBounds);
  let after: DeliverySearch["after"] = null;
  do {
    const part: SearchPage<StoredDelivery> = await history.searchDeliveries({
      filter,
      order: "newest",
      after,
      limit: deliveriesAtOnce,
      budget,
    });
    for (const row of part.rows) if (!found.has(row.webhookId)) found.set(row.webhookId, row);
    after = part.next;
    // All deliveries of the event are read, so that no result is a guess; their number is bounded.
  } while (after !== null && found.size < webhooks.length);
  return found;
}

function matchOf(event: StoredEvent, webhook: Webhook, delivery: StoredDelivery | null): EventMatch {
  if (delivery !== null) {
    const isSkipped = delivery.progress.state === "skipped";
    return { webhook, delivery, reason: isSkipped ? "inactive" : null };
  }
  return { webhook, delivery, reason: whyNot(event, webhook) };
}

/** Judged by the webhook's current state: its state at the time of publishing is known only for its deliveries. */
function whyNot(event: StoredEvent, webhook: Webhook): EventMatch["reason"] {
  const { eventType: type, createdAt } = event;
  if (!webhook.events.some((pattern) => matches(pattern, type))) return "other_type";
  return webhook.createdAt > createdAt ? "made_later" : "changed_later";
}

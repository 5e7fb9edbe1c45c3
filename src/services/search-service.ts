import { NotFoundError } from "../core/errors.ts";
import { searchTextField } from "../core/fields/search.ts";
import { isUuid } from "../core/uuid.ts";
import type { Clock } from "../ports/clock.ts";
import type { HistoryStore } from "../ports/store/history.ts";
import { everyEvent } from "../ports/store/search.ts";
import { SearchBudget } from "../ports/timing/search-budget.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { Scope, SearchHit } from "./services.ts";
import type { BatchOperations } from "./operations/batch-operations.ts";
import { isVisible } from "./scope.ts";
import { judgeFilters, searchBounds } from "./searched-pages.ts";

export interface SearchOptions {
  readonly access: Pick<EngineAccess, "webhook" | "webhooks">;
  readonly history: Pick<HistoryStore, "getEvent" | "getDelivery" | "searchEvents">;
  readonly operations: Pick<BatchOperations, "get">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

const searchHitsMax = 20;

/** Anything by what a person has at hand. */
export class Search {
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /**
   * By id, whatever it is of; by the idempotency key of an event; by the beginning of a webhook's URL, with or without its
   * scheme, or of its description, where capital letters do not count. At most 20 hits, exact ones first.
   */
  async find(scope: Scope, text: string): Promise<readonly SearchHit[]> {
    judgeFilters({ text: searchTextField }, { text });
    const [byId, byKey] = await Promise.all([this.#byId(scope, text), this.#byKey(scope, text)]);
    const hits = [...byId, ...byKey];
    return [...hits, ...this.#webhooks(scope, { text, hitsMax: searchHitsMax - hits.length })];
  }

  async #byId(scope: Scope, text: string): Promise<readonly SearchHit[]> {
    if (!isUuid(text)) return [];
    const id = text.toLowerCase();
    const { access, history, operations } = this.#options;
    const owned = { tenantId: scope.tenantId, id };
    const webhook = access.webhook(id)?.webhook;
    const [event, delivery, operation] = await Promise.all([
      history.getEvent(owned),
      history.getDelivery(owned),
      operations.get(scope, id).catch(nullIfMissing),
    ]);
    const found = { id, matched: "id" } as const;
    return [
      webhook !== undefined &&
        isVisible(scope, webhook) && {
          ...found,
          type: "webhook" as const,
          tenantId: webhook.tenantId,
          title: webhook.url,
        },
      event !== null && {
        ...found,
        type: "event" as const,
        tenantId: event.tenantId,
        title: event.eventType,
      },
      delivery !== null && {
        ...found,
        type: "delivery" as const,
        tenantId: delivery.tenantId,
        title: delivery.eventType,
      },
      operation !== null && {
        ...found,
        type: "operation" as const,
        tenantId: operation.tenantId,
        title: operation.kind,
      },
    ].filter((hit) => hit !== false);
  }

  async #byKey({ tenantId }: Scope, idempotencyKey: string): Promise<readonly SearchHit[]> {
    const { history, clock } = this.#options;
    const { rows } = await history.searchEvents({
      filter: { ...everyEvent, tenantId, idempotencyKey },
      after: null,
      limit: searchHitsMax / 2,
      budget: new SearchBudget(clock, searchBounds),
    });
    return rows.map((event) => ({
      type: "event",
      id: event.id,
      tenantId: event.tenantId,
      title: event.eventType,
      matched: "idempotency_key",
    }));
  }

  #webhooks(
    scope: Scope,
    { text, hitsMax }: { readonly text: string; readonly hitsMax: number },
  ): readonly SearchHit[] {
    const start = text.toLowerCase();
    const hits: SearchHit[] = [];
    for (const { webhook } of this.#options.access.webhooks()) {
      if (hits.length === hitsMax) break;
      if (!isVisible(scope, webhook)) continue;
      const matched = matchOf(webhook, start);
      if (matched === null) continue;
      const { id, tenantId, url } = webhook;
      hits.push({ type: "webhook", id, tenantId, title: url, matched });
    }
    return hits;
  }
}

function matchOf(
  { url, description }: { readonly url: string; readonly description: string },
  start: string,
): "url" | "description" | null {
  const address = url.toLowerCase();
  if (address.startsWith(start) || address.replace(/^https?:\/\//, "").startsWith(start)) return "url";
  return description.toLowerCase().startsWith(start) ? "description" : null;
}

function nullIfMissing(error: unknown): null {
  if (error instanceof NotFoundError) return null;
  throw error;
}

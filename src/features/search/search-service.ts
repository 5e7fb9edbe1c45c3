import { NotFoundError } from "../../domain/errors.ts";
import type { Connection, Source } from "../gateway/source.ts";
import { searchTextField } from "../../resources/search.ts";
import { isUuid } from "../../domain/uuid.ts";
import { SearchBudget } from "../../ports/clock.ts";
import { everyEvent } from "../../ports/store/search.ts";
import type { FeatureContext, Scope, SearchHit } from "../services.ts";
import type { GatewayDirectory } from "../gateway/gateway-directory.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import { isVisible } from "../visibility.ts";
import { judgeFilters, searchBounds } from "../searched-pages.ts";

const searchHitsMax = 20;

/** Finds resources by id, key or text. */
export class Search {
  readonly #context: FeatureContext;
  readonly #operations: BatchOperations;
  readonly #gateway: GatewayDirectory;

  constructor(context: FeatureContext, operations: BatchOperations, gateway: GatewayDirectory) {
    this.#context = context;
    this.#operations = operations;
    this.#gateway = gateway;
  }

  /**
   * Searches by the id of any resource, by the idempotency key of an event, by the beginning of a webhook's URL (with
   * or without scheme) or description, and by the beginning of the name or description of a source or connection.
   * Ignores case. Returns up to 20 hits, exact matches first.
   */
  async find(scope: Scope, text: string): Promise<readonly SearchHit[]> {
    judgeFilters({ text: searchTextField }, { text });
    const [byId, byKey] = await Promise.all([this.#byId(scope, text), this.#byKey(scope, text)]);
    const hits = [...byId, ...byKey];
    return [...hits, ...this.#byBeginning(scope, text, searchHitsMax - hits.length)];
  }

  async #byId(scope: Scope, text: string): Promise<readonly SearchHit[]> {
    if (!isUuid(text)) return [];
    const id = text.toLowerCase();
    const {
      access,
      store: { history },
    } = this.#context;
    const owned = { tenantId: scope.tenantId, id };
    const webhook = access.webhook(id)?.webhook;
    const [source, connection] = [this.#gateway.source(id), this.#gateway.connection(id)];
    const [event, delivery, operation] = await Promise.all([
      history.getEvent(owned.tenantId, owned.id),
      history.getDelivery(owned.tenantId, owned.id),
      this.#operations.get(scope, id).catch(nullIfMissing),
    ]);
    const found = { id, matched: "id" } as const;
    return [
      webhook !== undefined &&
        isVisible(scope, webhook.tenantId) && {
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
      source !== undefined &&
        isVisible(scope, source.tenantId) && { ...this.#sourceHit(source), matched: "id" as const },
      connection !== undefined &&
        isVisible(scope, connection.tenantId) && {
          ...this.#connectionHit(connection),
          matched: "id" as const,
        },
    ].filter((hit) => hit !== false);
  }

  async #byKey({ tenantId }: Scope, idempotencyKey: string): Promise<readonly SearchHit[]> {
    const {
      clock,
      store: { history },
    } = this.#context;
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

  #byBeginning(scope: Scope, text: string, hitsMax: number): readonly SearchHit[] {
    const start = text.toLowerCase();
    const hits: SearchHit[] = [];
    for (const { beginnings, ...hit } of this.#named()) {
      if (hits.length === hitsMax) break;
      const matched = isVisible(scope, hit.tenantId) ? matchOf(beginnings, start) : null;
      if (matched !== null) hits.push({ ...hit, matched });
    }
    return hits;
  }

  *#named(): Generator<Named> {
    const { access } = this.#context;
    for (const { webhook } of access.webhooks()) {
      const { id, tenantId, url, description } = webhook;
      const withoutScheme = url.replace(/^https?:\/\//i, "");
      const beginnings = { url: [url, withoutScheme], description: [description] };
      yield { type: "webhook", id, tenantId, title: url, beginnings };
    }
    for (const source of this.#gateway.sources()) {
      const { name, description, party } = source;
      const beginnings = { name: [name, party ?? ""], description: [description] };
      yield { ...this.#sourceHit(source), beginnings };
    }
    for (const connection of this.#gateway.connections())
      yield { ...this.#connectionHit(connection), beginnings: { name: [connection.name] } };
  }

  #sourceHit({ id, tenantId, name }: Source): Omit<SearchHit, "matched"> {
    return { type: "source", id, tenantId, title: name };
  }

  /** A connection without a name is shown with the name of its destination. */
  #connectionHit({ id, tenantId, name, webhookId }: Connection): Omit<SearchHit, "matched"> {
    const url = this.#context.access.webhook(webhookId)?.webhook.url;
    return { type: "connection", id, tenantId, title: name === "" ? (url ?? webhookId) : name };
  }
}

/** A resource that can be found by the beginning of one of its strings. */
interface Named extends Omit<SearchHit, "matched"> {
  readonly beginnings: Readonly<Partial<Record<SearchHit["matched"], readonly string[]>>>;
}

function matchOf(beginnings: Named["beginnings"], start: string): SearchHit["matched"] | null {
  for (const [matched, texts] of Object.entries(beginnings))
    if (texts.some((text) => text.toLowerCase().startsWith(start))) return matched as SearchHit["matched"];
  return null;
}

function nullIfMissing(error: unknown): null {
  if (error instanceof NotFoundError) return null;
  throw error;
}

import { type DeliveryState, waitingStates } from "../../domain/delivery.ts";
import { healthOf } from "../../engine/endpoint/endpoint-config.ts";
import { SearchBudget } from "../../ports/clock.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import type { SearchSelection } from "../../ports/store/operations.ts";
import type {
  DeliveryFilter,
  DeliverySearch,
  HttpStatusFilter,
  SearchPage,
} from "../../ports/store/search.ts";
import { deliveryListFields } from "../../resources/delivery.ts";
import { defaultOf } from "../../resources/field.ts";
import { judgeFilters, searchBounds, searchedPage, type SearchPageRequest } from "../searched-pages.ts";
import type {
  DeliveryFilters,
  DeliveryPage,
  DeliveryView,
  FeatureContext,
  ListedDelivery,
} from "../services.ts";

/** Reads pages of deliveries for every kind of query. */
export class DeliveryListing {
  readonly #context: FeatureContext;

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  /**
   * `tenantId` limits the rows to one tenant; null means all. Throws InvalidRequestError for invalid filters, with the
   * field names of the library. The API validates its requests before this call.
   */
  async page(
    tenantId: string | null,
    query: DeliveryFilters & { readonly page: SearchPageRequest },
  ): Promise<DeliveryPage> {
    judgeFilters(deliveryListFields, query);
    const selection = selectionOf(tenantId, query);
    const { filter } = selection;
    const order = query.order ?? defaultOf(deliveryListFields.order);
    const isDue = order === "next_attempt";
    const budget = new SearchBudget(this.#context.clock, searchBounds);
    const search = { filter, order, budget };
    return searchedPage<ListedDelivery>(query.page, {
      budget,
      takes: takesOf(selection),
      read: (part) => this.read({ ...search, ...part }),
      placeOf: ({ delivery }) => ({
        position: delivery.position,
        dueAt: isDue ? delivery.progress.dueAt : null,
      }),
      createdAtOf: ({ delivery }) => (isDue ? null : delivery.progress.createdAt),
    });
  }

  /** The visible deliveries among up to 250 ids, unordered. */
  async byIds(tenantId: string | null, ids: readonly string[]): Promise<readonly ListedDelivery[]> {
    if (ids.length === 0) return [];
    const {
      access,
      store: { history },
    } = this.#context;
    const found = await history.getDeliveries(tenantId, ids);
    await access.refresh(waitingWebhooks(found.map((row) => access.explain(row))));
    return found.map((row) => this.listed(row));
  }

  /**
   * Only the owner of a webhook can determine what its deliveries wait for. Queries by event or by webhooks read the
   * owner's state first and then the deliveries. For other queries, a row may be slightly older than its explanation.
   */
  async read(search: DeliverySearch): Promise<SearchPage<ListedDelivery>> {
    const {
      access,
      store: { history },
    } = this.#context;
    const { webhookIds, eventId } = search.filter;
    if (webhookIds !== null) await access.refresh(webhookIds);
    let found = await history.searchDeliveries(search);
    const waiting = waitingWebhooks(found.rows.map((row) => access.explain(row)));
    if (webhookIds === null && waiting.length > 0) {
      await access.refresh(waiting);
      if (eventId !== null) found = await history.searchDeliveries(search);
    }
    return { ...found, rows: found.rows.map((row) => this.listed(row)) };
  }

  listed(delivery: StoredDelivery): ListedDelivery {
    const { access, clock } = this.#context;
    const live = access.webhook(delivery.webhookId);
    return {
      ...access.explain(delivery),
      webhook: live?.webhook ?? null,
      webhookHealth: live === undefined ? null : healthOf(live, clock.now()),
    };
  }
}

/** Webhooks whose endpoints determine what these deliveries wait for. */
export function waitingWebhooks(views: readonly DeliveryView[]): readonly string[] {
  const waiting = views.filter(({ waitingFor }) => waitingFor !== null);
  return [...new Set(waiting.map(({ delivery }) => delivery.webhookId))];
}

/**
 * Converts filters into a selection that can be stored. The selection is limited to one tenant; null means all tenants.
 */
export function selectionOf(tenantId: string | null, query: DeliveryFilters): SearchSelection {
  const filter: DeliveryFilter = {
    tenantId,
    webhookIds: query.webhookIds ?? null,
    eventId: query.eventId ?? null,
    eventTypes: query.eventTypes ?? null,
    states: statesOf(query),
    categories: query.categories ?? null,
    httpStatuses:
      query.httpStatuses === null || query.httpStatuses === undefined ? null : statusesOf(query.httpStatuses),
    origins: query.origins ?? null,
    attemptMin: query.attemptMin ?? null,
    errorText: query.errorText ?? null,
    idempotencyKey: query.idempotencyKey ?? null,
    sourceId: query.sourceId ?? null,
    from: query.from ?? null,
    to: query.to ?? null,
  };
  return { kind: "search", filter, statuses: query.statuses ?? null, waitingFor: query.waitingFor ?? null };
}

/**
 * A filter for values that the store does not contain: the status of a delivery behind an open circuit, and what it
 * waits for. Null if all rows match.
 */
export function takesOf({
  statuses,
  waitingFor,
}: Pick<SearchSelection, "statuses" | "waitingFor">): ((view: DeliveryView) => boolean) | null {
  const derived = derivedStatuses.filter((status) => statuses?.includes(status) ?? true);
  const isDerived = derived.length > 0 && derived.length < derivedStatuses.length;
  if (!isDerived && waitingFor === null) return null;
  return (view) =>
    (statuses?.includes(view.status) ?? true) &&
    (waitingFor === null || (view.waitingFor !== null && waitingFor.includes(view.waitingFor)));
}

/** Statuses of a waiting delivery that depend on the circuit of its webhook. */
const derivedStatuses = [...waitingStates, "circuit_blocked"] as const;

function statesOf({ statuses, waitingFor }: DeliveryFilters): readonly DeliveryState[] | null {
  const asked: readonly DeliveryState[] | null =
    statuses === null || statuses === undefined
      ? null
      : [...new Set(statuses.flatMap((status) => (status === "circuit_blocked" ? waitingStates : [status])))];
  if (waitingFor === null || waitingFor === undefined) return asked;
  return waitingStates.filter((state) => asked?.includes(state) ?? true);
}

function statusesOf(words: readonly string[]): HttpStatusFilter {
  return {
    codes: words.filter((word) => /^\d+$/.test(word)).map(Number),
    classes: words.filter((word) => word.endsWith("xx")).map((word) => Number(word[0])),
    none: words.includes("none"),
  };
}

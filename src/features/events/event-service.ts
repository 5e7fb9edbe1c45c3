import { InvalidRequestError, NotFoundError, PosthornError } from "../../domain/errors.ts";
import { matches } from "../../domain/event-type.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { Publisher } from "../../engine/publish/publish.ts";
import { SearchBudget } from "../../ports/clock.ts";
import type { EventSummary, StoredDelivery, StoredEvent } from "../../ports/store/history.ts";
import {
  type DeliverySearch,
  type EventFilter,
  everyDelivery,
  type SearchPage,
} from "../../ports/store/search.ts";
import { replayFields } from "../../resources/actions.ts";
import { eventListFields } from "../../resources/event.ts";
import type { DeliveryListing } from "../deliveries/delivery-listing.ts";
import { originalsOf, replaysOf, requireAccepted } from "../deliveries/redelivery.ts";
import { validFields } from "../input.ts";
import { seenWebhooks, tenantFilter } from "../visibility.ts";
import {
  judgeFilters,
  searchBounds,
  searchedPage,
  type SearchedPage,
  type SearchPageRequest,
} from "../searched-pages.ts";
import type {
  DeliveryFiltersWithin,
  DeliveryHandle,
  DeliveryPage,
  EventListQuery,
  EventMatch,
  EventMatchPage,
  FeatureContext,
  PublishEntry,
  PublishInput,
  PublishReceipt,
  ReplayCommand,
  Scope,
} from "../services.ts";

/** Number of deliveries of the event per read. */
const deliveriesAtOnce = 250;

interface EventMatchPageRequest {
  readonly limit: number;
  readonly offset: number;
  /** Id of the last webhook of the previous page; null for the first page. */
  readonly after: string | null;
}

/**
 * Which of a tenant's webhooks received an event, and the first reason why the others did not. Newest webhook first.
 */
async function eventMatches(
  context: FeatureContext,
  event: StoredEvent,
  page: EventMatchPageRequest,
): Promise<EventMatchPage> {
  const { limit, offset, after } = page;
  const webhooks = [...context.access.webhooks()]
    .map(({ webhook }) => webhook)
    .filter(({ id, tenantId }) => tenantId === event.tenantId && (after === null || id < after))
    .toSorted((left, right) => (left.id > right.id ? -1 : 1));
  const shown = webhooks.slice(offset, offset + limit);
  const deliveries = await newestDeliveries(context, event, shown);
  const rows = shown.map((webhook) => matchOf(event, webhook, deliveries.get(webhook.id) ?? null));
  const hasMore = webhooks.length > offset + limit;
  return { rows, next: hasMore ? (shown.at(-1)?.id ?? null) : null };
}

/** The latest delivery of the event for each of these webhooks. */
async function newestDeliveries(
  { store: { history }, clock }: FeatureContext,
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
    // All deliveries of the event are read, so that the result is exact; their number is bounded.
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

/** Uses the webhook's current state, because its state at the time of publishing is known only from its deliveries. */
function whyNot(event: StoredEvent, webhook: Webhook): EventMatch["reason"] {
  const { eventType: type, createdAt } = event;
  if (!webhook.events.some((pattern) => matches(pattern, type))) return "other_type";
  return webhook.createdAt > createdAt ? "made_later" : "changed_later";
}

/** The page size is smaller than for other searches, because bodies are large. */
const bodySearchBounds = { ...searchBounds, rowsMax: 20_000 };
/** Maximum number of deliveries written per commit. */
const requeueSizeMax = 200;

/** Publishes, reads and replays events. */
export class Events {
  readonly #context: FeatureContext;
  readonly #publisher: Publisher;
  readonly #listing: DeliveryListing;

  constructor(context: FeatureContext, publisher: Publisher, listing: DeliveryListing) {
    this.#context = context;
    this.#publisher = publisher;
    this.#listing = listing;
  }

  /**
   * Publishes an event and resolves after the commit. A repeat with the same key and payload resolves with `duplicate:
   * true`.
   */
  publish(scope: Scope, input: PublishInput): Promise<PublishReceipt> {
    return this.#publisher.publish(scope, input);
  }

  /**
   * Publishes several events. Never rejects because of an invalid event. The results are in the order of the inputs.
   */
  publishMany(scope: Scope, inputs: readonly PublishInput[]): Promise<readonly PublishEntry[]> {
    return this.#publisher.publishMany(scope, inputs);
  }

  async get(scope: Scope, id: string): Promise<StoredEvent> {
    const event = await this.#context.store.history.getEvent(scope.tenantId, id);
    if (event === null || !(await this.#isSeen(scope, event))) throw new NotFoundError("the event");
    return event;
  }

  /**
   * Whether the caller may see the event. A portal session that is limited to some webhooks sees only events that were
   * sent to one of them.
   */
  async #isSeen(scope: Scope, { id, tenantId }: StoredEvent): Promise<boolean> {
    const webhookIds = seenWebhooks(scope, null);
    if (webhookIds === null) return true;
    const page = { limit: 1, offset: 0, after: null };
    return (await this.#listing.page(tenantId, { eventId: id, webhookIds, page })).rows.length > 0;
  }

  /** The published events, newest first, without bodies. A page may end early when its budget is used up. */
  async list(scope: Scope, query: EventListQuery): Promise<SearchedPage<EventSummary>> {
    judgeFilters(eventListFields, query);
    const {
      clock,
      store: { history },
    } = this.#context;
    const { dataContains = null } = query;
    const filter: EventFilter = {
      tenantId: tenantFilter(scope, query.tenantId ?? null),
      eventTypes: query.eventTypes ?? null,
      source: query.source ?? null,
      idempotencyKey: query.idempotencyKey ?? null,
      unmatched: query.unmatched ?? null,
      dataContains,
      from: query.from ?? null,
      to: query.to ?? null,
    };
    const budget = new SearchBudget(clock, dataContains === null ? searchBounds : bodySearchBounds);
    return searchedPage<EventSummary>(query.page, {
      budget,
      takes: null,
      read: (part) => history.searchEvents({ filter, budget, ...part }),
      placeOf: ({ position }) => ({ position, dueAt: null }),
      createdAtOf: ({ createdAt }) => createdAt,
    });
  }

  async deliveries(
    scope: Scope,
    query: DeliveryFiltersWithin & { readonly eventId: string; readonly page: SearchPageRequest },
  ): Promise<DeliveryPage> {
    const { id, tenantId } = await this.get(scope, query.eventId);
    const webhookIds = seenWebhooks(scope, null);
    return this.#listing.page(tenantId, { ...query, eventId: id, webhookIds });
  }

  /** Which webhooks received the event, and why others did not. */
  async matches(
    scope: Scope,
    query: { readonly eventId: string; readonly page: EventMatchPageRequest },
  ): Promise<EventMatchPage> {
    return eventMatches(this.#context, await this.get(scope, query.eventId), query.page);
  }

  /**
   * Creates new deliveries of a stored event, to the given webhooks or to all webhooks that now subscribe to its type.
   * The deliveries keep the event's id, so that receivers can detect duplicates.
   */
  async replay(scope: Scope, command: ReplayCommand): Promise<readonly DeliveryHandle[]> {
    const { webhookIds = null } = validFields(replayFields, command, "the replay");
    const event = await this.get(scope, command.eventId);
    if (event.body === null)
      throw new PosthornError("payload_gone", "the payload of the event was removed by retention");
    const targets = webhookIds === null ? this.#subscribers(event) : this.#named(event, webhookIds);
    const handles: DeliveryHandle[] = [];
    for (let index = 0; index < targets.length; index += requeueSizeMax) {
      handles.push(...(await this.#requeue(event, targets.slice(index, index + requeueSizeMax))));
    }
    return handles;
  }

  async #requeue(event: StoredEvent, targets: readonly Webhook[]): Promise<readonly DeliveryHandle[]> {
    const { access, clock } = this.#context;
    const now = clock.now();
    const originals = await originalsOf(this.#context.store.history, event, targets);
    const deliveries = replaysOf(access, event, targets, originals, now);
    requireAccepted(await access.requeue({ eventId: event.id, deliveries }));
    return deliveries.map(({ id, lane }) => ({ deliveryId: id, webhookId: lane.webhookId }));
  }

  /**
   * Webhooks that would receive the event now. Inactive webhooks are excluded, because their deliveries would only
   * accumulate.
   */
  #subscribers(event: StoredEvent): readonly Webhook[] {
    return this.#ofTenant(event.tenantId).filter(
      ({ status, events }) =>
        status === "active" && events.some((pattern) => matches(pattern, event.eventType)),
    );
  }

  /** The given webhooks. They need not subscribe to the type, because a manual replay is intentional. */
  #named(event: StoredEvent, webhookIds: readonly string[]): readonly Webhook[] {
    const known = new Map(this.#ofTenant(event.tenantId).map((webhook) => [webhook.id, webhook]));
    const problems = webhookIds.flatMap((id, index) => {
      const status = known.get(id)?.status;
      if (status === "active") return [];
      const message = status === undefined ? "does not exist" : "is not active; enable it first";
      return [{ field: `webhook_ids[${index}]`, message }];
    });
    if (problems.length > 0) throw invalidWebhooks(problems);
    return [...new Set(webhookIds)].map((id) => known.get(id)).filter((webhook) => webhook !== undefined);
  }

  #ofTenant(tenantId: string): readonly Webhook[] {
    return [...this.#context.access.webhooks()]
      .map(({ webhook }) => webhook)
      .filter((webhook) => webhook.tenantId === tenantId);
  }
}

function invalidWebhooks(
  problems: readonly { readonly field: string; readonly message: string }[],
): InvalidRequestError {
  return new InvalidRequestError("the event cannot be replayed to these webhooks", problems);
}

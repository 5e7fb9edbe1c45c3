import { InvalidRequestError, NotFoundError, PosthornError } from "../../core/errors.ts";
import { matches } from "../../core/event-type.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore, StoredEvent } from "../../ports/store/history.ts";
import type { Page } from "../../ports/store.ts";
import type { EngineAccess } from "../engine-access.ts";
import type { DeliveryHandle, DeliveryView, EventListQuery, EventService, Scope } from "../services.ts";
import { newRedelivery, requireAccepted } from "./redelivery.ts";
import { tenantFilter } from "./scope.ts";

export interface EventServiceOptions {
  readonly access: Pick<EngineAccess, "webhooks" | "explain" | "requeue" | "placeOf" | "nextId">;
  readonly history: HistoryStore;
  readonly clock: Clock;
}

/** Deliveries written in one commit. */
const requeueSizeMax = 200;
/** Webhooks that a replay may name. */
const webhookIdsMax = 1_000;

/** Events that were published; publishing itself is the engine's. */
export class Events implements Omit<EventService, "publish" | "publishMany"> {
  readonly #options: EventServiceOptions;

  constructor(options: EventServiceOptions) {
    this.#options = options;
  }

  async get(scope: Scope, id: string): Promise<StoredEvent> {
    const event = await this.#options.history.getEvent({ tenantId: scope.tenantId, id });
    if (event === null) throw new NotFoundError("the event");
    return event;
  }

  async list(scope: Scope, query: EventListQuery): Promise<Page<StoredEvent>> {
    return this.#options.history.listEvents({
      ...query,
      tenantId: tenantFilter({ scope, tenantId: query.tenantId }),
    });
  }

  async deliveries(
    scope: Scope,
    query: Parameters<EventService["deliveries"]>[1],
  ): Promise<Page<DeliveryView>> {
    const event = await this.get(scope, query.eventId);
    const page = await this.#options.history.listDeliveries({
      tenantId: event.tenantId,
      webhookId: null,
      eventId: event.id,
      states: null,
      from: null,
      to: null,
      page: query.page,
    });
    return { rows: page.rows.map((row) => this.#options.access.explain(row)), next: page.next };
  }

  /** Replays keep the event's id, so that receivers who have it already recognise it (C-21). */
  async replay(
    scope: Scope,
    command: Parameters<EventService["replay"]>[1],
  ): Promise<readonly DeliveryHandle[]> {
    const event = await this.get(scope, command.eventId);
    if (event.body === null)
      throw new PosthornError("payload_gone", "the payload of the event was removed by retention");
    const targets =
      command.webhookIds === null ? this.#subscribers(event) : this.#named(event, command.webhookIds);
    const handles: DeliveryHandle[] = [];
    for (let index = 0; index < targets.length; index += requeueSizeMax) {
      handles.push(...(await this.#requeue(event, targets.slice(index, index + requeueSizeMax))));
    }
    return handles;
  }

  async #requeue(event: StoredEvent, targets: readonly Webhook[]): Promise<readonly DeliveryHandle[]> {
    const { access, clock } = this.#options;
    const { eventType, priority } = event;
    const now = clock.now();
    const deliveries = targets.map((webhook) =>
      newRedelivery(access, { webhook, eventType, priority, origin: "replay", now }),
    );
    requireAccepted(await access.requeue({ eventId: event.id, deliveries, supersedes: null }));
    return deliveries.map(({ id, lane }) => ({ deliveryId: id, webhookId: lane.webhookId }));
  }

  /** Those that would receive it now; a webhook that is not active would only pile it up. */
  #subscribers(event: StoredEvent): readonly Webhook[] {
    return this.#ofTenant(event.tenantId).filter(
      ({ status, events }) =>
        status === "active" && events.some((pattern) => matches({ pattern, type: event.eventType })),
    );
  }

  /** Named ones need not subscribe: a replay by hand is its own consent. */
  #named(event: StoredEvent, webhookIds: readonly string[]): readonly Webhook[] {
    if (webhookIds.length === 0 || webhookIds.length > webhookIdsMax) {
      throw invalidWebhooks([
        { field: "webhook_ids", message: `must list 1 to ${webhookIdsMax} webhooks, or be left out` },
      ]);
    }
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
    return [...this.#options.access.webhooks()]
      .map(({ webhook }) => webhook)
      .filter((webhook) => webhook.tenantId === tenantId);
  }
}

function invalidWebhooks(
  problems: readonly { readonly field: string; readonly message: string }[],
): InvalidRequestError {
  return new InvalidRequestError("the event cannot be replayed to these webhooks", problems);
}

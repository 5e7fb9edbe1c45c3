import { InvalidRequestError, NotFoundError, PosthornError } from "../../core/errors.ts";
import { matches } from "../../core/event-type.ts";
import { replayFields } from "../../core/fields/actions.ts";
import type { InputOf } from "../../core/fields/field.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore, StoredEvent } from "../../ports/store/history.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type { EngineAccess } from "../engine-access.ts";
import type { Publisher } from "../publish/publish.ts";
import type {
  DeliveryHandle,
  DeliveryView,
  EventListQuery,
  PublishEntry,
  PublishInput,
  PublishReceipt,
  Scope,
} from "../services.ts";
import { waitingWebhooks } from "./delivery-service.ts";
import { ProblemList } from "./problem-list.ts";
import { readFields } from "./read-fields.ts";
import { newRedelivery, requireAccepted } from "./redelivery.ts";
import { tenantFilter } from "./scope.ts";

export interface EventServiceOptions {
  readonly publisher: Pick<Publisher, "publish" | "publishMany">;
  readonly access: Pick<EngineAccess, "webhooks" | "explain" | "refresh" | "requeue" | "placeOf" | "nextId">;
  readonly history: HistoryStore;
  readonly clock: Clock;
}

/** Deliveries written in one commit. */
const requeueSizeMax = 200;

/** Events: publishing them, reading what is stored of them, and delivering them again. */
export class Events {
  readonly #options: EventServiceOptions;

  constructor(options: EventServiceOptions) {
    this.#options = options;
  }

  /** Resolves after the commit. A repeat with the same key and payload resolves with `duplicate: true`. */
  publish(scope: Scope, input: PublishInput): Promise<PublishReceipt> {
    return this.#options.publisher.publish(scope, input);
  }

  /** Never rejects for one bad event; entries are in the order of the inputs. */
  publishMany(scope: Scope, inputs: readonly PublishInput[]): Promise<readonly PublishEntry[]> {
    return this.#options.publisher.publishMany(scope, inputs);
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
    query: { readonly eventId: string; readonly page: PageRequest },
  ): Promise<Page<DeliveryView>> {
    const event = await this.get(scope, query.eventId);
    const page = await this.#explained(event, query.page);
    const webhookIds = waitingWebhooks(page.rows);
    if (webhookIds.length === 0) return page;
    // What they wait for only the owners of their webhooks know: that is read first, and with it the deliveries again.
    await this.#options.access.refresh(webhookIds);
    return this.#explained(event, query.page);
  }

  async #explained(event: StoredEvent, page: PageRequest): Promise<Page<DeliveryView>> {
    const { access, history } = this.#options;
    const { rows, next } = await history.listDeliveries({
      tenantId: event.tenantId,
      webhookId: null,
      eventId: event.id,
      states: null,
      from: null,
      to: null,
      page,
    });
    return { rows: rows.map((row) => access.explain(row)), next };
  }

  /**
   * New deliveries of a stored event, to the named webhooks or to all that now subscribe to its type. They keep the event's
   * id, so that receivers who have it already recognise it (C-21).
   */
  async replay(
    scope: Scope,
    command: { readonly eventId: string } & InputOf<typeof replayFields>,
  ): Promise<readonly DeliveryHandle[]> {
    const problems = new ProblemList();
    const { webhookIds = null } = readFields(replayFields, command, { problems });
    problems.throwIfAny("the replay");
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

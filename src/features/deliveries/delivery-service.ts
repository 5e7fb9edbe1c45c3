import type { AttemptRecord, Priority } from "../../domain/delivery.ts";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { RenderedRequest } from "../../engine/attempt/attempts.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import { deliveryRetryFields } from "../../resources/actions.ts";
import { validFields } from "../input.ts";
import type { BulkActions } from "../operations/bulk-actions.ts";
import { requireWebhook, seenWebhooks, seesWebhook, tenantFilter } from "../visibility.ts";
import type {
  AttemptName,
  BulkDeliveriesCommand,
  BulkStarted,
  DeliveriesOfWebhookQuery,
  DeliveryListQuery,
  DeliveryPage,
  DeliveryView,
  FeatureContext,
  RetriedDelivery,
  RetryDeliveryCommand,
  Scope,
} from "../services.ts";
import { closeCircuit, requireCircuitRights } from "../webhooks/webhook-circuit.ts";
import { type DeliveryListing, waitingWebhooks } from "./delivery-listing.ts";
import { authorOf, newReplay, requireAccepted, retryOf } from "./redelivery.ts";

/** Deliveries as visible to their owners, and manual retries. */
export class Deliveries {
  readonly #context: FeatureContext;
  readonly #listing: DeliveryListing;
  readonly #bulk: BulkActions;

  constructor(context: FeatureContext, listing: DeliveryListing, bulk: BulkActions) {
    this.#context = context;
    this.#listing = listing;
    this.#bulk = bulk;
  }

  async get(
    scope: Scope,
    id: string,
  ): Promise<{ readonly view: DeliveryView; readonly attempts: readonly AttemptRecord[] }> {
    const view = await this.#explain(scope, id);
    return { view, attempts: await this.#context.store.history.listAttempts(id) };
  }

  /** The reconstructed request of an attempt. Rejects with `payload_gone` if retention has removed the payload. */
  async request(scope: Scope, { deliveryId, number }: AttemptName): Promise<RenderedRequest> {
    const {
      access,
      store: { history },
    } = this.#context;
    const delivery = await this.#require(scope, deliveryId);
    const attempts = await history.listAttempts(deliveryId);
    const attempt = attempts.find((each) => each.number === number);
    if (attempt === undefined) throw new NotFoundError("the attempt");
    const event = await history.getEvent(delivery.tenantId, delivery.eventId);
    if (event === null) throw new NotFoundError("the event");
    const { body } = event;
    if (body === null)
      throw new PosthornError("payload_gone", "the payload of the event was removed by retention");
    await access.refresh([delivery.webhookId]);
    const rendered = access.renderRequest({ delivery, event: { ...event, body }, attempt });
    if (rendered === null) throw new NotFoundError("the webhook of the delivery");
    return rendered;
  }

  /** All visible deliveries. A page may end early when its budget is used up. */
  async list(scope: Scope, query: DeliveryListQuery): Promise<DeliveryPage> {
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const webhookIds = seenWebhooks(scope, query.webhookIds);
    return this.#listing.page(tenantId, { ...query, webhookIds });
  }

  /** The visible deliveries of a webhook. Rejects with `not_found` for a webhook that the caller cannot see. */
  async listOfWebhook(scope: Scope, query: DeliveriesOfWebhookQuery): Promise<DeliveryPage> {
    const { access } = this.#context;
    await access.refresh([query.webhookId]);
    const { webhook } = requireWebhook(access, scope, query.webhookId);
    return this.#listing.page(webhook.tenantId, { ...query, webhookIds: [webhook.id] });
  }

  /**
   * Retries the delivery immediately and keeps its earlier attempts. A successful delivery is not changed; a copy of it
   * is sent.
   */
  async retry(scope: Scope, command: RetryDeliveryCommand): Promise<RetriedDelivery> {
    const { access, clock } = this.#context;
    await access.refresh([command.webhookId]);
    const { webhook } = requireWebhook(access, scope, command.webhookId);
    const delivery = await this.#require(scope, command.deliveryId);
    if (delivery.webhookId !== webhook.id) throw new NotFoundError("the delivery");
    validFields(deliveryRetryFields, command, "the retry");
    if (command.closeCircuit === true) {
      requireCircuitRights(scope);
      await closeCircuit(webhook.id, this.#context.access, this.#context.clock);
    }
    // A successful delivery is not changed: a copy of it is sent.
    if (delivery.progress.state === "success")
      return this.#replay(delivery, webhook, command.priority ?? null);
    const retry = { at: clock.now(), by: authorOf(scope), operationId: null };
    const priority = command.priority ?? null;
    requireAccepted(await access.retry(retryOf(access, delivery, webhook, priority, retry)));
    return this.#handle(scope, delivery.id);
  }

  async #replay(
    delivery: StoredDelivery,
    webhook: Webhook,
    priority: Priority | null,
  ): Promise<RetriedDelivery> {
    const { access, clock } = this.#context;
    const { eventId, eventType, id: replayOf } = delivery;
    const made = newReplay(access, {
      webhook,
      eventType,
      priority: priority ?? delivery.priority,
      origin: "retry",
      replayOf,
      operationId: null,
      now: clock.now(),
    });
    requireAccepted(await access.requeue({ eventId, deliveries: [made] }));
    return this.#handle({ tenantId: delivery.tenantId }, made.id);
  }

  /** Returns the delivery with the gate that currently delays it, such as an open circuit. */
  async #handle(scope: Scope, deliveryId: string): Promise<RetriedDelivery> {
    const { delivery, waitingFor, waitingUntil, status } = await this.#explain(scope, deliveryId);
    return {
      deliveryId,
      webhookId: delivery.webhookId,
      replayOf: delivery.replayOf,
      status,
      waitingFor,
      waitingUntil,
    };
  }

  /** Like `retry`, for many deliveries. */
  retryBatch(scope: Scope, command: BulkDeliveriesCommand): Promise<BulkStarted> {
    return this.#bulk.retry(scope, command);
  }

  /** Cancels waiting deliveries, so that they are not sent. */
  cancelBatch(scope: Scope, command: Omit<BulkDeliveriesCommand, "priority">): Promise<BulkStarted> {
    return this.#bulk.cancel(scope, command);
  }

  /**
   * Returns the delivery with what it waits for. Only the owner of the webhook can determine this, so query the owner
   * first and then read the delivery again.
   */
  async #explain(scope: Scope, id: string): Promise<DeliveryView> {
    const { access } = this.#context;
    const view = access.explain(await this.#require(scope, id));
    if (view.waitingFor === null) return view;
    await access.refresh(waitingWebhooks([view]));
    return access.explain(await this.#require(scope, id));
  }

  async #require(scope: Scope, id: string): Promise<StoredDelivery> {
    const delivery = await this.#context.store.history.getDelivery(scope.tenantId, id);
    if (delivery === null || !seesWebhook(scope, delivery.webhookId)) throw new NotFoundError("the delivery");
    return delivery;
  }
}

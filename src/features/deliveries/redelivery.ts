import type { DeliveryRetry, Priority, RetryAuthor } from "../../domain/delivery.ts";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { AuditActor } from "../../domain/scope.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { unlimitedBudget } from "../../ports/clock.ts";
import type { Replay, RequeueResult, RetryCommand, RetryResult } from "../../ports/store/deliveries.ts";
import type { HistoryStore, StoredDelivery, StoredEvent } from "../../ports/store/history.ts";
import { everyDelivery, type SearchPage, type SearchPlace } from "../../ports/store/search.ts";
import type { Scope } from "../services.ts";

/** A replay of a stored event, due immediately. It joins the webhook's current lane. */
export function newReplay(
  access: Pick<EngineAccess, "placeOf" | "nextId">,
  replay: {
    readonly webhook: Webhook;
    readonly eventType: string;
    readonly priority: Priority;
    /** `retry` for the copy of a successful delivery. */
    readonly origin: "replay" | "retry";
    readonly replayOf: string | null;
    readonly operationId: string | null;
    readonly now: number;
  },
): Replay {
  return {
    id: access.nextId(),
    ...access.placeOf(replay.webhook, replay.eventType),
    priority: replay.priority,
    state: "pending",
    reason: null,
    dueAt: replay.now,
    createdAt: replay.now,
    origin: replay.origin,
    replayOf: replay.replayOf,
    operationId: replay.operationId,
    claim: false,
    leaseUntil: 0,
  };
}

/** Replays of one event to webhooks that may receive it. */
export function replaysOf(
  access: Pick<EngineAccess, "placeOf" | "nextId">,
  event: Pick<StoredEvent, "eventType" | "priority">,
  webhooks: readonly Webhook[],
  /** The event's existing deliveries, keyed by webhook. The new deliveries reference them as their originals. */ originals: ReadonlyMap<
    string,
    string
  >,
  now: number,
): readonly Replay[] {
  const { eventType, priority } = event;
  return webhooks.map((webhook) =>
    newReplay(access, {
      webhook,
      eventType,
      priority,
      origin: "replay",
      replayOf: originals.get(webhook.id) ?? null,
      operationId: null,
      now,
    }),
  );
}

/** The latest delivery of an event per webhook, which a replay references as its original. */
export async function originalsOf(
  history: Pick<HistoryStore, "searchDeliveries">,
  event: Pick<StoredEvent, "id">,
  webhooks: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, string>> {
  const left = new Set(webhooks.map(({ id }) => id));
  const found = new Map<string, string>();
  const webhookIds = webhooks.length === 1 ? [...left] : null;
  const filter = { ...everyDelivery, eventId: event.id, webhookIds };
  const search = { filter, order: "newest", limit: rowsAtOnce, budget: unlimitedBudget } as const;
  for (let after: SearchPlace | null = null; left.size > 0; ) {
    const { rows, next }: SearchPage<StoredDelivery> = await history.searchDeliveries({ ...search, after });
    for (const { id, webhookId } of rows) if (left.delete(webhookId)) found.set(webhookId, id);
    if (next === null) break;
    after = next;
  }
  return found;
}

const rowsAtOnce = 200;

/** A manual retry of a delivery, in the webhook's current lane. */
export function retryOf(
  access: Pick<EngineAccess, "placeOf">,
  delivery: Pick<StoredDelivery, "id" | "eventType">,
  webhook: Webhook,
  priority: Priority | null,
  retry: Omit<DeliveryRetry, "attemptCount">,
): RetryCommand {
  return { deliveryId: delivery.id, ...access.placeOf(webhook, delivery.eventType), priority, retry };
}

/** The author of a call; null if an application calls the library directly. */
export function authorOf({ audit }: Scope): RetryAuthor | null {
  const actor = audit?.peek()?.actor;
  return actor === undefined || actor.kind === "anonymous" ? null : { kind: actor.kind, name: nameOf(actor) };
}

function nameOf({ kind, keyName, reference }: AuditActor): string | null {
  return kind === "portal_session" ? reference : keyName;
}

/** If a replay or retry was refused, throws an error with the reason. */
export function requireAccepted(result: RequeueResult | RetryResult): void {
  switch (result.kind) {
    case "accepted":
      return;
    case "event_not_found":
      throw new NotFoundError("the event");
    case "not_found":
      throw new NotFoundError("the delivery");
    case "payload_gone":
      throw new PosthornError("payload_gone", "the payload of the event was removed by retention");
    case "not_possible":
      throw new PosthornError("conflict", "the delivery has just succeeded; replay it to send it again");
    case "in_flight":
      throw new PosthornError(
        "delivery_in_flight",
        "an attempt of this delivery is in flight; retry when it has ended",
        {
          retryAfterSeconds: 1,
        },
      );
  }
}

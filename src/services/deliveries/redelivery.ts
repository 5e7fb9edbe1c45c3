import type { DeliveryOrigin, Priority } from "../../core/delivery.ts";
import { NotFoundError, PosthornError } from "../../core/errors.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { NewDelivery, RequeueResult } from "../../ports/store/deliveries.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";

/** A new delivery of an event that is stored, due at once (C-40). It joins the line of its webhook as it is now. */
export function newRedelivery(
  access: Pick<EngineAccess, "placeOf" | "nextId">,
  delivery: {
    readonly webhook: Webhook;
    readonly eventType: string;
    readonly priority: Priority;
    readonly origin: DeliveryOrigin;
    readonly now: number;
  },
): NewDelivery {
  return {
    id: access.nextId(),
    ...access.placeOf(delivery.webhook, delivery.eventType),
    priority: delivery.priority,
    state: "pending",
    reason: null,
    dueAt: delivery.now,
    createdAt: delivery.now,
    origin: delivery.origin,
    claim: false,
    leaseUntil: 0,
  };
}

/** Throws what stood in the way of a requeue. */
export function requireAccepted(result: RequeueResult): void {
  switch (result.kind) {
    case "accepted":
      return;
    case "event_not_found":
      throw new NotFoundError("the event");
    case "payload_gone":
      throw new PosthornError("payload_gone", "the payload of the event was removed by retention");
    case "in_flight":
      throw new PosthornError(
        "delivery_in_flight",
        "an attempt of this delivery is in flight; try again when it ended",
        {
          retryAfterSeconds: 1,
        },
      );
  }
}

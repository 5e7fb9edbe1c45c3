import type { DeliveryEvent } from "../../core/delivery-state.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import { isEmptyData } from "../../core/payload-formats/standard.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

export type Unsendable = DeliveryEvent<"payload_unavailable" | "payload_refused">;

/**
 * Why the content of a delivery cannot be sent, or null when it can. Asked before each attempt and not when the event is
 * published: one subscriber's profile must not refuse an event to the others, and a replay, a recovery or a change of the
 * profile asks anew.
 */
export function unsendable(
  { eventType, timestamp, raw, body }: ClaimedDelivery,
  { emptyDataRefused }: Pick<DeliveryPolicy, "emptyDataRefused">,
): Unsendable | null {
  if (body === null) return { kind: "payload_unavailable" };
  if (emptyDataRefused && isEmptyData({ eventType, timestamp, raw, body }))
    return { kind: "payload_refused" };
  return null;
}

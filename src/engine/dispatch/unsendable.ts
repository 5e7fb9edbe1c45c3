import type { DeliveryEvent } from "../../core/delivery-state.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import { isEmptyData } from "../../core/payload-formats/standard.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

export type Unsendable = DeliveryEvent<"payload_unavailable" | "payload_refused">;

/**
 * Why the content of a delivery cannot be sent, or null if it can. Checked before each attempt instead of when the
 * event is published: one subscriber's profile must not refuse an event for the others, and a replay, a recovery or a
 * changed profile is checked again.
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

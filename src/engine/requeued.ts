import type { RequeueCommand } from "../ports/store/deliveries.ts";
import type { Directory } from "./directory.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Deliveries of an old event were stored: their lanes have something to send. */
export function requeued(
  { deliveries, supersedes }: RequeueCommand,
  { directory, dispatcher }: { readonly directory: Directory; readonly dispatcher: Dispatcher },
): void {
  for (const delivery of deliveries) {
    const endpoint = directory.get(delivery.lane.webhookId);
    if (endpoint === undefined) continue;
    // It may have been the head that a lane waited for, also of a lane from before the ordering was changed.
    if (supersedes !== null) dispatcher.headsChanged(endpoint);
    if (delivery.state !== "pending") continue;
    const lane = endpoint.lane(delivery.lane);
    dispatcher.stored(lane, { tier: lane.tier(delivery.priority), dueAt: delivery.dueAt });
  }
}

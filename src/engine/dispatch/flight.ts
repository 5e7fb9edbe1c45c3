import type { Webhook } from "../../core/webhook.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import type { Place } from "./capacity.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";

/** A delivery on its way. Made by the dispatcher, settled by settle, given back through `answered` and `settled`. */
export interface Flight {
  readonly delivery: ClaimedDelivery;
  readonly lane: Lane;
  readonly endpoint: Endpoint;
  readonly startedAt: number;
  /** As it was then. */
  readonly webhook: Webhook;
  /** The probe's lease when the circuit is half open. */
  readonly probe: number | null;
  readonly place: Place;
  /** The access token that the request carried; null where the webhook has none. */
  accessToken: string | null;
}

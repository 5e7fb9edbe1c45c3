import type { Clock } from "../ports/clock.ts";
import type { ClaimedDelivery, DeliveryStore } from "../ports/store/deliveries.ts";
import type { CapacityLimits, CapacityOptions } from "./capacity.ts";
import type { Flight } from "./flight.ts";
import type { Unsendable } from "./unsendable.ts";
import type { Lane } from "./lane.ts";
import type { SendPermitsOptions } from "./send-permits.ts";

export interface DispatcherOptions
  extends CapacityLimits,
    Pick<CapacityOptions, "severalTenants">,
    Omit<SendPermitsOptions, "close"> {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  /** Longer than the longest request; checked at start. */
  readonly leaseMs: number;
  /** Body bytes held in memory for all lanes together. */
  readonly bufferBytesMax: number;
  /** Starts one attempt; must not call back synchronously. */
  readonly send: (flight: Flight) => void;
  /** A delivery is older than its horizon: settle it without a request. */
  readonly expire: (delivery: ClaimedDelivery, lane: Lane) => void;
  /** Its body is gone or refused by the profile: dead-letter it. */
  readonly unsendable: (delivery: ClaimedDelivery, lane: Lane, why: Unsendable) => void;
  /** True while too much waits to be committed, so that nothing more is sent. */
  readonly congested: () => boolean;
  /** Every lane that had work when the process started is known. */
  readonly backlogKnown: () => boolean;
  /** False while another process may own what this one owned (ownership/): nothing is sent. */
  readonly holds: () => boolean;
  /** Something waits for an endpoint that another process may own. */
  readonly wanted: (webhookId: string) => void;
}

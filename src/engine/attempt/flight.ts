import type { Webhook } from "../../domain/webhook.ts";
import type { WaitingSlot } from "../../domain/request-slots.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Share } from "../endpoint/fair-shares.ts";
import type { Host } from "../endpoint/host-places.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { Pace } from "../endpoint/pace.ts";

/** A delivery in flight. Created by the dispatcher, settled by `Settler`, and returned to its listener. */
export interface Flight {
  readonly delivery: ClaimedDelivery;
  readonly lane: Lane;
  readonly endpoint: Endpoint;
  readonly startedAt: number;
  /** The webhook as it was at the start. */
  readonly webhook: Webhook;
  /** The lease of the probe if the circuit is half open. */
  readonly probe: number | null;
  readonly place: Place;
  /** The access token sent with the request; null if the webhook has none. */
  accessToken: string | null;
}

/** The resources that a request occupies until it ends. Managed by capacity.ts. */
export interface Place {
  readonly endpoint: Endpoint;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly bytes: number;
  /** Its share of the active requests. */
  share: Share;
  /** Null if hosts have no limit, and once the request counts as waiting. */
  host: Host | null;
  readonly isCautious: boolean;
  /** Null while the request is active. */
  waiting: WaitingSlot | null;
  /** It is older than five seconds. */
  hasHung: boolean;
}

/** Receives the ends of flights: the dispatcher, which created them and decides what to send next. */
export interface FlightListener {
  /**
   * The request has ended; its request slot is free. Called before settling. `isResponse` if the receiver answered.
   */
  answered(flight: Flight, pace: Pace, isResponse: boolean): void;
  /** The settlement is committed, or the lease was lost; `retryAt` is null if no attempt follows. */
  settled(flight: Flight, retryAt: number | null): void;
  /** The settlement was not written: the current lease owner decides; without one, the lease expires. */
  lost(flight: Pick<Flight, "lane">): void;
  /** A delivery was settled without a request. */
  dropped(lane: Lane): void;
  /**
   * No request was made, through no fault of the receiver: the delivery is released, and its endpoint pauses until
   * then.
   */
  postponed(flight: Flight, until: number): void;
  /** Requests can be made again. */
  schedulePump(): void;
}

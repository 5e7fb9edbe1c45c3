import type { Webhook } from "../../core/webhook.ts";
import type { WaitingSlot } from "../../core/request-slots.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Share } from "../endpoint/fair-shares.ts";
import type { Host } from "../endpoint/host-places.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { Pace } from "../endpoint/pace.ts";

/** A delivery on its way. Made by the dispatcher, settled by settle, given back to its listener. */
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

/** What a request occupies until it ends. Kept by capacity.ts. */
export interface Place {
  readonly endpoint: Endpoint;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly bytes: number;
  /** Of the active requests. */
  share: Share;
  /** Null where hosts have no limit, and once the request waits. */
  host: Host | null;
  readonly isCautious: boolean;
  /** Null while the request is active. */
  waiting: WaitingSlot | null;
  /** It is older than five seconds. */
  hasHung: boolean;
}

/** Hears how flights end: the dispatcher, which made them and decides what is sent next. */
export interface FlightListener {
  /** The request has ended; its place is free. Called before settling. `isResponse` when the receiver answered. */
  answered(flight: Flight, pace: Pace, isResponse: boolean): void;
  /** The settlement is committed, or the lease was lost; `retryAt` is null where nothing follows. */
  settled(flight: Flight, retryAt: number | null): void;
  /** The settlement was not written: the holder of the lease decides, and without a holder the lease runs out. */
  lost(flight: Pick<Flight, "lane">): void;
  /** A delivery was settled without a request. */
  dropped(lane: Lane): void;
  /** No request was made, and nobody is to blame: the delivery goes back, and its endpoint rests until then. */
  postponed(flight: Flight, until: number): void;
  /** Requests can be made again. */
  schedulePump(): void;
}

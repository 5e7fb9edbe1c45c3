import type { Clock } from "../ports/clock.ts";
import type { ClaimedDelivery } from "../ports/store/deliveries.ts";
import { closedGate } from "./gates.ts";
import type { LaneBuffers } from "./lane-buffers.ts";
import type { Lane } from "./lane.ts";

export interface ReservationsOptions {
  readonly clock: Clock;
  readonly buffers: LaneBuffers;
  readonly running: () => boolean;
  /** Every lane that had work when the process started is known. */
  readonly backlogKnown: () => boolean;
  /** The lane may have something to send. */
  readonly consider: (lane: Lane) => void;
}

/**
 * The short way of a new delivery: leased by the transaction that stores it, and sent from memory without being read
 * back. A place is reserved right before the commit and taken, or returned, right after it.
 */
export class Reservations {
  readonly #options: ReservationsOptions;

  constructor(options: ReservationsOptions) {
    this.#options = options;
  }

  /**
   * May a delivery that is about to be committed be leased and kept in memory? Only when nothing older of the lane is
   * left in the store, so that order and priority hold, and while there is room.
   */
  reserve(lane: Lane, delivery: { readonly tier: number; readonly bytes: number }): boolean {
    if (this.#mayReserve(lane, delivery)) {
      lane.reserved += 1;
      return true;
    }
    // The store will hold this one, so nothing later of the same commit may be kept in memory and overtake it.
    if (lane.ordered) lane.markMore(0);
    return false;
  }

  #mayReserve(lane: Lane, delivery: { readonly tier: number; readonly bytes: number }): boolean {
    const { running, backlogKnown, buffers, clock } = this.#options;
    if (!lane.endpoint.owned || !running() || lane.claiming || lane.releasing > 0) return false;
    for (let tier = lane.ordered ? 0 : delivery.tier; tier <= delivery.tier; tier += 1) {
      if (lane.more[tier as 0 | 1 | 2]) return false;
    }
    if (lane.ordered && (lane.wakeAt !== null || !backlogKnown())) return false;
    if (lane.buffered + lane.reserved >= laneBufferMax) return false;
    if (!buffers.hasRoom(delivery.bytes)) return false;
    return closedGate(lane.endpoint, clock.now()) === null;
  }

  /** The reserved delivery was committed. */
  accept(lane: Lane, delivery: ClaimedDelivery): void {
    const { buffers, running, consider } = this.#options;
    const isLate = lane.unreserve();
    buffers.push(lane, delivery);
    // A commit may end after the engine was told to stop and gave everything else back.
    if (isLate || !lane.endpoint.owned || !running()) buffers.giveBack(lane);
    consider(lane);
  }

  /** The reserved delivery was not committed. */
  cancel(lane: Lane): void {
    lane.unreserve();
    this.#options.consider(lane);
  }
}

const laneBufferMax = 256;

import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import { closedGate } from "../endpoint/gates.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { LaneBuffers } from "./lane-buffers.ts";
import type { BacklogReader } from "./recovery.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import type { Lane } from "../endpoint/lane.ts";

export interface ReservationsOptions {
  readonly clock: Clock;
  readonly buffers: LaneBuffers;
  readonly dispatcher: Pick<Dispatcher, "running" | "consider">;
  readonly ownership: () => Pick<Ownership, "holds" | "owned">;
  readonly backlog: () => Pick<BacklogReader, "finished">;
}

/**
 * The fast path of a new delivery: it is leased by the transaction that stores it, and sent from memory without being
 * read back. Memory is reserved right before the commit, and used or returned right after it.
 */
export class Reservations {
  readonly #options: ReservationsOptions;

  constructor(options: ReservationsOptions) {
    this.#options = options;
  }

  /**
   * Whether a delivery that is about to be committed may be leased and kept in memory. Only if the store has no older
   * delivery of the lane, so that order and priority hold, and if memory is available.
   */
  reserve(lane: Lane, tier: number, bytes: number): boolean {
    if (this.#mayReserve(lane, { tier, bytes })) {
      lane.reserve();
      return true;
    }
    // The store will hold this delivery, so no later delivery of the same commit may be kept in memory and overtake
    // it.
    if (lane.ordered) lane.markMore(0);
    return false;
  }

  #mayReserve(lane: Lane, delivery: { readonly tier: number; readonly bytes: number }): boolean {
    const { buffers, clock } = this.#options;
    if (!lane.endpoint.owned || !this.#isRunning() || lane.claiming || lane.releasing > 0) return false;
    for (let tier = lane.ordered ? 0 : delivery.tier; tier <= delivery.tier; tier += 1) {
      if (lane.more[tier as 0 | 1 | 2]) return false;
    }
    if (lane.ordered && (lane.wakeAt !== null || !this.#isBacklogKnown())) return false;
    if (lane.buffered + lane.reserved >= laneBufferMax) return false;
    if (!buffers.hasRoom(delivery.bytes)) return false;
    return closedGate(lane.endpoint, clock.now()) === null;
  }

  #isRunning(): boolean {
    const { dispatcher, ownership } = this.#options;
    return dispatcher.running && ownership().holds();
  }

  /**
   * All lanes that had work at the start of the process are known. With several processes, an acquired endpoint comes
   * with its lanes.
   */
  #isBacklogKnown(): boolean {
    const { backlog, ownership } = this.#options;
    return backlog().finished || ownership().owned() !== null;
  }

  /** The reserved delivery was committed. */
  accept(lane: Lane, delivery: ClaimedDelivery): void {
    const { buffers, dispatcher } = this.#options;
    const isLate = lane.unreserve();
    buffers.push(lane, delivery);
    // A commit may end after the engine was stopped and returned all other leases.
    if (isLate || !lane.endpoint.owned || !this.#isRunning()) buffers.giveBack(lane);
    dispatcher.consider(lane);
  }

  /** The reserved delivery was not committed. */
  cancel(lane: Lane): void {
    lane.unreserve();
    this.#options.dispatcher.consider(lane);
  }
}

const laneBufferMax = 256;

import { priorities, type Priority } from "../../domain/delivery.ts";
import type { PayloadFormatName } from "../../domain/profile.ts";
import { findProfile } from "../../domain/profiles/index.ts";
import type { LaneKey, Webhook } from "../../domain/webhook.ts";
import type { ClaimedDelivery, ClaimResult, Lease } from "../../ports/store/deliveries.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo, type Listed } from "./ready-lists.ts";
import { Sleeper } from "./wakeups.ts";

/** Index of a priority in arrays: 0 high, 1 normal, 2 low. */
function tierOf(priority: Priority): number {
  if (priority === "normal") return 1;
  return priority === "high" ? 0 : 2;
}

export function laneId(key: LaneKey): string {
  if (key.ordering === "none") return "n";
  return key.ordering === "strict" ? "s" : `t:${key.eventType ?? ""}`;
}

/**
 * One line of deliveries of an endpoint: the leased deliveries in memory, and whether the store has more.
 *
 * Invariants: the buffers hold only leased deliveries, in sending order; `more[tier]` is true whenever the store may
 * have an unleased delivery of that tier that is due; an ordered lane uses tier 0 for everything and has at most one
 * delivery in flight, from before its request until after its settlement is committed.
 */
export class Lane extends Sleeper implements Listed {
  readonly key: LaneKey;
  readonly endpoint: Endpoint;
  readonly ordered: boolean;
  readonly #more: [boolean, boolean, boolean] = [false, false, false];
  #claiming = false;
  /** Tiers of events that were published during a claim. They set `more` again when the claim returns. */
  readonly #moreWhileClaiming: [boolean, boolean, boolean] = [false, false, false];
  #releasing = 0;
  #reserved = 0;
  /**
   * Number of reservations that were made before the lane was last emptied. The next field says whether the running
   * claim was.
   */
  #reservedBeforeEmptied = 0;
  #claimedBeforeEmptied = false;
  #inFlight = 0;
  #lost = 0;
  #lostForgotten = 0;
  #freedAt = 0;
  #settling = 0;
  /** Its ready list in the endpoint; -1 if it is in none. Managed by ready-lists.ts. */
  readyTier = -1;
  #buffered = 0;
  #bufferedBytes = 0;
  #leasedUntil = 0;
  readonly #buffers: readonly [Fifo<ClaimedDelivery>, Fifo<ClaimedDelivery>, Fifo<ClaimedDelivery>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];

  constructor(key: LaneKey, endpoint: Endpoint) {
    super();
    this.key = key;
    this.endpoint = endpoint;
    this.ordered = key.ordering !== "none";
  }

  // ---- state of the store -------------------------------------------------------------------------------------

  /** By tier: whether the store may have an unleased delivery that is due. */
  get more(): readonly [boolean, boolean, boolean] {
    return this.#more;
  }

  /** Whether a claim is requested or running. */
  get claiming(): boolean {
    return this.#claiming;
  }

  claimBegan(): void {
    this.#claiming = true;
  }

  /** Called when a claim returned nothing. After any other claim, `refill` is called instead. */
  claimEnded(): void {
    this.#claiming = false;
  }

  /** Releases in progress; nothing is claimed until they end. */
  get releasing(): number {
    return this.#releasing;
  }

  releaseBegan(): void {
    this.#releasing += 1;
  }

  /** Called when the released deliveries are in the store and can be claimed again. */
  releaseEnded(): void {
    this.#releasing -= 1;
    this.markAllMore();
  }

  /** Number of publishes whose deliveries will be appended after the running commit. */
  get reserved(): number {
    return this.#reserved;
  }

  reserve(): void {
    this.#reserved += 1;
  }

  // ---- deliveries in flight -----------------------------------------------------------------------------------

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Called when a delivery was taken, either to be sent or to be settled without a request. */
  flightBegan(): void {
    this.#inFlight += 1;
  }

  flightEnded(): void {
    this.#inFlight -= 1;
  }

  /** When the last delivery of an ordered lane was settled, in Unix ms. */
  get freedAt(): number {
    return this.#freedAt;
  }

  /** Called when the in-flight delivery of an ordered lane is settled. */
  freed(now: number): void {
    this.#inFlight -= 1;
    this.#freedAt = now;
  }

  /**
   * In-flight deliveries of an ordered lane that ended without a settlement. They block the lane until their lease
   * ends.
   */
  get lost(): number {
    return this.#lost;
  }

  /**
   * How often the lost deliveries were cleared. If the number changed, a wait for the end of an earlier lease has no
   * effect.
   */
  get lostForgotten(): number {
    return this.#lostForgotten;
  }

  flightLost(): void {
    this.#lost += 1;
  }

  /** Called when the lease of a lost delivery of an ordered lane has ended. */
  lostLeaseEnded(): void {
    this.#inFlight -= 1;
    this.#lost -= 1;
  }

  /** Number of attempts that have ended but are not committed yet. */
  get settling(): number {
    return this.#settling;
  }

  settlementBegan(): void {
    this.#settling += 1;
  }

  settlementEnded(): void {
    this.#settling -= 1;
  }

  // ---- turns --------------------------------------------------------------------------------------------------

  /** Called when a due time was reached, so the store must be checked again. */
  wake(): void {
    this.markAllMore();
    this.endpoint.laneWoke(this);
  }

  // ---- deliveries in memory -----------------------------------------------------------------------------------

  get buffered(): number {
    return this.#buffered;
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** When the earliest lease of the buffered deliveries ends. */
  get leasedUntil(): number {
    return this.#leasedUntil;
  }

  tier(priority: Priority): number {
    return this.ordered ? 0 : tierOf(priority);
  }

  push(delivery: ClaimedDelivery, leaseUntil: number): void {
    this.#leasedUntil = this.#buffered === 0 ? leaseUntil : Math.min(this.#leasedUntil, leaseUntil);
    this.#buffers[this.tier(delivery.priority)]?.push(delivery);
    this.#count(delivery, 1);
  }

  /** The next delivery to send, without taking it. */
  peek(): ClaimedDelivery | undefined {
    for (const buffer of this.#buffers) {
      const head = buffer.peek();
      if (head !== undefined) return head;
    }
    return undefined;
  }

  take(): ClaimedDelivery | undefined {
    for (const buffer of this.#buffers) {
      const head = buffer.shift();
      if (head === undefined) continue;
      this.#count(head, -1);
      return head;
    }
    return undefined;
  }

  /**
   * The priority at which the lane has its turn: that of the next delivery to send or claim; -1 without such a
   * delivery. An ordered lane whose head is not in memory counts as normal; otherwise all ordered webhooks would
   * precede the others.
   */
  headTier(): number {
    if (this.ordered) {
      const head = this.#buffers[0].peek();
      if (head !== undefined) return tierOf(head.priority);
      return this.#more[0] ? tierOf("normal") : -1;
    }
    for (let tier = 0; tier < priorities.length; tier += 1) {
      if ((this.#buffers[tier]?.length ?? 0) > 0) return tier;
      if (this.#more[tier] === true) return tier;
    }
    return -1;
  }

  /**
   * Whether a claim must come first, because the store has a delivery of the same or a higher tier than the head in
   * memory.
   */
  claimsFirst(): boolean {
    for (let tier = 0; tier < priorities.length; tier += 1) {
      if ((this.#buffers[tier]?.length ?? 0) > 0) return false;
      if (this.#more[tier] === true) return true;
    }
    return false;
  }

  hasMore(): boolean {
    return this.#more[0] || this.#more[1] || this.#more[2];
  }

  /** Records that the store may have deliveries of any tier. An ordered lane keeps everything in tier 0. */
  markAllMore(): void {
    this.markMore(0);
    if (this.ordered) return;
    this.markMore(1);
    this.markMore(2);
  }

  markMore(tier: number): void {
    this.#more[tier as 0 | 1 | 2] = true;
    if (this.#claiming) this.#moreWhileClaiming[tier as 0 | 1 | 2] = true;
  }

  /**
   * Applies the result of a claim. Returns true if an ordered lane was emptied during the claim. Earlier deliveries
   * were then returned to the store, and the claimed ones must follow.
   */
  refill(result: ClaimResult, leaseUntil: number): boolean {
    this.#more.fill(false);
    for (const priority of priorities) {
      if (result.more[priority]) this.#more[this.tier(priority) as 0 | 1 | 2] = true;
    }
    for (let tier = 0; tier < priorities.length; tier += 1) {
      const index = tier as 0 | 1 | 2;
      this.#more[index] ||= this.#moreWhileClaiming[index];
      this.#moreWhileClaiming[index] = false;
    }
    this.#claiming = false;
    for (const delivery of result.deliveries) this.push(delivery, leaseUntil);
    const wasEmptied = this.#claimedBeforeEmptied;
    this.#claimedBeforeEmptied = false;
    return this.ordered && wasEmptied;
  }

  /** Records that a claim would return nothing, because the head of an ordered lane is in memory or not due. */
  nothingMore(): void {
    this.#more[0] = false;
  }

  /** Resets the state of an idle lane. */
  renew(): void {
    this.#more.fill(false);
    this.#moreWhileClaiming.fill(false);
    this.stayAwake();
    this.readyTier = -1;
    this.#reservedBeforeEmptied = 0;
    this.#claimedBeforeEmptied = false;
  }

  /** Stops waiting for lost leases, because the store has their current state. */
  forgetLost(): void {
    this.#inFlight -= this.#lost;
    this.#lost = 0;
    this.#lostForgotten += 1;
  }

  /**
   * Ends the reservation of a publish. Returns true if an ordered lane was emptied after the reservation, so that older
   * deliveries are in the store.
   */
  unreserve(): boolean {
    this.#reserved -= 1;
    if (this.#reservedBeforeEmptied === 0) return false;
    this.#reservedBeforeEmptied -= 1;
    return this.ordered;
  }

  /** Discards buffered deliveries and returns their leases. */
  empty(): Lease[] {
    this.#reservedBeforeEmptied = this.#reserved;
    this.#claimedBeforeEmptied = this.#claiming;
    const leases: Lease[] = [];
    for (const [tier, buffer] of this.#buffers.entries()) {
      if (buffer.length > 0) this.markMore(tier);
      for (const delivery of buffer.drain()) {
        this.#count(delivery, -1);
        leases.push(delivery.lease);
      }
    }
    return leases;
  }

  #count(delivery: ClaimedDelivery, sign: 1 | -1): void {
    this.#buffered += sign;
    this.#bufferedBytes += sign * (delivery.body?.length ?? 0);
  }
}

/**
 * The lane for new events of a type. A change of `ordering` applies to events published after it. Old lanes drain in
 * their original mode.
 */
export function laneKeyFor(webhook: Webhook, eventType: string): LaneKey {
  return {
    webhookId: webhook.id,
    ordering: webhook.ordering,
    eventType: webhook.ordering === "per_event_type" ? eventType : null,
  };
}

/** The lane and format of a new delivery, according to the current configuration of a webhook. */
export function placeOf(
  webhook: Webhook,
  eventType: string,
): { readonly lane: LaneKey; readonly format: PayloadFormatName } {
  const profile = findProfile(webhook.profile);
  if (profile === undefined) throw new Error(`webhook ${webhook.id} has an unknown profile`);
  return {
    lane: laneKeyFor(webhook, eventType),
    format: webhook.payloadFormat ?? profile.payloadFormats[0],
  };
}

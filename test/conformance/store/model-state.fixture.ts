import type { DeliveryState, Priority } from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type { Lease, NewDelivery, StoreDepth } from "../../../src/ports/store/deliveries.ts";

export interface ModelDelivery {
  readonly id: string;
  lane: LaneKey;
  readonly priority: Priority;
  state: DeliveryState;
  dueAt: number;
  /** Null after the lease was released, settled or lost because of a restart. */
  lease: { readonly token: Lease; readonly until: number } | null;
}

let histories = 0;

/** A store without optimizations: a list of deliveries in the order in which they were published. */
export class StoreModel {
  readonly deliveries: ModelDelivery[] = [];
  /** Every lease ever granted, including void ones. */
  readonly tokens: { readonly delivery: ModelDelivery; readonly token: Lease }[] = [];
  readonly depthBefore: StoreDepth;
  /** Distinguishes the webhooks of this history from those of other histories. */
  readonly history: number;
  now: number;

  constructor(now: number, depthBefore: StoreDepth) {
    histories += 1;
    this.now = now;
    this.history = histories;
    this.depthBefore = depthBefore;
  }

  lane(plan: Pick<LaneKey, "webhookId" | "ordering">): LaneKey {
    const eventType = plan.ordering === "per_event_type" ? "order.created" : null;
    return { webhookId: `${plan.webhookId}-${this.history}`, ordering: plan.ordering, eventType };
  }

  /** A manual retry: the delivery waits again. In an ordered lane it is queued last, unless it already waited there. */
  retry(delivery: ModelDelivery, lane: LaneKey): void {
    const waited = isWaiting(delivery);
    if (waited && delivery.dueAt <= this.now) return;
    delivery.state = "pending";
    delivery.dueAt = this.now;
    delivery.lease = null;
    if (waited && sameLane(delivery.lane, lane)) return;
    delivery.lane = lane;
    this.deliveries.splice(this.deliveries.indexOf(delivery), 1);
    this.deliveries.push(delivery);
  }

  isFree(delivery: ModelDelivery): boolean {
    return isWaiting(delivery) && (delivery.lease === null || delivery.lease.until <= this.now);
  }

  /** Unleased deliveries of a lane, in the order in which they can be claimed. */
  freeIn(key: LaneKey): readonly ModelDelivery[] {
    const free = this.deliveries.filter((each) => sameLane(each.lane, key) && this.isFree(each));
    if (key.ordering !== "none") return free;
    const tiers: readonly Priority[] = ["high", "normal", "low"];
    return free.toSorted(
      (a, b) => tiers.indexOf(a.priority) - tiers.indexOf(b.priority) || a.dueAt - b.dueAt,
    );
  }

  /**
   * Which deliveries of a commit are leased at publication. A store shared by several processes does not grant a lease
   * in an ordered lane if another delivery is waiting there that the caller does not hold.
   */
  grantsOf(deliveries: readonly NewDelivery[], store: { readonly shared: boolean }): ReadonlySet<string> {
    const grants = new Set<string>();
    const waiting: LaneKey[] = [];
    for (const { id, lane, claim, state } of deliveries) {
      if (state !== "pending") continue;
      const isBehind =
        store.shared &&
        lane.ordering !== "none" &&
        (this.freeIn(lane).length > 0 || waiting.some((each) => sameLane(each, lane)));
      if (claim && !isBehind) grants.add(id);
      else waiting.push(lane);
    }
    return grants;
  }

  waiting(priority: Priority): number {
    return this.deliveries.filter((each) => each.priority === priority && isWaiting(each)).length;
  }
}

function isWaiting({ state }: ModelDelivery): boolean {
  return state === "pending" || state === "failed";
}

function sameLane(a: LaneKey, b: LaneKey): boolean {
  return a.webhookId === b.webhookId && a.ordering === b.ordering && a.eventType === b.eventType;
}

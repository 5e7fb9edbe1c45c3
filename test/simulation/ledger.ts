import type { AttemptRecord, DeliveryOrigin, DeliveryProgress, Priority } from "../../src/domain/delivery.ts";
import type { LaneKey } from "../../src/domain/webhook.ts";
import type { Store } from "../../src/ports/store.ts";
import type {
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  CommitResult,
  Lease,
  NewDelivery,
  NewEvent,
  PublishCommand,
  RequeueCommand,
  RetryCommand,
  Settlement,
} from "../../src/ports/store/deliveries.ts";

export interface LedgerDelivery {
  readonly id: string;
  readonly event: NewEvent;
  lane: LaneKey;
  priority: Priority;
  readonly origin: DeliveryOrigin;
  progress: DeliveryProgress;
  lease: { readonly leaseToken: number; readonly until: number } | null;
  /** The lease in force when upkeep or a deletion ended the delivery. Kept until the lease's holder has reported. */
  endedLease: LedgerDelivery["lease"];
  readonly attempts: AttemptRecord[];
  /** Number of requests that were sent for the delivery. */
  requests: number;
  /** Number of requests whose result never reached the store, for example because the process died first. */
  lost: number;
}

/**
 * Committed data, as observed between engine and store. The ledger does not depend on the store's implementation, so it
 * detects data that either side loses. A write counts from the moment it takes effect, even if the engine does not
 * receive the result.
 */
export class Ledger {
  readonly events = new Map<string, NewEvent>();
  readonly deliveries = new Map<string, LedgerDelivery>();
  readonly #byRef = new Map<number, LedgerDelivery>();
  readonly #pairs = new Map<string, LedgerDelivery[]>();
  readonly #lanes = new Map<string, LedgerDelivery[]>();
  readonly waiting = new Set<LedgerDelivery>();
  /** The events of deliveries that a later part will write, by delivery ID. */
  readonly following = new Map<string, NewEvent>();

  /** Whether no delivery is waiting and no part remains to be written. */
  get isDone(): boolean {
    return this.waiting.size === 0 && this.following.size === 0;
  }

  commit(batch: CommitBatch, result: CommitResult): void {
    for (const [index, command] of batch.publishes.entries()) {
      const answer = result.publishes[index];
      if (answer?.kind === "accepted") this.#published(command, answer.leases);
    }
    for (const [index, command] of batch.requeues.entries()) {
      const answer = result.requeues[index];
      if (answer?.kind === "accepted") this.#requeued(command, answer.leases);
    }
    for (const [index, command] of batch.retries.entries()) {
      if (result.retries[index]?.kind === "accepted") this.#retried(command);
    }
    for (const [index, settlement] of batch.settlements.entries()) {
      if (result.settled[index]?.kind === "written") this.#settled(settlement);
    }
  }

  claimed(requests: readonly ClaimRequest[], results: readonly ClaimResult[]): void {
    for (const [index, result] of results.entries()) {
      const until = requests[index]?.leaseUntil ?? 0;
      for (const { lease } of result.deliveries) this.#lease(lease, until);
    }
  }

  released(leases: readonly Lease[]): void {
    for (const lease of leases) {
      const delivery = this.#byRef.get(lease.ref);
      if (delivery?.lease?.leaseToken === lease.leaseToken) delivery.lease = null;
      if (delivery?.endedLease?.leaseToken === lease.leaseToken) delivery.endedLease = null;
    }
  }

  /** Called when the store was reopened after a crash, which ends all leases. */
  restarted(): void {
    for (const delivery of this.deliveries.values()) {
      delivery.lease = null;
      delivery.endedLease = null;
    }
  }

  /**
   * Called when upkeep has ended deliveries without returning their IDs. Reads the known deliveries to find those that
   * are still waiting.
   */
  async reconcile(store: Store): Promise<void> {
    for (const delivery of [...this.waiting]) {
      const stored = await store.history.getDelivery(null, delivery.id);
      if (stored !== null) this.#end(delivery, stored.progress);
    }
  }

  byRef(ref: number): LedgerDelivery | undefined {
    return this.#byRef.get(ref);
  }

  /** Deliveries of an event to a webhook, oldest first: the original and one for each replay. */
  pair(webhookId: string, eventId: string): readonly LedgerDelivery[] {
    return this.#pairs.get(`${webhookId} ${eventId}`) ?? [];
  }

  /**
   * Deliveries of a lane in the order in which they were committed. If a delivery was retried after it had ended, the
   * retry determines its position.
   */
  lane(key: LaneKey): readonly LedgerDelivery[] {
    return this.#lanes.get(laneName(key)) ?? [];
  }

  heldLeases(now: number): readonly LedgerDelivery[] {
    return [...this.waiting].filter((delivery) => delivery.lease !== null && delivery.lease.until > now);
  }

  #published(command: PublishCommand, leases: readonly Lease[]): void {
    this.events.set(command.event.id, command.event);
    for (const [index, delivery] of command.deliveries.entries()) {
      this.#insert({ delivery, event: command.event, lease: leases[index] });
    }
    for (const { id } of command.later ?? []) this.following.set(id, command.event);
  }

  /** Records a delivery that a later part has written. Returns false if no accepted event is waiting for it. */
  followed(delivery: NewDelivery): boolean {
    const event = this.following.get(delivery.id);
    if (event === undefined) return false;
    this.following.delete(delivery.id);
    this.#insert({ delivery, event, lease: undefined });
    return true;
  }

  #requeued(command: RequeueCommand, leases: readonly Lease[]): void {
    const event = this.events.get(command.eventId);
    if (event === undefined) return;
    for (const [index, delivery] of command.deliveries.entries()) {
      this.#insert({ delivery, event, lease: leases[index] });
    }
  }

  #retried({ deliveryId, lane, priority, retry: { at } }: RetryCommand): void {
    const delivery = this.deliveries.get(deliveryId);
    if (delivery === undefined) return;
    const { progress } = delivery;
    const waited = isWaiting(delivery);
    const next = priority ?? delivery.priority;
    if (waited && progress.dueAt <= at && next === delivery.priority) return;
    const [before, after] = [
      listIn(this.#lanes, laneName(delivery.lane)),
      listIn(this.#lanes, laneName(lane)),
    ];
    if (!waited || before !== after) {
      before.splice(before.indexOf(delivery), 1);
      after.push(delivery);
    }
    delivery.lane = lane;
    delivery.priority = next;
    delivery.lease = null;
    delivery.endedLease = null;
    const retried = { at, attemptCount: progress.attemptCount };
    delivery.progress = { ...progress, state: "pending", reason: null, dueAt: at, retried };
    this.waiting.add(delivery);
  }

  #insert(row: {
    readonly delivery: NewDelivery;
    readonly event: NewEvent;
    readonly lease: Lease | undefined;
  }): void {
    const { delivery, event, lease } = row;
    const { id, lane, priority, origin, state, createdAt, dueAt } = delivery;
    const entry: LedgerDelivery = {
      id,
      event,
      lane,
      priority,
      origin,
      progress: {
        state,
        attemptCount: 0,
        createdAt,
        firstAttemptAt: null,
        dueAt,
        reason: null,
        retried: null,
      },
      lease:
        lease === undefined || lease.leaseToken === 0
          ? null
          : { leaseToken: lease.leaseToken, until: delivery.leaseUntil },
      endedLease: null,
      attempts: [],
      requests: 0,
      lost: 0,
    };
    this.deliveries.set(id, entry);
    if (lease !== undefined) this.#byRef.set(lease.ref, entry);
    listIn(this.#pairs, `${lane.webhookId} ${event.id}`).push(entry);
    listIn(this.#lanes, laneName(lane)).push(entry);
    if (isWaiting(entry)) this.waiting.add(entry);
  }

  #settled(settlement: Settlement): void {
    const delivery = this.#byRef.get(settlement.lease.ref);
    if (delivery === undefined) return;
    if (settlement.attempt !== null) delivery.attempts.push(settlement.attempt);
    if (settlement.late === true) delivery.endedLease = null;
    this.#move(delivery, settlement.progress);
  }

  /** Ends the delivery on behalf of an actor other than its holder. */
  #end(delivery: LedgerDelivery, progress: DeliveryProgress): void {
    const { lease } = delivery;
    this.#move(delivery, progress);
    if (!isWaiting(delivery)) delivery.endedLease = lease;
  }

  #move(delivery: LedgerDelivery, progress: DeliveryProgress): void {
    const isSame =
      delivery.progress.state === progress.state && delivery.progress.attemptCount === progress.attemptCount;
    delivery.progress = progress;
    if (!isSame) delivery.lease = null;
    if (!isWaiting(delivery)) this.waiting.delete(delivery);
  }

  #lease(lease: Lease, until: number): void {
    const delivery = this.deliveries.get(lease.deliveryId);
    if (delivery === undefined) return;
    // The refs must be recorded here, because the store does not report deliveries in later parts.
    this.#byRef.set(lease.ref, delivery);
    delivery.lease = { leaseToken: lease.leaseToken, until };
  }
}

export function isWaiting(delivery: LedgerDelivery): boolean {
  return delivery.progress.state === "pending" || delivery.progress.state === "failed";
}

function laneName(key: LaneKey): string {
  return JSON.stringify([key.webhookId, key.ordering, key.eventType]);
}

function listIn<Item>(lists: Map<string, Item[]>, name: string): Item[] {
  const known = lists.get(name);
  if (known !== undefined) return known;
  const list: Item[] = [];
  lists.set(name, list);
  return list;
}

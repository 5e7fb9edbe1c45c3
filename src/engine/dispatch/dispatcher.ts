import { attemptTimeoutMsMax, type DeliveryPolicy } from "../../domain/delivery-policy.ts";
import { type DeliveryEvent, isTooOld } from "../../domain/delivery-state.ts";
import type { DeliveryProgress } from "../../domain/delivery.ts";
import { isEmptyData } from "../../domain/payload-formats.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, DeliveryStore, Lease } from "../../ports/store/deliveries.ts";
import type { Attempts, Flight, FlightListener } from "../attempt/attempts.ts";
import type { Shortages } from "../attempt/own-faults.ts";
import type { Settler } from "../attempt/settle.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedGate, type ClosedGate } from "../endpoint/gates.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import type { Pace } from "../endpoint/endpoint-states.ts";
import { Fifo } from "../endpoint/ready-lists.ts";
import type { TenantQueue } from "../endpoint/tenant-queue.ts";
import { Sleep } from "../endpoint/wakeups.ts";
import {
  Capacity,
  type CapacityLimits,
  type CapacityOptions,
  type SendPermit,
  SendPermits,
  type SendPermitsOptions,
} from "./capacity.ts";
import { LaneBuffers, Reservations } from "./lane-buffers.ts";
import type { BacklogReader } from "./recovery.ts";

interface DispatcherOptions
  extends CapacityLimits,
    Pick<CapacityOptions, "severalTenants" | "waitingSlots">,
    Omit<SendPermitsOptions, "close"> {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  /** Duration of a lease. Longer than the longest request; verified at start. */
  readonly leaseMs: number;
  /** Maximum size of the bodies that all lanes together hold in memory. */
  readonly bufferBytesMax: number;
  readonly attempts: Pick<Attempts, "start">;
  /** Ends deliveries without sending them. */
  readonly settler: Pick<Settler, "withoutAttempt">;
  readonly commits: Pick<CommitGroup, "backlog" | "trouble">;
  readonly shortages: Pick<Shortages, "pausing">;
  /** A function, because ownership and the backlog reader are created after the dispatcher. */
  readonly ownership: () => Pick<Ownership, "holds" | "wanted" | "owned">;
  readonly backlog: () => Pick<BacklogReader, "finished">;
}

type Unsendable = DeliveryEvent<"payload_unavailable" | "payload_refused">;

/**
 * Why the content of a delivery cannot be sent, or null if it can. Checked before each attempt instead of when the
 * event is published, because one subscriber's profile must not cause an event to be refused for the others, and
 * because replays, recoveries and changed profiles must be checked too.
 */
function unsendable(
  { eventType, timestamp, raw, body }: ClaimedDelivery,
  { emptyDataRefused }: Pick<DeliveryPolicy, "emptyDataRefused">,
): Unsendable | null {
  if (body === null) return { kind: "payload_unavailable" };
  if (emptyDataRefused && isEmptyData({ eventType, timestamp, raw, body }))
    return { kind: "payload_refused" };
  return null;
}

/**
 * Decides what is sent next.
 *
 * It works on lanes, never on a flat list: it alternates between tenants, between the endpoints of a tenant (high
 * priority first), and between the lanes of an endpoint. A closed lane is in no list and costs nothing, however many
 * deliveries wait in it; a wake-up, a response or a change of its webhook lists it again. Memory holds a few
 * deliveries per open lane; the store holds the rest.
 */
export class Dispatcher implements FlightListener {
  readonly #options: DispatcherOptions;
  readonly #round = new Fifo<TenantQueue>();
  readonly #capacity: Capacity;
  readonly #buffers: LaneBuffers;
  readonly #permits: SendPermits;
  /** Allows new deliveries to go directly into memory if possible. */
  readonly reservations: Reservations;
  #pumpScheduled = false;
  #running = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#capacity = new Capacity({
      ...options,
      recall: (endpoint) => this.#enlist(endpoint),
      resume: (tenantQueue) => this.#enqueueTenantQueue(tenantQueue),
      waits: (endpoint) => this.#activeSlotFreed(endpoint),
    });
    const close: SendPermitsOptions["close"] = (endpoint, gate, now) => this.#close(endpoint, gate, now);
    this.#permits = new SendPermits({ ...options, close });
    this.#buffers = new LaneBuffers({ ...options, dispatcher: this });
    const { clock, ownership, backlog } = options;
    this.reservations = new Reservations(clock, this.#buffers, this, ownership, backlog);
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#capacity.inFlight;
  }

  /** Requests that hold an active slot. */
  get active(): number {
    return this.#capacity.active;
  }

  /** Whether the endpoint has reached its maximum number of concurrent requests. */
  isFull(endpoint: Endpoint): boolean {
    return this.#capacity.isFull(endpoint);
  }

  get running(): boolean {
    return this.#running;
  }

  start(): void {
    this.#running = true;
    this.schedulePump();
  }

  /** Stops sending and releases buffered deliveries. */
  async stop(endpoints: Iterable<Endpoint>): Promise<void> {
    this.#running = false;
    this.#capacity.stop();
    await this.#buffers.giveBackAll(endpoints);
  }

  /** Releases the leases of requests that are still in flight at shutdown. */
  letGo(leases: readonly Lease[]): Promise<void> {
    return this.#buffers.letGo(leases);
  }

  /** Resolves once all pending releases are in the store. */
  released(): Promise<void> {
    return this.#buffers.released();
  }

  // ---- calls from other parts ----------------------------------------------------------------------------------

  /** Lists the lane unless a gate is closed. Called when it may have deliveries to send. */
  consider(lane: Lane): void {
    if (!this.#running || !lane.endpoint.owned) return;
    const tier = lane.headTier();
    if (tier === -1 || (lane.ordered && this.#headWaits(lane))) return;
    lane.endpoint.list(lane, tier);
    this.#enlist(lane.endpoint);
  }

  /** Called when a claim returned deliveries for the lane, or when the lane's released leases are committed. */
  refilled(lane: Lane): void {
    if (this.#running && lane.endpoint.owned) this.consider(lane);
    else this.giveBack(lane);
  }

  /** Serves the tenant again. Called when its rate limit has tokens again, or was changed. */
  considerTenantQueue(tenantQueue: TenantQueue): void {
    tenantQueue.stayAwake();
    this.#enqueueTenantQueue(tenantQueue);
    this.schedulePump();
  }

  /** Checks an endpoint whose gates may have opened, regardless of what it was waiting for. */
  considerEndpoint(endpoint: Endpoint): void {
    endpoint.stayAwake();
    for (const lane of endpoint.lanes.values()) this.consider(lane);
  }

  /** Called when a delivery of the lane was committed without a lease. It can be claimed from the store at `dueAt`. */
  stored(lane: Lane, tier: number, dueAt: number): void {
    if (!lane.endpoint.owned) {
      if (this.#running) this.#options.ownership().wanted(lane.key.webhookId);
      return;
    }
    if (dueAt > this.#options.clock.now()) {
      this.#options.wakeups.at(lane, dueAt);
      return;
    }
    lane.markMore(tier);
    this.consider(lane);
  }

  answered(flight: Flight, pace: Pace, isResponse: boolean): void {
    const { endpoint, place } = flight;
    // A request that fails before it is sent has a short duration, even after a long wait for an access token.
    // Therefore `hasHung` takes precedence.
    endpoint.answered(place.hasHung && !isResponse ? "silent" : pace, isResponse);
    this.#capacity.end(place);
    if (!flight.lane.ordered) flight.lane.flightEnded();
    this.#activeSlotFreed(endpoint);
    if (flight.probe !== null) this.considerEndpoint(endpoint);
  }

  /** The endpoint that held the slot comes last. Otherwise endpoints with a backlog would keep the shared slots. */
  #activeSlotFreed(endpoint: Endpoint): void {
    this.#capacity.recallNext();
    this.#enlist(endpoint);
    this.schedulePump();
  }

  /**
   * Called when the settlement is committed or the lease was lost. An ordered lane may continue; a retry waits in the
   * store.
   */
  settled(flight: Flight, retryAt: number | null): void {
    const { lane } = flight;
    if (lane.ordered) {
      lane.freed(this.#options.clock.now());
      if (retryAt !== null) this.giveBack(lane);
    }
    if (retryAt !== null) this.stored(lane, lane.tier(flight.delivery.priority), retryAt);
    else if (lane.ordered) this.consider(lane);
    this.schedulePump();
  }

  /**
   * Called when the settlement was not written. The current lease owner decides; without an owner, the lease expires.
   * Until then an ordered lane is blocked, because its head is neither in memory nor unleased. Later deliveries stay in
   * the store; otherwise they would overtake the head once the lease has expired.
   */
  lost({ lane }: Pick<Flight, "lane">): void {
    const { wakeups, clock, leaseMs, ownership } = this.#options;
    // Another process owns the endpoint and all its lanes.
    if (!lane.endpoint.owned || !ownership().holds()) {
      if (lane.ordered) lane.flightEnded();
      return;
    }
    const leaseEndsAt = clock.now() + leaseMs;
    const { lostForgotten } = lane;
    if (lane.ordered) {
      lane.flightLost();
      lane.markAllMore();
      this.giveBack(lane);
    }
    // A separate sleeper, because an earlier wake-up of the lane itself would replace this one.
    const sleep: Sleep = new Sleep((now) => {
      // The clock was set back: the lease, which ends at a wall-clock time, is still valid.
      if (now < leaseEndsAt) return wakeups.at(sleep, leaseEndsAt);
      if (lane.ordered && lane.lostForgotten === lostForgotten) lane.lostLeaseEnded();
      lane.wake();
    });
    wakeups.at(sleep, leaseEndsAt);
    this.schedulePump();
  }

  /**
   * Discards the state of a lane in memory, and claims the lane again. Called when that state differs from the store.
   */
  reread(lane: Lane): void {
    lane.forgetLost();
    this.giveBack(lane);
    lane.renew();
    lane.markAllMore();
    this.consider(lane);
  }

  postponed(flight: Flight, until: number): void {
    const { endpoint, lane } = flight;
    this.answered(flight, endpoint.pace, false);
    if (lane.ordered) lane.flightEnded();
    this.#options.wakeups.at(endpoint, until);
    this.#buffers.putBack(lane, flight.delivery.lease);
  }

  /** Makes ordered lanes that sleep until their head is due check for a new head. */
  headsChanged(endpoint: Endpoint): void {
    for (const lane of endpoint.lanes.values()) {
      if (!lane.ordered || lane.wakeAt === null) continue;
      lane.stayAwake();
      lane.markAllMore();
      this.consider(lane);
    }
  }

  /**
   * Makes lanes check again that sleep until their old due times. Called when due times in the store were moved
   * earlier.
   */
  dueTimesChanged(endpoint: Endpoint): void {
    for (const lane of endpoint.lanes.values()) {
      lane.stayAwake();
      lane.markAllMore();
      this.consider(lane);
    }
  }

  /** Returns the buffered deliveries of a lane to the store. */
  giveBack(lane: Lane): void {
    this.#buffers.giveBack(lane);
  }

  schedulePump(): void {
    if (this.#pumpScheduled || !this.#running) return;
    this.#pumpScheduled = true;
    queueMicrotask(this.#pump);
  }

  // ---- the round ----------------------------------------------------------------------------------------------

  readonly #pump = (): void => {
    this.#pumpScheduled = false;
    if (!this.#running || !this.#options.ownership().holds()) return;
    const now = this.#options.clock.now();
    while (!this.#capacity.isExhausted && !this.#buffers.busy) {
      if (this.#isCongested()) break;
      const tenantQueue = this.#round.shift();
      if (tenantQueue === undefined) {
        if (this.#capacity.recallNext()) continue;
        break;
      }
      tenantQueue.queued = false;
      if (tenantQueue.wakeAt !== null) {
        this.#capacity.tenantSleeps(tenantQueue);
        continue;
      }
      if (this.#capacity.isUsedUp(tenantQueue)) {
        this.#capacity.park(tenantQueue);
        continue;
      }
      const endpoint = tenantQueue.next();
      if (endpoint === undefined) continue;
      this.#enqueueTenantQueue(tenantQueue);
      const { waitsAt } = endpoint;
      this.#serve(endpoint, now);
      if (waitsAt !== null) this.#capacity.served(endpoint, waitsAt);
    }
    this.#buffers.claim();
  };

  /** Whether sending stops for now, because too many writes are uncommitted or this machine lacks a resource. */
  #isCongested(): boolean {
    const { commits, shortages } = this.#options;
    return commits.backlog > uncommittedMax || commits.trouble !== null || shortages.pausing;
  }

  /** Sends up to `quantum` deliveries of one endpoint. */
  #serve(endpoint: Endpoint, now: number): void {
    const gate = closedGate(endpoint, now);
    if (gate !== null) {
      this.#close(endpoint, gate, now);
      return;
    }
    endpoint.gateLog?.opened(now);
    const inFlightBefore = endpoint.inFlight;
    for (let taken = 0; taken < quantum; taken += 1) {
      if (this.#capacity.isUsedUp(endpoint.tenantQueue)) break;
      if (this.#capacity.refuses(endpoint)) return;
      const lane = endpoint.nextLane();
      if (lane === undefined) return;
      if (this.#serveLane(lane, now)) continue;
      if (endpoint.tenantQueue.wakeAt !== null) this.#putBack(lane, endpoint.inFlight > inFlightBefore);
      return;
    }
    this.#enlist(endpoint);
  }

  /**
   * The tenant's limit is used up. Lanes and endpoints keep their positions; otherwise some of them would never be
   * served.
   */
  #putBack(lane: Lane, wasServed: boolean): void {
    const { endpoint } = lane;
    endpoint.putBack(lane, lane.headTier());
    if (wasServed) this.#enlist(endpoint);
    else endpoint.tenantQueue.putBack(endpoint, endpoint.listedTier());
  }

  /** Sends one delivery of the lane. Returns false if the endpoint must stop for now. */
  #serveLane(lane: Lane, now: number): boolean {
    if (lane.claimsFirst()) {
      this.#buffers.request(lane);
      // Buffered deliveries do not wait for the claim; otherwise a steady stream of publishes would starve them.
      if (lane.buffered === 0) return true;
    }
    const head = lane.peek();
    if (head === undefined) return true;
    if (now > lane.leasedUntil - leaseReserveMs) {
      this.giveBack(lane);
      this.consider(lane);
      return true;
    }
    if (lane.ordered && isLater(head.progress, now)) {
      this.giveBack(lane);
      lane.nothingMore();
      // The clock may have jumped past a wake-up that has not fired yet. It is cancelled here; otherwise the lane would
      // spin until it fires.
      lane.stayAwake();
      this.#options.wakeups.at(lane, head.progress.dueAt);
      return true;
    }
    const { endpoint } = lane;
    if (isTooOld(head.progress, endpoint.policy.ageMsMax, now)) return this.#drop(lane, { kind: "expired" });
    const why = unsendable(head, endpoint.policy);
    if (why !== null) return this.#drop(lane, why);
    const permit = this.#permits.ask(endpoint, now);
    if (permit === undefined) {
      if (endpoint.tenantQueue.wakeAt === null) this.consider(lane);
      return false;
    }
    this.#start(lane, permit, now);
    return true;
  }

  #start(lane: Lane, { probe }: SendPermit, now: number): void {
    const delivery = this.#buffers.take(lane);
    if (delivery === undefined) return;
    const { endpoint } = lane;
    const place = this.#capacity.begin(endpoint, delivery.body?.length ?? 0);
    lane.flightBegan();
    if (lane.buffered <= laneRefillBelow && lane.hasMore()) this.#buffers.request(lane);
    this.consider(lane);
    const { webhook } = endpoint;
    const flight = { delivery, lane, endpoint, startedAt: now, webhook, probe, place, accessToken: null };
    this.#options.attempts.start(flight);
  }

  #drop(lane: Lane, why: DeliveryEvent<"expired"> | Unsendable): boolean {
    const delivery = this.#buffers.take(lane);
    if (delivery !== undefined) {
      lane.flightBegan();
      this.#options.settler.withoutAttempt(delivery, lane, why);
    }
    this.consider(lane);
    // Ending the delivery may have disabled the webhook, so its gates are checked before its other lanes.
    this.#enlist(lane.endpoint);
    return false;
  }

  dropped(lane: Lane): void {
    lane.flightEnded();
    this.consider(lane);
  }

  /** Adds the endpoint to the round. Returns false if it will not be served soon. */
  #enlist(endpoint: Endpoint): boolean {
    if (!this.#running || endpoint.wakeAt !== null || this.#capacity.isFull(endpoint)) return false;
    const { tenantQueue } = endpoint;
    const tier = endpoint.listedTier();
    if (tier === -1) return false;
    tenantQueue.enqueue(endpoint, tier);
    this.#enqueueTenantQueue(tenantQueue);
    this.schedulePump();
    return tenantQueue.wakeAt === null && !tenantQueue.parked;
  }

  /**
   * Whether an ordered lane has a delivery in flight, or its head waits for a retry. Nothing may overtake that
   * delivery.
   */
  #headWaits(lane: Lane): boolean {
    return lane.inFlight > 0 || (lane.wakeAt !== null && lane.wakeAt > this.#options.clock.now());
  }

  #enqueueTenantQueue(tenantQueue: TenantQueue): void {
    if (tenantQueue.queued || tenantQueue.parked || tenantQueue.wakeAt !== null) return;
    tenantQueue.queued = true;
    this.#round.push(tenantQueue);
  }

  /** Closes an endpoint until a given time. If that is far in the future, its lanes return their deliveries. */
  #close(endpoint: Endpoint, gate: ClosedGate, now: number): void {
    endpoint.noteClosed(gate, now);
    if (gate.until !== null) this.#options.wakeups.at(endpoint, gate.until);
    if (gate.until !== null && gate.until - now < keepBufferMs) return;
    for (const lane of endpoint.lanes.values()) this.giveBack(lane);
    endpoint.unlistLanes();
  }
}

/**
 * Whether a delivery is not due yet. A new delivery without a delay is due immediately, even if the clock that dated it
 * was ahead.
 */
function isLater({ attemptCount, createdAt, dueAt }: DeliveryProgress, now: number): boolean {
  return dueAt > now && (attemptCount > 0 || dueAt > createdAt);
}

/** Minimum remaining lease when a delivery is sent. Longer than the longest request. */
const leaseReserveMs = attemptTimeoutMsMax + 10_000;
/** Maximum number of deliveries taken from one endpoint before the next tenant's turn. */
const quantum = 4;
const laneRefillBelow = 8;
/** Maximum number of uncommitted settlements before sending stops; reached only if the store does not respond. */
const uncommittedMax = 5_000;
/** If a gate opens within this time, its lanes keep their deliveries in memory. */
const keepBufferMs = 1_000;

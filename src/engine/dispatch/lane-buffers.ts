import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, ClaimResult, DeliveryStore, Lease } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedGate } from "../endpoint/gates.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import { Sleep, type Wakeups } from "../endpoint/wakeups.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { BacklogReader } from "./recovery.ts";

interface LaneBuffersOptions {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly leaseMs: number;
  /** Maximum size of the bodies that all lanes together hold in memory. */
  readonly bufferBytesMax: number;
  readonly dispatcher: Pick<Dispatcher, "refilled" | "schedulePump">;
}

/**
 * The deliveries that lanes hold in memory. Fills lanes from the store, many lanes per claim, and returns unusable
 * deliveries. Memory is limited for all lanes together; beyond the limit, a claim returns one delivery per lane.
 */
export class LaneBuffers {
  readonly #options: LaneBuffersOptions;
  #wanted: Lane[] = [];
  #claiming = 0;
  #rounds = 0;
  readonly #unreleased = new Set<readonly Lease[]>();
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;
  /** Maximum size of the bodies that the running calls may return. */
  #bytesPromised = 0;

  constructor(options: LaneBuffersOptions) {
    this.#options = options;
  }

  /** Whether so many lanes are being refilled that serving more would not help. */
  get busy(): boolean {
    return this.#claiming + this.#wanted.length >= claimsMax;
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#options.bufferBytesMax;
  }

  /** Appends a delivery that was leased when it was committed. */
  push(lane: Lane, delivery: ClaimedDelivery): void {
    lane.push(delivery, delivery.progress.createdAt + this.#options.leaseMs);
    this.#bytes += delivery.body?.length ?? 0;
  }

  take(lane: Lane): ClaimedDelivery | undefined {
    const delivery = lane.take();
    if (delivery !== undefined) this.#bytes -= delivery.body?.length ?? 0;
    return delivery;
  }

  /** Discards the deliveries of a lane and returns their leases. */
  empty(lane: Lane): Lease[] {
    this.#bytes -= lane.bufferedBytes;
    return lane.empty();
  }

  /**
   * Returns the leases of a lane. The lane is not refilled before the store has stored the release. A claim that
   * overtook the release would find nothing, or, in an ordered lane, the deliveries after the released ones.
   */
  giveBack(lane: Lane): void {
    this.#giveBack(lane, this.empty(lane));
  }

  /** Returns a delivery that was taken but not sent. In an ordered lane, also returns all deliveries after it. */
  putBack(lane: Lane, lease: Lease): void {
    this.#giveBack(lane, [lease, ...(lane.ordered ? this.empty(lane) : [])]);
  }

  #giveBack(lane: Lane, leases: readonly Lease[]): void {
    if (leases.length === 0) return;
    lane.releaseBegan();
    this.#unreleased.add(leases);
    this.#track(this.#release(lane, leases));
  }

  async #release(lane: Lane, leases: readonly Lease[]): Promise<void> {
    const { store, clock, telemetry, wakeups } = this.#options;
    try {
      await store.release(leases);
    } catch (error) {
      telemetry.log.warn({ err: String(error), leases: leases.length }, "releasing leases failed; retrying");
      const again = new Sleep(() => this.#track(this.#release(lane, leases)));
      wakeups.at(again, clock.now() + retryMs);
      return;
    }
    this.#unreleased.delete(leases);
    lane.releaseEnded();
    this.#options.dispatcher.refilled(lane);
  }

  /** At shutdown: returns leases, without retries. Leases that cannot be returned expire. */
  async letGo(leases: readonly Lease[]): Promise<void> {
    try {
      if (leases.length > 0) await this.#options.store.release(leases);
    } catch (error) {
      this.#options.telemetry.log.warn({ err: String(error) }, "releasing leases failed; they will expire");
    }
  }

  /** At shutdown: returns all leases. */
  async giveBackAll(endpoints: Iterable<Endpoint>): Promise<void> {
    this.#withdraw();
    const leases = [...this.#unreleased].flat();
    for (const endpoint of endpoints) {
      for (const lane of endpoint.lanes.values()) leases.push(...this.empty(lane));
    }
    await this.letGo(leases);
    // A running claim returns the leases that it receives.
    await this.released();
  }

  /** Resolves once no claim and no release is running. */
  async released(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Requests a refill with the next `claim`. */
  request(lane: Lane): void {
    if (lane.claiming || lane.releasing > 0) return;
    // Deliveries that are being committed for an ordered lane precede all that a claim could return.
    if (lane.ordered && lane.reserved > 0) return;
    lane.claimBegan();
    this.#wanted.push(lane);
  }

  /** Refills all requesting lanes with one store call. If enough calls are running, lanes wait for the next one. */
  claim(): void {
    if (this.#wanted.length === 0 || this.#rounds >= roundsMax) return;
    const lanes = this.#wanted.filter(({ endpoint }) => endpoint.owned);
    this.#withdraw();
    if (lanes.length === 0) return;
    for (const lane of lanes) lane.claimBegan();
    this.#rounds += 1;
    this.#claiming += lanes.length;
    this.#track(this.#claimFor(lanes));
  }

  /** Cancels all refill requests. */
  #withdraw(): void {
    for (const lane of this.#wanted) lane.claimEnded();
    this.#wanted = [];
  }

  async #claimFor(lanes: readonly Lane[]): Promise<void> {
    const { store, clock, leaseMs, bufferBytesMax } = this.#options;
    const now = clock.now();
    const leaseUntil = now + leaseMs;
    const room = Math.max(0, bufferBytesMax - this.#bytes - this.#bytesPromised);
    // Calls that begin while this one is running share the same memory.
    const parts = lanes.length * (roundsMax - this.#rounds + 1);
    const bodyBytesMax = Math.max(1, Math.floor(room / parts));
    const promised = bodyBytesMax * lanes.length;
    this.#bytesPromised += promised;
    try {
      const results = await store.claim(
        lanes.map((lane) => ({
          lane: lane.key,
          now,
          limit: lane.ordered ? orderedClaimMax : claimMax,
          bodyBytesMax,
          leaseUntil,
        })),
      );
      for (const [index, lane] of lanes.entries())
        this.#refill(lane, results[index] as ClaimResult, leaseUntil);
    } catch (error) {
      this.#failed(lanes, error);
    } finally {
      this.#bytesPromised -= promised;
      this.#claiming -= lanes.length;
      this.#rounds -= 1;
      this.#options.dispatcher.schedulePump();
    }
  }

  #refill(lane: Lane, result: ClaimResult, leaseUntil: number): void {
    const bytesBefore = lane.bufferedBytes;
    const wasEmptied = lane.refill(result, leaseUntil);
    this.#bytes += lane.bufferedBytes - bytesBefore;
    if (wasEmptied) this.giveBack(lane);
    // In an ordered lane, the head determines when to check again, and it was just taken from the store.
    const isHeadHere = lane.ordered && result.deliveries.length > 0;
    if (result.nextDueAt !== null && !isHeadHere) this.#options.wakeups.at(lane, result.nextDueAt);
    this.#options.dispatcher.refilled(lane);
  }

  /** Called when the store cannot be read. The lanes retry a little later. */
  #failed(lanes: readonly Lane[], error: unknown): void {
    const { clock, telemetry, wakeups } = this.#options;
    telemetry.log.error({ err: String(error), lanes: lanes.length }, "claiming deliveries failed; retrying");
    const again = clock.now() + retryMs;
    for (const lane of lanes) {
      lane.claimEnded();
      wakeups.at(lane, again);
    }
  }
}

/**
 * Maximum number of concurrent calls. A claim from many lanes costs the store little more than one from a single lane:
 * with eight concurrent calls, each returned 1.2 lanes and waited 96 ms for its turn.
 */
const roundsMax = 2;
const claimMax = 128;
/**
 * Maximum deliveries per claim for an ordered lane, which sends one at a time and returns all others if its head fails.
 */
const orderedClaimMax = 16;
/** Maximum number of lanes that are refilled at the same time. */
const claimsMax = 64;
const retryMs = 500;

/**
 * The fast path of a new delivery: it is leased by the transaction that stores it, and sent from memory without being
 * read back. Memory is reserved right before the commit, and used or returned right after it.
 */
export class Reservations {
  readonly #clock: Clock;
  readonly #buffers: LaneBuffers;
  readonly #dispatcher: Pick<Dispatcher, "running" | "consider">;
  readonly #ownership: () => Pick<Ownership, "holds" | "owned">;
  readonly #backlog: () => Pick<BacklogReader, "finished">;

  constructor(
    clock: Clock,
    buffers: LaneBuffers,
    dispatcher: Pick<Dispatcher, "running" | "consider">,
    ownership: () => Pick<Ownership, "holds" | "owned">,
    backlog: () => Pick<BacklogReader, "finished">,
  ) {
    this.#clock = clock;
    this.#buffers = buffers;
    this.#dispatcher = dispatcher;
    this.#ownership = ownership;
    this.#backlog = backlog;
  }

  /**
   * Whether a delivery that is about to be committed may be leased and kept in memory. This requires free memory, and
   * that the store has no older delivery of the lane, so that order and priority are preserved.
   */
  reserve(lane: Lane, tier: number, bytes: number): boolean {
    if (this.#mayReserve(lane, tier, bytes)) {
      lane.reserve();
      return true;
    }
    // This delivery goes to the store only, so no later delivery of the same commit may be kept in memory and overtake
    // it.
    if (lane.ordered) lane.markMore(0);
    return false;
  }

  #mayReserve(lane: Lane, tier: number, bytes: number): boolean {
    if (!lane.endpoint.owned || !this.#isRunning() || lane.claiming || lane.releasing > 0) return false;
    for (let other = lane.ordered ? 0 : tier; other <= tier; other += 1) {
      if (lane.more[other as 0 | 1 | 2]) return false;
    }
    if (lane.ordered && (lane.wakeAt !== null || !this.#isBacklogKnown())) return false;
    if (lane.buffered + lane.reserved >= laneBufferMax) return false;
    if (!this.#buffers.hasRoom(bytes)) return false;
    return closedGate(lane.endpoint, this.#clock.now()) === null;
  }

  #isRunning(): boolean {
    return this.#dispatcher.running && this.#ownership().holds();
  }

  /**
   * Whether all lanes that had work at the start of the process have been found. With several processes, an acquired
   * endpoint comes with its lanes.
   */
  #isBacklogKnown(): boolean {
    return this.#backlog().finished || this.#ownership().owned() !== null;
  }

  /** Adds a reserved delivery to its lane. Called when the delivery was committed. */
  accept(lane: Lane, delivery: ClaimedDelivery): void {
    const isLate = lane.unreserve();
    this.#buffers.push(lane, delivery);
    // A commit may end after the engine was stopped and returned all other leases.
    if (isLate || !lane.endpoint.owned || !this.#isRunning()) this.#buffers.giveBack(lane);
    this.#dispatcher.consider(lane);
  }

  /** Returns a reservation. Called when the reserved delivery was not committed. */
  cancel(lane: Lane): void {
    lane.unreserve();
    this.#dispatcher.consider(lane);
  }
}

const laneBufferMax = 256;

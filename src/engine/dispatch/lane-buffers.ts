import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, ClaimResult, DeliveryStore, Lease } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import { Sleep, type Wakeups } from "../endpoint/wakeups.ts";
import type { Dispatcher } from "./dispatcher.ts";

export interface LaneBuffersOptions {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly leaseMs: number;
  /** Body bytes held in memory for all lanes together. */
  readonly bufferBytesMax: number;
  readonly dispatcher: Pick<Dispatcher, "refilled" | "schedulePump">;
}

/**
 * What the lanes hold in memory: fills them from the store, many lanes with one claim, and gives back what they cannot
 * use. Memory is bounded over all lanes; past the bound a claim brings one delivery at a time.
 */
export class LaneBuffers {
  readonly #options: LaneBuffersOptions;
  #wanted: Lane[] = [];
  #claiming = 0;
  #rounds = 0;
  readonly #unreleased = new Set<readonly Lease[]>();
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;
  /** What the calls that run may bring. */
  #bytesPromised = 0;

  constructor(options: LaneBuffersOptions) {
    this.#options = options;
  }

  /** So many lanes are being refilled that looking at more would not help. */
  get busy(): boolean {
    return this.#claiming + this.#wanted.length >= claimsMax;
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#options.bufferBytesMax;
  }

  /** Appends a delivery that was leased as it was committed. */
  push(lane: Lane, delivery: ClaimedDelivery): void {
    lane.push(delivery, delivery.progress.createdAt + this.#options.leaseMs);
    this.#bytes += delivery.body?.length ?? 0;
  }

  take(lane: Lane): ClaimedDelivery | undefined {
    const delivery = lane.take();
    if (delivery !== undefined) this.#bytes -= delivery.body?.length ?? 0;
    return delivery;
  }

  /** Forgets what a lane holds and returns the leases. */
  empty(lane: Lane): Lease[] {
    this.#bytes -= lane.bufferedBytes;
    return lane.empty();
  }

  /**
   * Gives the leases of a lane back. The lane is not refilled before the store has them: a claim that overtook the
   * release would find nothing, or in an ordered lane what comes after them.
   */
  giveBack(lane: Lane): void {
    this.#giveBack(lane, this.empty(lane));
  }

  /** Gives back a delivery that was taken and not sent; in an ordered lane with all that come after it. */
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
      telemetry.log.warn(
        { err: String(error), leases: leases.length },
        "leases could not be given back; trying again",
      );
      const again = new Sleep(() => this.#track(this.#release(lane, leases)));
      wakeups.at(again, clock.now() + retryMs);
      return;
    }
    this.#unreleased.delete(leases);
    lane.releaseEnded();
    this.#options.dispatcher.refilled(lane);
  }

  /** At the end: gives leases back, once. What cannot be given back runs out by itself. */
  async letGo(leases: readonly Lease[]): Promise<void> {
    try {
      if (leases.length > 0) await this.#options.store.release(leases);
    } catch (error) {
      this.#options.telemetry.log.warn(
        { err: String(error) },
        "leases could not be given back; they run out by themselves",
      );
    }
  }

  /** At the end: gives everything back. */
  async giveBackAll(endpoints: Iterable<Endpoint>): Promise<void> {
    this.#withdraw();
    const leases = [...this.#unreleased].flat();
    for (const endpoint of endpoints) {
      for (const lane of endpoint.lanes.values()) leases.push(...this.empty(lane));
    }
    await this.letGo(leases);
    // A claim that was on its way gives back what it brings.
    await this.released();
  }

  /** Resolves once no claim and no release is on its way. */
  async released(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Asks for a refill with the next `claim`. */
  request(lane: Lane): void {
    if (lane.claiming || lane.releasing > 0) return;
    // What is being committed for an ordered lane comes before whatever a claim could bring.
    if (lane.ordered && lane.reserved > 0) return;
    lane.claimBegan();
    this.#wanted.push(lane);
  }

  /** Refills all lanes that asked, with one call of the store; those that ask while enough calls run wait for the next. */
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

  /** Nobody asks any more. */
  #withdraw(): void {
    for (const lane of this.#wanted) lane.claimEnded();
    this.#wanted = [];
  }

  async #claimFor(lanes: readonly Lane[]): Promise<void> {
    const { store, clock, leaseMs, bufferBytesMax } = this.#options;
    const now = clock.now();
    const leaseUntil = now + leaseMs;
    const room = Math.max(0, bufferBytesMax - this.#bytes - this.#bytesPromised);
    // Calls that begin while this one runs have the same room.
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
    // In an ordered lane the head decides when to look again, and it was just taken out of the store.
    const isHeadHere = lane.ordered && result.deliveries.length > 0;
    if (result.nextDueAt !== null && !isHeadHere) this.#options.wakeups.at(lane, result.nextDueAt);
    this.#options.dispatcher.refilled(lane);
  }

  /** The store cannot read: the lanes try again a little later. */
  #failed(lanes: readonly Lane[], error: unknown): void {
    const { clock, telemetry, wakeups } = this.#options;
    telemetry.log.error(
      { err: String(error), lanes: lanes.length },
      "claiming deliveries failed; trying again",
    );
    const again = clock.now() + retryMs;
    for (const lane of lanes) {
      lane.claimEnded();
      wakeups.at(lane, again);
    }
  }
}

/**
 * Calls that run at the same time. For a server a claim from many lanes costs little more than one from a single lane:
 * with eight calls at a time, each brought 1.2 lanes and waited 96 ms for its turn.
 */
const roundsMax = 2;
const claimMax = 128;
/** An ordered lane sends one at a time, and gives all back when its head fails. */
const orderedClaimMax = 16;
/** Lanes that may be refilling at the same time. */
const claimsMax = 64;
const retryMs = 500;

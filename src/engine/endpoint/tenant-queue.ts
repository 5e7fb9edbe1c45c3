import { createBucket, giveBack, peekWaitMs, reconfigureBucket, tryTake } from "../../core/rate-limit.ts";
import type { RateBucket } from "../../core/rate-limit.ts";
import type { RateLimitConfig } from "../../core/profile.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";
import type { HeldSlots } from "../../core/request-slots.ts";
import { GateLog } from "./gate-log.ts";
import type { ClosedGate } from "./gates.ts";
import { ReadyLists } from "./ready-lists.ts";
import type { TenantAllowance } from "./tenant-allowance.ts";
import { Sleeper } from "./wakeups.ts";

/**
 * A tenant's place in the fair round: its endpoints that are ready, by priority, and its own rate limit. While the
 * limit is used up the tenant queue sleeps as a whole and its endpoints keep their places in line, so that none of them
 * starves.
 */
export class TenantQueue extends Sleeper {
  readonly tenantId: string;
  readonly #ready = new ReadyLists<Endpoint>();
  /** Those of its ready endpoints that have a place at a host in prospect. Kept by host-places.ts. */
  readonly recalled = new Set<Endpoint>();
  /** Its endpoints that lack a slot, by share. Kept by fair-shares.ts. */
  readonly lines: readonly [Fifo<Endpoint>, Fifo<Endpoint>, Fifo<Endpoint>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];
  #queued = false;
  #parked = false;
  /** Active requests by share; those of a narrower share count in the wider ones. Kept by fair-shares.ts. */
  readonly held: HeldSlots = [0, 0, 0];
  #gateLog: GateLog | null = null;
  #bucket: RateBucket | null = null;
  #allowance: TenantAllowance | null = null;
  #turns = 0;
  readonly #woke: (tenantQueue: TenantQueue) => void;

  constructor(tenantId: string, woke: (tenantQueue: TenantQueue) => void) {
    super();
    this.tenantId = tenantId;
    this.#woke = woke;
  }

  wake(): void {
    this.#woke(this);
  }

  // ---- its limit ----------------------------------------------------------------------------------------------

  /** With this worker's part of the limit; null without one. */
  get bucket(): Readonly<RateBucket> | null {
    return this.#bucket;
  }

  /** What this worker may use of the limit over all workers, where that can be known; null elsewhere. */
  get allowance(): TenantAllowance | null {
    return this.#allowance;
  }

  /** Null where it is not known any more. */
  allow(allowance: TenantAllowance | null): void {
    this.#allowance = allowance;
  }

  /** When its limit held something back; null while it never did. */
  get gateLog(): GateLog | null {
    return this.#gateLog;
  }

  /** Something that was to be sent found its limit used up. */
  noteClosed(gate: ClosedGate, now: number): void {
    this.#gateLog ??= new GateLog();
    this.#gateLog.note(gate, now);
  }

  limit(limit: RateLimitConfig | null): void {
    if (limit === null) this.#bucket = null;
    else if (this.#bucket === null) this.#bucket = createBucket(limit);
    else reconfigureBucket(this.#bucket, limit);
  }

  /** Ms until the limit lets a request through, as far as is known here. Takes nothing. */
  rateWaitMs(now: number): number {
    if (this.#bucket === null) return 0;
    return this.#allowance === null
      ? peekWaitMs(this.#bucket, now)
      : this.#allowance.waitMs(this.#bucket, now);
  }

  /** Counts a request, which the limit lets through. */
  takeRate(now: number): void {
    if (this.#bucket === null) return;
    if (this.#allowance === null) tryTake(this.#bucket, now);
    else this.#allowance.take(this.#bucket, now);
  }

  /** Takes back what `takeRate` counted for a request that was never sent. */
  returnRate(): void {
    if (this.#bucket === null) return;
    giveBack(this.#bucket);
    this.#allowance?.giveBack();
  }

  // ---- its turns ----------------------------------------------------------------------------------------------

  /** Whether it stands in the dispatcher's round. */
  get queued(): boolean {
    return this.#queued;
  }

  standInRound(queued: boolean): void {
    this.#queued = queued;
  }

  /** It holds its part of all slots and waits for one (fair-shares.ts). */
  get parked(): boolean {
    return this.#parked;
  }

  park(parked: boolean): void {
    this.#parked = parked;
  }

  /** Active requests that hold a slot of this share or of a narrower one. */
  holds(share: number): number {
    return this.held[share] as number;
  }

  /** How many deliveries in memory are ready, as far as `max`. */
  readyCount(max: number): number {
    return this.#ready.count(max, (endpoint, left) => endpoint.readyCount(left));
  }

  /**
   * The next ready endpoint: highest priority first, but some turns begin with a lower one, so that a flood of high
   * priority delays the rest and never starves it.
   */
  next(): Endpoint | undefined {
    this.#turns = (this.#turns + 1) % firstTiers.length;
    return this.#ready.shift(firstTiers[this.#turns] as 0 | 1 | 2) ?? this.#ready.next();
  }

  /** Gives an endpoint that came with `next` and sent nothing its place back, and the tenant queue that turn. */
  putBack(endpoint: Endpoint, tier: number): void {
    if (endpoint.readyTier !== -1) return;
    this.#turns = (this.#turns + firstTiers.length - 1) % firstTiers.length;
    this.#ready.unshift(endpoint, tier);
  }

  enqueue(endpoint: Endpoint, tier: number): void {
    this.#ready.push(endpoint, tier);
  }
}

/** The priority that each of eight turns looks at first. */
const firstTiers = [0, 0, 0, 1, 0, 0, 0, 2] as const;

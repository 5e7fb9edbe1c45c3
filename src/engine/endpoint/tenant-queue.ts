import type { RateLimitConfig } from "../../domain/profile.ts";
import {
  createBucket,
  giveBack,
  peekWaitMs,
  type RateBucket,
  reconfigureBucket,
  tryTake,
} from "../../domain/rate-limit.ts";
import type { HeldSlots } from "../../domain/request-slots.ts";
import type { Endpoint } from "./endpoint.ts";
import { type ClosedGate, GateLog } from "./gates.ts";
import { Fifo, ReadyLists } from "./ready-lists.ts";
import type { TenantAllowance } from "./tenant-allowances.ts";
import { Sleeper } from "./wakeups.ts";

/**
 * A tenant in the round-robin: its ready endpoints by priority, and its rate limit. While the limit is used up, the
 * tenant queue sleeps as a whole and its endpoints keep their positions, so that none of them starves.
 */
export class TenantQueue extends Sleeper {
  readonly tenantId: string;
  readonly #ready = new ReadyLists<Endpoint>();
  /** Ready endpoints that a host recalled for a slot. Managed by host-places.ts. */
  readonly recalled = new Set<Endpoint>();
  /** Endpoints that lack a slot, by share. Managed by fair-shares.ts. */
  readonly lines: readonly [Fifo<Endpoint>, Fifo<Endpoint>, Fifo<Endpoint>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];
  /** Whether it is in the dispatcher's round. */
  queued = false;
  /** Whether it holds as many of all slots as it may, and waits for one. Managed by fair-shares.ts. */
  parked = false;
  /** Active requests per share; a narrower share also counts in the wider ones. Managed by fair-shares.ts. */
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

  // ---- rate limit ---------------------------------------------------------------------------------------------

  /** The bucket with this worker's share of the limit; null for tenants without a limit. */
  get bucket(): Readonly<RateBucket> | null {
    return this.#bucket;
  }

  /** This worker's allowance of the limit for all workers; null without a shared state. */
  get allowance(): TenantAllowance | null {
    return this.#allowance;
  }

  allow(allowance: TenantAllowance | null): void {
    this.#allowance = allowance;
  }

  /** The periods in which the tenant's limit held deliveries; null if none was recorded. */
  get gateLog(): GateLog | null {
    return this.#gateLog;
  }

  /** Called when a delivery was ready, but the limit was used up. */
  noteClosed(gate: ClosedGate, now: number): void {
    this.#gateLog ??= new GateLog();
    this.#gateLog.note(gate.waitingFor, gate.until, now);
  }

  limit(limit: RateLimitConfig | null): void {
    if (limit === null) this.#bucket = null;
    else if (this.#bucket === null) this.#bucket = createBucket(limit);
    else reconfigureBucket(this.#bucket, limit);
  }

  /** Milliseconds until the limit lets a request through, as far as this worker knows. Takes no token. */
  rateWaitMs(now: number): number {
    if (this.#bucket === null) return 0;
    return this.#allowance === null
      ? peekWaitMs(this.#bucket, now)
      : this.#allowance.waitMs(this.#bucket, now);
  }

  /** Takes a token for a request that the limit lets through. */
  takeRate(now: number): void {
    if (this.#bucket === null) return;
    if (this.#allowance === null) tryTake(this.#bucket, now);
    else this.#allowance.take(this.#bucket, now);
  }

  /** Returns the token of a request that was never sent. */
  returnRate(): void {
    if (this.#bucket === null) return;
    giveBack(this.#bucket);
    this.#allowance?.giveBack();
  }

  // ---- turns --------------------------------------------------------------------------------------------------

  /** Number of active requests that hold a slot of this share or of a narrower one. */
  holds(share: number): number {
    return this.held[share] as number;
  }

  /** Number of ready deliveries in memory, up to `max`. */
  readyCount(max: number): number {
    return this.#ready.count(max, (endpoint, left) => endpoint.readyCount(left));
  }

  /**
   * The next ready endpoint, highest priority first. Some turns start with a lower priority, so that a flood of
   * high-priority deliveries delays the others but never starves them.
   */
  next(): Endpoint | undefined {
    this.#turns = (this.#turns + 1) % firstTiers.length;
    return this.#ready.shift(firstTiers[this.#turns] as 0 | 1 | 2) ?? this.#ready.next();
  }

  /**
   * Returns an endpoint that `next` returned but that sent nothing to its previous position, and restores the tenant
   * queue's turn.
   */
  putBack(endpoint: Endpoint, tier: number): void {
    if (endpoint.readyTier !== -1) return;
    this.#turns = (this.#turns + firstTiers.length - 1) % firstTiers.length;
    this.#ready.unshift(endpoint, tier);
  }

  enqueue(endpoint: Endpoint, tier: number): void {
    this.#ready.push(endpoint, tier);
  }
}

/** The priority that is checked first in each of eight turns. */
const firstTiers = [0, 0, 0, 1, 0, 0, 0, 2] as const;

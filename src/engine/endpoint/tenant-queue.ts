import { createBucket, peekWaitMs, reconfigureBucket, tryTake } from "../../core/rate-limit.ts";
import type { RateBucket } from "../../core/rate-limit.ts";
import type { RateLimitConfig } from "../../core/profile.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";
import type { Counts } from "./fair-shares.ts";
import type { GateLog } from "./gate-log.ts";
import type { TenantAllowance } from "../cluster/tenant-allowance.ts";
import type { Sleeper } from "./wakeups.ts";

/**
 * A tenant's place in the fair round: its endpoints that are ready, by priority, and its own rate limit. While the
 * limit is used up the tenant queue sleeps as a whole and its endpoints keep their places in line, so that none of them
 * starves.
 */
export class TenantQueue implements Sleeper {
  readonly tenantId: string;
  readonly ready: readonly [Fifo<Endpoint>, Fifo<Endpoint>, Fifo<Endpoint>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];
  /** Those of its ready endpoints that have a place at a host in prospect (host-places.ts). */
  readonly recalled = new Set<Endpoint>();
  /** Whether it stands in the dispatcher's round. */
  queued = false;
  /** It holds its part of all places and waits for one (fair-shares.ts). */
  parked = false;
  /** When its limit held something back; null while it never did. */
  gateLog: GateLog | null = null;
  /** Requests on their way, by share of the places. */
  readonly holds: Counts = [0, 0, 0];
  /** Its endpoints that lack a place of a narrower share, by share; the first list stays empty. */
  readonly lines: readonly [Fifo<Endpoint>, Fifo<Endpoint>, Fifo<Endpoint>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];
  wakeAt: number | null = null;
  /** With this worker's part of the limit; null without one. */
  bucket: RateBucket | null = null;
  /** What this worker may use of the limit over all workers, where that can be known; null elsewhere. */
  allowance: TenantAllowance | null = null;
  #turns = 0;
  readonly #woke: (tenantQueue: TenantQueue) => void;

  constructor(tenantId: string, woke: (tenantQueue: TenantQueue) => void) {
    this.tenantId = tenantId;
    this.#woke = woke;
  }

  wake(): void {
    this.#woke(this);
  }

  limit(limit: RateLimitConfig | null): void {
    if (limit === null) this.bucket = null;
    else if (this.bucket === null) this.bucket = createBucket(limit);
    else reconfigureBucket(this.bucket, limit);
  }

  /** Ms until the limit lets a request through, as far as is known here. Takes nothing. */
  rateWaitMs(now: number): number {
    if (this.bucket === null) return 0;
    return this.allowance === null ? peekWaitMs(this.bucket, now) : this.allowance.waitMs(this.bucket, now);
  }

  /** Counts a request, which the limit lets through. */
  takeRate(now: number): void {
    if (this.bucket === null) return;
    if (this.allowance === null) tryTake(this.bucket, now);
    else this.allowance.take(this.bucket, now);
  }

  /** How many deliveries in memory are ready, as far as `max`. */
  readyCount(max: number): number {
    let count = 0;
    for (const [tier, list] of this.ready.entries()) {
      for (const endpoint of list) {
        if (count >= max) return max;
        if (endpoint.readyTier === tier) count += endpoint.readyCount(max - count);
      }
    }
    return Math.min(count, max);
  }

  /**
   * The next ready endpoint: highest priority first, but some turns begin with a lower one, so that a flood of high
   * priority delays the rest and never starves it.
   */
  next(): Endpoint | undefined {
    this.#turns = (this.#turns + 1) % firstTiers.length;
    return (
      this.#shift(firstTiers[this.#turns] as 0 | 1 | 2) ?? this.#shift(0) ?? this.#shift(1) ?? this.#shift(2)
    );
  }

  /** Skips entries that moved to another list. */
  #shift(tier: 0 | 1 | 2): Endpoint | undefined {
    const list = this.ready[tier];
    for (let endpoint = list.shift(); endpoint !== undefined; endpoint = list.shift()) {
      if (endpoint.readyTier !== tier) continue;
      endpoint.readyTier = -1;
      return endpoint;
    }
    return undefined;
  }

  /** Gives an endpoint that came with `next` and sent nothing its place back, and the tenant queue that turn. */
  putBack(endpoint: Endpoint, tier: number): void {
    if (endpoint.readyTier !== -1) return;
    this.#turns = (this.#turns + firstTiers.length - 1) % firstTiers.length;
    endpoint.readyTier = tier;
    this.ready[tier]?.unshift(endpoint);
  }

  enqueue(endpoint: Endpoint, tier: number): void {
    if (endpoint.readyTier !== -1 && endpoint.readyTier <= tier) return;
    endpoint.readyTier = tier;
    this.ready[tier]?.push(endpoint);
  }
}

/** The priority that each of eight turns looks at first. */
const firstTiers = [0, 0, 0, 1, 0, 0, 0, 2] as const;

import { createBucket, reconfigureBucket } from "../core/rate-limit.ts";
import type { RateBucket } from "../core/rate-limit.ts";
import type { RateLimitConfig } from "../core/profile.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";

/** A tenant's place in the fair round: its endpoints that are ready, by priority, and its own rate limit. */
export class Tenancy {
  readonly tenantId: string;
  readonly ready: readonly [Fifo<Endpoint>, Fifo<Endpoint>, Fifo<Endpoint>] = [
    new Fifo(),
    new Fifo(),
    new Fifo(),
  ];
  /** Whether it stands in the dispatcher's round. */
  queued = false;
  bucket: RateBucket | null = null;

  constructor(tenantId: string) {
    this.tenantId = tenantId;
  }

  limit(limit: RateLimitConfig | null): void {
    if (limit === null) this.bucket = null;
    else if (this.bucket === null) this.bucket = createBucket(limit);
    else reconfigureBucket(this.bucket, limit);
  }

  /** The next ready endpoint, highest priority first; skips entries that moved to another list. */
  next(): Endpoint | undefined {
    for (let tier = 0; tier < this.ready.length; tier += 1) {
      const list = this.ready[tier] as Fifo<Endpoint>;
      for (let endpoint = list.shift(); endpoint !== undefined; endpoint = list.shift()) {
        if (endpoint.readyTier !== tier) continue;
        endpoint.readyTier = -1;
        return endpoint;
      }
    }
    return undefined;
  }

  enqueue(endpoint: Endpoint, tier: number): void {
    if (endpoint.readyTier !== -1 && endpoint.readyTier <= tier) return;
    endpoint.readyTier = tier;
    this.ready[tier]?.push(endpoint);
  }
}

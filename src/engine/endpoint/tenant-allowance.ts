import { peekWaitMs, spend, tryTake } from "../../core/rate-limit.ts";
import type { RateBucket } from "../../core/rate-limit.ts";
import type { RateLimitConfig } from "../../core/profile.ts";
import type { Clock } from "../../ports/clock.ts";
import type { TokenDraw, TokenGrant } from "../../ports/shared-state.ts";
import type { TenantQueue } from "./tenant-queue.ts";

export interface TenantAllowanceOptions {
  readonly tenantQueue: TenantQueue;
  /** The tenant's limit for all workers together. */
  readonly limit: RateLimitConfig;
  readonly clock: Clock;
  /** Whether the shared state is available. */
  readonly isUsable: () => boolean;
  /** Draws tokens soon; `answered` follows. */
  readonly ask: (allowance: TenantAllowance) => void;
}

/**
 * This worker's remaining part of a tenant's limit for all workers: tokens drawn in advance from the shared bucket.
 * Without the shared state, the tenant queue's own bucket with this worker's share of the limit decides.
 *
 * That bucket is always kept up to date, so that an outage of the shared state does not bypass the limit.
 *
 * Sending has two steps, because a reply takes time and the dispatcher does not wait: `secure` says whether `take`
 * may follow; if not, tokens are drawn and the reply wakes the tenant queue. `waitMs` only checks.
 */
export class TenantAllowance {
  readonly tenantQueue: TenantQueue;
  readonly #options: TenantAllowanceOptions;
  #limit: RateLimitConfig;
  #tokens = 0;
  #isAsking = false;
  #drawnAtMs = 0;
  /** On the monotonic clock: no token is available before this time. */
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: TenantAllowanceOptions) {
    this.#options = options;
    this.tenantQueue = options.tenantQueue;
    this.#limit = options.limit;
  }

  get tokens(): number {
    return this.#tokens;
  }

  get drawnAtMs(): number {
    return this.#drawnAtMs;
  }

  /** A new limit applies. Refusals of the old limit no longer count. */
  change(limit: RateLimitConfig): void {
    this.#limit = limit;
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Milliseconds until a request may be sent as far as this worker knows; 0 if that is now or must be requested.
   * Takes nothing.
   */
  waitMs(bucket: RateBucket, now: number): number {
    if (this.#tokens > 0) return 0;
    const { clock, isUsable } = this.#options;
    if (!isUsable()) return peekWaitMs(bucket, now);
    return Math.max(0, Math.ceil(this.#refusedUntilMs - clock.monotonicMs()));
  }

  /** Whether `take` may follow. Otherwise tokens are being drawn, and the reply wakes the tenant queue. */
  secure(): boolean {
    if (this.#tokens > 0 || !this.#options.isUsable()) return true;
    if (!this.#isAsking) {
      this.#isAsking = true;
      this.#options.ask(this);
    }
    return false;
  }

  take(bucket: RateBucket, now: number): void {
    if (this.#tokens === 0) {
      tryTake(bucket, now);
      return;
    }
    this.#tokens -= 1;
    spend(bucket, now);
  }

  /** Returns the token of a request that was never sent. */
  giveBack(): void {
    if (this.#options.isUsable()) this.#tokens += 1;
  }

  /** How many tokens to draw: enough for ready deliveries, and few enough to leave some for other workers. */
  draw(): TokenDraw {
    const ahead = Math.floor((this.#limit.requestsPerMinute * aheadMs) / 60_000);
    const tokens = Math.max(1, this.tenantQueue.readyCount(Math.max(1, ahead)));
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }

  /** Null if the shared state did not reply. `jitter` is a random number from 0 to 1. */
  answered(grant: TokenGrant | null, draw: TokenDraw, sentAtMs: number, jitter: number): void {
    this.#isAsking = false;
    if (grant === null) return;
    this.#tokens += grant.granted;
    this.#drawnAtMs = this.#options.clock.monotonicMs();
    if (grant.waitMs === 0 || draw.limit !== this.#limit) return;
    const { requestsPerMinute, burst } = this.#limit;
    const intervalMs = 60_000 / requestsPerMinute;
    // Waiting a moment before drawing from an empty bucket again loses nothing, and makes the call worthwhile.
    const slackMs = Math.min(restMsMax, ((burst - 1) * intervalMs) / 4);
    const restMs = Math.max(grant.waitMs, slackMs / 2);
    // Jitter, so that workers waiting for the same tokens do not always draw in the same order.
    const jitterMs = jitter * Math.max(slackMs, Math.min(jitterMsMax, intervalMs * jitterShare));
    // Counted from the request, so that the next request arrives when the token does.
    this.#refusedUntilMs = sentAtMs + restMs + jitterMs;
  }

  /** Returns all its tokens. */
  surrender(): TokenDraw {
    const tokens = this.#tokens;
    this.#tokens = 0;
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }
}

/** Tokens for this much time are drawn at once, and at least one. */
const aheadMs = 150;
/** Maximum pause before drawing from an empty bucket again, for limits of many tokens a second. */
const restMsMax = 20;
/**
 * Jitter for limits without a burst, where a token that is fetched late is lost: a share of the interval between
 * tokens.
 */
const jitterMsMax = 10;
const jitterShare = 0.04;

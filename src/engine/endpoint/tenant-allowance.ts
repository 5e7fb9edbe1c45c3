import { peekWaitMs, spend, tryTake } from "../../core/rate-limit.ts";
import type { RateBucket } from "../../core/rate-limit.ts";
import type { RateLimitConfig } from "../../core/profile.ts";
import type { Clock } from "../../ports/clock.ts";
import type { TokenDraw, TokenGrant } from "../../ports/shared-state.ts";
import type { TenantQueue } from "./tenant-queue.ts";

export interface TenantAllowanceOptions {
  readonly tenantQueue: TenantQueue;
  /** Of the tenant, over all workers. */
  readonly limit: RateLimitConfig;
  readonly clock: Clock;
  /** Whether the shared state can be asked now. */
  readonly isUsable: () => boolean;
  /** Draws soon; `answered` follows. */
  readonly ask: (allowance: TenantAllowance) => void;
}

/**
 * What this worker may still send of the limit that a tenant has over all workers: tokens that were drawn ahead from the
 * shared bucket. Without the shared state the tenant queue's own bucket decides, with this worker's part of the limit.
 *
 * That bucket counts along all the time, so that a loss of the shared state is no way around the limit.
 *
 * Sending asks in two steps, because an answer takes a moment and the dispatcher does not wait: `secure` says that `take`
 * may follow, or has tokens drawn and the tenant queue woken with the answer. `waitMs` only looks.
 */
export class TenantAllowance {
  readonly tenantQueue: TenantQueue;
  readonly #options: TenantAllowanceOptions;
  #limit: RateLimitConfig;
  #tokens = 0;
  #isAsking = false;
  #drawnAtMs = 0;
  /** On the monotonic clock: there was no token, and before this there is none. */
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

  /** Another limit is in force. What the old one refused, this one may allow. */
  change(limit: RateLimitConfig): void {
    this.#limit = limit;
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Ms until a request may go as far as is known here, 0 when that is now or has to be asked. Takes nothing. */
  waitMs(bucket: RateBucket, now: number): number {
    if (this.#tokens > 0) return 0;
    const { clock, isUsable } = this.#options;
    if (!isUsable()) return peekWaitMs(bucket, now);
    return Math.max(0, Math.ceil(this.#refusedUntilMs - clock.monotonicMs()));
  }

  /** Whether `take` may follow. Otherwise tokens are being drawn, and the tenant queue is woken with the answer. */
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

  /** A token for a request that was never sent. */
  giveBack(): void {
    if (this.#options.isUsable()) this.#tokens += 1;
  }

  /** What to draw: for what is ready now, and little enough that other workers find something. */
  draw(): TokenDraw {
    const ahead = Math.floor((this.#limit.requestsPerMinute * aheadMs) / 60_000);
    const tokens = Math.max(1, this.tenantQueue.readyCount(Math.max(1, ahead)));
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }

  /** Null when the shared state did not answer. `jitter` is a random number from 0 to 1. */
  answered(
    grant: TokenGrant | null,
    asked: { readonly draw: TokenDraw; readonly sentAtMs: number; readonly jitter: number },
  ): void {
    this.#isAsking = false;
    if (grant === null) return;
    this.#tokens += grant.granted;
    this.#drawnAtMs = this.#options.clock.monotonicMs();
    if (grant.waitMs === 0 || asked.draw.limit !== this.#limit) return;
    const { requestsPerMinute, burst } = this.#limit;
    const intervalMs = 60_000 / requestsPerMinute;
    // An empty bucket that is left alone for a moment loses nothing, and what it then has is worth the call.
    const slackMs = Math.min(restMsMax, ((burst - 1) * intervalMs) / 4);
    const restMs = Math.max(grant.waitMs, slackMs / 2);
    // Workers that wait for the same tokens do not ask in the same order each time.
    const jitterMs = asked.jitter * Math.max(slackMs, Math.min(jitterMsMax, intervalMs * jitterShare));
    // From when it was asked: then the next question arrives when the token does.
    this.#refusedUntilMs = asked.sentAtMs + restMs + jitterMs;
  }

  /** What it holds, which it holds no longer. */
  surrender(): TokenDraw {
    const tokens = this.#tokens;
    this.#tokens = 0;
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }
}

/** Tokens drawn at a time are worth this much of the limit, and at least one. */
const aheadMs = 150;
/** How long an empty bucket is left alone, for limits of many tokens a second: what comes together is worth the call. */
const restMsMax = 20;
/** For a limit without a burst, where a token that is fetched late is lost: a share of the time between two of them. */
const jitterMsMax = 10;
const jitterShare = 0.04;

import type { RateLimitConfig } from "../../domain/profile.ts";
import { peekWaitMs, type RateBucket, spend, tryTake } from "../../domain/rate-limit.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import {
  type SharedState,
  SharedStateUnavailableError,
  type TokenDraw,
  type TokenGrant,
} from "../../ports/shared-state.ts";
import type { EngineContext } from "../engine-options.ts";
import type { TenantQueue } from "./tenant-queue.ts";

/**
 * This worker's remaining part of a tenant's limit for all workers: tokens drawn in advance from the shared bucket.
 * Without the shared state, the tenant queue's own bucket with this worker's share of the limit decides.
 *
 * The tenant queue's own bucket is always kept up to date, so that an outage of the shared state does not bypass
 * the limit.
 *
 * Sending has two steps, because a reply takes time and the dispatcher does not wait: `secure` says whether `take`
 * may follow; if not, tokens are drawn and the reply wakes the tenant queue. `waitMs` only checks.
 */
export class TenantAllowance {
  readonly tenantQueue: TenantQueue;
  readonly #clock: Clock;
  readonly #isUsable: () => boolean;
  readonly #ask: (allowance: TenantAllowance) => void;
  #limit: RateLimitConfig;
  #tokens = 0;
  #isAsking = false;
  #drawnAtMs = 0;
  /** No token is available before this time on the monotonic clock. */
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * `limit` applies to all workers together. `isUsable`: whether the shared state is available. `ask` requests a draw
   * of tokens, which ends with `answered`.
   */
  constructor(
    tenantQueue: TenantQueue,
    limit: RateLimitConfig,
    clock: Clock,
    isUsable: () => boolean,
    ask: (allowance: TenantAllowance) => void,
  ) {
    this.tenantQueue = tenantQueue;
    this.#limit = limit;
    this.#clock = clock;
    this.#isUsable = isUsable;
    this.#ask = ask;
  }

  get tokens(): number {
    return this.#tokens;
  }

  get drawnAtMs(): number {
    return this.#drawnAtMs;
  }

  /** Applies a new limit. Refusals under the old limit no longer count. */
  change(limit: RateLimitConfig): void {
    this.#limit = limit;
    this.#refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Milliseconds until a request may be sent, as far as this worker knows; 0 if it may be sent now or tokens must be
   * requested. Takes nothing.
   */
  waitMs(bucket: RateBucket, now: number): number {
    if (this.#tokens > 0) return 0;
    if (!this.#isUsable()) return peekWaitMs(bucket, now);
    return Math.max(0, Math.ceil(this.#refusedUntilMs - this.#clock.monotonicMs()));
  }

  /** Whether `take` may follow. If not, tokens are being drawn, and the reply wakes the tenant queue. */
  secure(): boolean {
    if (this.#tokens > 0 || !this.#isUsable()) return true;
    if (!this.#isAsking) {
      this.#isAsking = true;
      this.#ask(this);
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
    if (this.#isUsable()) this.#tokens += 1;
  }

  /** Returns the next draw: enough tokens for ready deliveries, but few enough to leave some for other workers. */
  draw(): TokenDraw {
    const ahead = Math.floor((this.#limit.requestsPerMinute * aheadMs) / 60_000);
    const tokens = Math.max(1, this.tenantQueue.readyCount(Math.max(1, ahead)));
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }

  /**
   * Applies the reply to a draw. The grant is null if the shared state did not reply. `jitter` is a random number from
   * 0 to 1.
   */
  answered(grant: TokenGrant | null, draw: TokenDraw, sentAtMs: number, jitter: number): void {
    this.#isAsking = false;
    if (grant === null) return;
    this.#tokens += grant.granted;
    this.#drawnAtMs = this.#clock.monotonicMs();
    if (grant.waitMs === 0 || draw.limit !== this.#limit) return;
    const { requestsPerMinute, burst } = this.#limit;
    const intervalMs = 60_000 / requestsPerMinute;
    // A short wait before drawing from an empty bucket again loses no tokens, and each call then returns more of them.
    const slackMs = Math.min(restMsMax, ((burst - 1) * intervalMs) / 4);
    const restMs = Math.max(grant.waitMs, slackMs / 2);
    // Adds jitter, so that workers waiting for the same tokens do not always draw in the same order.
    const jitterMs = jitter * Math.max(slackMs, Math.min(jitterMsMax, intervalMs * jitterShare));
    // Measured from when the request was sent, so that the next request arrives when the token is available.
    this.#refusedUntilMs = sentAtMs + restMs + jitterMs;
  }

  /** Returns all tokens of this allowance. */
  surrender(): TokenDraw {
    const tokens = this.#tokens;
    this.#tokens = 0;
    return { key: this.tenantQueue.tenantId, limit: this.#limit, tokens };
  }
}

/** Tokens for this interval are drawn together, and at least one. */
const aheadMs = 150;
/**
 * Upper limit of the minimum pause before drawing from an empty bucket again, and of its jitter. Only limits of many
 * tokens per second need the minimum; for others, the next token takes longer.
 */
const restMsMax = 20;
/**
 * Jitter for limits without a burst: a share of the interval between tokens, up to this maximum. It is small, because a
 * token that is drawn late is lost under such a limit.
 */
const jitterMsMax = 10;
const jitterShare = 0.04;

type AllowanceState = Pick<SharedState, "limits" | "isAvailable" | "watch">;

/**
 * Tenant limits that are exact over all workers. Tokens are drawn for tenant queues that ran out, with one call for all
 * requests in one turn of the event loop. Tokens unused for about a second are returned, so that no worker holds tokens
 * that another one could use. While the shared state is unavailable, each tenant queue uses only its share of the
 * limit.
 */
export class TenantAllowances {
  readonly #context: Pick<EngineContext, "clock" | "random" | "telemetry">;
  readonly #state: AllowanceState;
  readonly #woke: (tenantQueue: TenantQueue) => void;
  readonly #all = new Set<TenantAllowance>();
  /** Allowances that may hold tokens. */
  readonly #holders = new Set<TenantAllowance>();
  readonly #unwatch: () => void;
  #asking: TenantAllowance[] = [];
  readonly #running = new Set<Promise<void>>();
  #usableFromMs = Number.NEGATIVE_INFINITY;
  readonly #giveBackAlarm: Alarm;
  #stopped = false;

  /**
   * `woke` is called when the gates of a tenant queue may have opened, or the time at which they open has become known.
   */
  constructor(
    context: Pick<EngineContext, "clock" | "random" | "telemetry">,
    state: AllowanceState,
    woke: (tenantQueue: TenantQueue) => void,
  ) {
    this.#context = context;
    this.#state = state;
    this.#woke = woke;
    this.#giveBackAlarm = new Alarm(context.clock);
    this.#unwatch = state.watch((isAvailable) => {
      if (isAvailable) this.#back();
    });
  }

  /** Sets a tenant's limit for all workers. Null removes the limit, so no more tokens are drawn. */
  limit(tenantQueue: TenantQueue, limit: RateLimitConfig | null): void {
    const { allowance } = tenantQueue;
    if (limit !== null && allowance !== null) return allowance.change(limit);
    if (allowance !== null) this.#all.delete(allowance);
    tenantQueue.allow(limit === null ? null : this.#newAllowance(tenantQueue, limit));
  }

  /** Returns all tokens of all allowances. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unwatch();
    this.#giveBackAlarm.close();
    await Promise.all(this.#running);
    await this.#giveBack([...this.#holders]);
  }

  #newAllowance(tenantQueue: TenantQueue, limit: RateLimitConfig): TenantAllowance {
    const { clock } = this.#context;
    const isUsable = (): boolean => this.#state.isAvailable && clock.monotonicMs() >= this.#usableFromMs;
    const ask = (asking: TenantAllowance): void => this.#ask(asking);
    const allowance = new TenantAllowance(tenantQueue, limit, clock, isUsable, ask);
    this.#all.add(allowance);
    return allowance;
  }

  // ---- drawing ------------------------------------------------------------------------------------------------

  #ask(allowance: TenantAllowance): void {
    this.#asking.push(allowance);
    if (this.#asking.length > 1) return;
    this.#context.clock.defer(() => {
      const asking = this.#asking;
      this.#asking = [];
      if (!this.#stopped) this.#track(this.#draw(asking));
    });
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #draw(asking: readonly TenantAllowance[]): Promise<void> {
    const { clock, random } = this.#context;
    const draws = asking.map((allowance) => allowance.draw());
    const sentAtMs = clock.monotonicMs();
    let grants: readonly TokenGrant[] = [];
    try {
      grants = await this.#state.limits.draw(draws);
    } catch (error) {
      this.#failed(error);
    }
    for (const [index, draw] of draws.entries()) {
      const allowance = asking[index] as TenantAllowance;
      allowance.answered(grants[index] ?? null, draw, sentAtMs, random.uniform());
      if (allowance.tokens > 0) this.#holders.add(allowance);
      this.#woke(allowance.tenantQueue);
    }
    this.#lookLater();
  }

  /**
   * Called when a draw failed. Waiting callers continue without a reply. The shared state may appear available again
   * immediately, so the next draw is delayed.
   */
  #failed(error: unknown): void {
    const { clock, telemetry } = this.#context;
    this.#usableFromMs = clock.monotonicMs() + pauseMs;
    if (error instanceof SharedStateUnavailableError) return;
    telemetry.log.warn({ err: String(error) }, "reading tenant limits from the shared state failed");
  }

  #back(): void {
    this.#usableFromMs = Number.NEGATIVE_INFINITY;
    // Tenant queues that sleep because of their share of the limit may now be able to send earlier.
    for (const { tenantQueue } of this.#all) if (tenantQueue.wakeAt !== null) this.#woke(tenantQueue);
  }

  // ---- returning ----------------------------------------------------------------------------------------------

  #lookLater(): void {
    if (this.#giveBackAlarm.isSet || this.#holders.size === 0) return;
    this.#giveBackAlarm.set(lookMs, () => {
      const unusedSinceMs = this.#context.clock.monotonicMs() - keepMs;
      const idle: TenantAllowance[] = [];
      for (const allowance of this.#holders) {
        if (allowance.tokens === 0) this.#holders.delete(allowance);
        else if (allowance.drawnAtMs <= unusedSinceMs) idle.push(allowance);
      }
      this.#track(this.#giveBack(idle));
      this.#lookLater();
    });
  }

  /** Tokens that cannot be returned are lost, but the bucket refills over time. */
  async #giveBack(holders: readonly TenantAllowance[]): Promise<void> {
    const draws = holders.map((holder) => holder.surrender()).filter(({ tokens }) => tokens > 0);
    for (const holder of holders) this.#holders.delete(holder);
    if (draws.length === 0 || !this.#state.isAvailable) return;
    try {
      await this.#state.limits.giveBack(draws);
    } catch (error) {
      if (error instanceof SharedStateUnavailableError) return;
      this.#context.telemetry.log.warn({ err: String(error) }, "returning tokens of tenant limits failed");
    }
  }
}

/**
 * Pause after a failed call. During the pause, the worker's share of the limit applies, so no caller waits for another
 * failure.
 */
const pauseMs = 1_000;
/** Interval between checks for unused tokens. Together with `keepMs`, they are returned within about a second. */
const lookMs = 500;
/** Tokens that are unused for this long are returned. */
const keepMs = 750;

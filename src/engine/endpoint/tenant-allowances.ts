import type { RateLimitConfig } from "../../core/profile.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { type SharedState, SharedStateUnavailableError, type TokenGrant } from "../../ports/shared-state.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Alarm } from "../../ports/timing/alarm.ts";
import type { TenantQueue } from "./tenant-queue.ts";
import { TenantAllowance } from "./tenant-allowance.ts";

export interface TenantAllowancesOptions {
  readonly state: Pick<SharedState, "limits" | "isAvailable" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  /** The gates of a tenant queue may have opened, or their closing time is known now. */
  readonly woke: (tenantQueue: TenantQueue) => void;
}

/**
 * Tenant limits that are exact over all workers. Tokens are drawn for tenant queues that ran out, with one call for
 * all requests in one turn of the event loop. Tokens unused for about a second are returned, so that no worker holds
 * tokens that another one could use. While the shared state is unavailable, each tenant queue keeps to its share of
 * the limit.
 */
export class TenantAllowances {
  readonly #options: TenantAllowancesOptions;
  readonly #all = new Set<TenantAllowance>();
  /** Allowances that may hold tokens. */
  readonly #holders = new Set<TenantAllowance>();
  readonly #unwatch: () => void;
  #asking: TenantAllowance[] = [];
  readonly #running = new Set<Promise<void>>();
  #usableFromMs = Number.NEGATIVE_INFINITY;
  readonly #giveBackAlarm: Alarm;
  #stopped = false;

  constructor(options: TenantAllowancesOptions) {
    this.#options = options;
    this.#giveBackAlarm = new Alarm(options.clock);
    this.#unwatch = options.state.watch((isAvailable) => {
      if (isAvailable) this.#back();
    });
  }

  /** Sets a tenant's limit for all workers; null removes it, and no tokens are drawn then. */
  limit(tenantQueue: TenantQueue, limit: RateLimitConfig | null): void {
    const { allowance } = tenantQueue;
    if (limit !== null && allowance !== null) return allowance.change(limit);
    if (allowance !== null) this.#all.delete(allowance);
    tenantQueue.allow(limit === null ? null : this.#newAllowance(tenantQueue, limit));
  }

  /** Returns all tokens. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unwatch();
    this.#giveBackAlarm.close();
    await Promise.all(this.#running);
    await this.#giveBack([...this.#holders]);
  }

  #newAllowance(tenantQueue: TenantQueue, limit: RateLimitConfig): TenantAllowance {
    const { clock } = this.#options;
    const allowance = new TenantAllowance({
      tenantQueue,
      limit,
      clock,
      isUsable: () => this.#options.state.isAvailable && clock.monotonicMs() >= this.#usableFromMs,
      ask: (asking) => this.#ask(asking),
    });
    this.#all.add(allowance);
    return allowance;
  }

  // ---- drawing ------------------------------------------------------------------------------------------------

  #ask(allowance: TenantAllowance): void {
    this.#asking.push(allowance);
    if (this.#asking.length > 1) return;
    this.#options.clock.defer(() => {
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
    const { state, clock, random } = this.#options;
    const draws = asking.map((allowance) => allowance.draw());
    const sentAtMs = clock.monotonicMs();
    let grants: readonly TokenGrant[] = [];
    try {
      grants = await state.limits.draw(draws);
    } catch (error) {
      this.#failed(error);
    }
    for (const [index, draw] of draws.entries()) {
      const allowance = asking[index] as TenantAllowance;
      allowance.answered(grants[index] ?? null, draw, sentAtMs, random.uniform());
      if (allowance.tokens > 0) this.#holders.add(allowance);
      this.#options.woke(allowance.tenantQueue);
    }
    this.#lookLater();
  }

  /**
   * Waiting callers continue without a reply. The state may appear available again at once, so the next draw is
   * delayed.
   */
  #failed(error: unknown): void {
    const { clock, telemetry } = this.#options;
    this.#usableFromMs = clock.monotonicMs() + pauseMs;
    if (error instanceof SharedStateUnavailableError) return;
    telemetry.log.warn({ err: String(error) }, "reading tenant limits from the shared state failed");
  }

  #back(): void {
    this.#usableFromMs = Number.NEGATIVE_INFINITY;
    // Queues that sleep because of their share of the limit may send earlier now.
    for (const { tenantQueue } of this.#all) if (tenantQueue.wakeAt !== null) this.#options.woke(tenantQueue);
  }

  // ---- returning ----------------------------------------------------------------------------------------------

  #lookLater(): void {
    if (this.#giveBackAlarm.isSet || this.#holders.size === 0) return;
    this.#giveBackAlarm.set(lookMs, () => {
      const unusedSinceMs = this.#options.clock.monotonicMs() - keepMs;
      const idle: TenantAllowance[] = [];
      for (const allowance of this.#holders) {
        if (allowance.tokens === 0) this.#holders.delete(allowance);
        else if (allowance.drawnAtMs <= unusedSinceMs) idle.push(allowance);
      }
      this.#track(this.#giveBack(idle));
      this.#lookLater();
    });
  }

  /** Tokens that cannot be returned are lost: the bucket refills over time. */
  async #giveBack(holders: readonly TenantAllowance[]): Promise<void> {
    const draws = holders.map((holder) => holder.surrender()).filter(({ tokens }) => tokens > 0);
    for (const holder of holders) this.#holders.delete(holder);
    const { state, telemetry } = this.#options;
    if (draws.length === 0 || !state.isAvailable) return;
    try {
      await state.limits.giveBack(draws);
    } catch (error) {
      if (error instanceof SharedStateUnavailableError) return;
      telemetry.log.warn({ err: String(error) }, "returning tokens of tenant limits failed");
    }
  }
}

/**
 * Pause after a failed call. During the pause, the worker's share of the limit decides, so no caller waits for the next
 * failure.
 */
const pauseMs = 1_000;
/** With `keepMs`, unused tokens are returned within about a second. */
const lookMs = 500;
/** Tokens unused for this long are returned. */
const keepMs = 750;

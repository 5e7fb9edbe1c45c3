import { Alarm, type Clock, Loop } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  OwnershipStore,
  RuntimeOrder,
} from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { isQuiet, type OwnedEndpoints } from "./owned-endpoints.ts";

/**
 * Runs tasks one after the other; failures are reported and do not stop later tasks. All calls of a worker that acquire
 * or release use one instance: a `keepOnly` during an `acquire` would release the webhooks that the call has just
 * acquired.
 */
export class SerialWork {
  readonly #failed: (error: unknown) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Resolves with the result, or with undefined if it failed. */
  run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const result = this.#last.then(work).catch((error: unknown) => {
      this.#failed(error);
      return undefined;
    });
    this.#last = result;
    return result;
  }
}

export interface WebhookAcquirerOptions {
  readonly store: OwnershipStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly owned: OwnedEndpoints;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  readonly endpoints: () => Iterable<Endpoint>;
  /** Loads webhooks that this process does not know yet. */
  readonly load: (webhookIds: readonly string[]) => Promise<void>;
  /** Called when an endpoint was acquired. It may have deliveries. */
  readonly acquired: (endpoint: Endpoint) => void;
  /** Executes orders for owned endpoints. */
  readonly follow: (orders: readonly RuntimeOrder[]) => void;
  /** The pool of this worker. `poolOf` returns the current pool of an endpoint. */
  readonly pool: string;
  readonly poolOf: (endpoint: Endpoint) => string;
  /** Whether a queue delivers hints about unowned work now, so that polling is only a precaution. */
  readonly isBrought: () => boolean;
}

/** The worker that acquires. */
interface AcquiringWorker {
  /** The worker's number; null if it has none. */
  readonly worker: number | null;
  holds(): boolean;
}

/**
 * Acquires webhooks that have work and no owner: those named by hints, and those found by polling.
 *
 * If the reply to `acquire` is lost, the store counts the webhook as owned by this worker, although it is not served
 * here; `keepOnly` releases it. The same applies to a webhook that cannot be brought into service. After a failure,
 * `keepOnly` is called for as long as a call that timed out may still reach the store.
 *
 * A polling round scans all lanes with work, a page at a time, and pauses between rounds. A webhook that a hint names
 * during a round waits only until the current page is finished.
 */
export class WebhookAcquirer {
  readonly #options: WebhookAcquirerOptions;
  readonly #self: AcquiringWorker;
  readonly #work: SerialWork;
  /** Webhooks to acquire, with the callers that wait for the attempt. */
  readonly #wanted = new Map<string, (() => void)[]>();
  /** Webhooks with work that cannot be served: deleted ones, until upkeep has cancelled their deliveries. */
  readonly #unservable = new Map<string, number>();
  /** Webhooks for which work was stored after the running call queried their lanes. */
  #workAddedMeanwhile: Set<string> | null = null;
  readonly #wantedAlarm: Alarm;
  readonly #polls: Loop;
  /** Start of the next page; null between two rounds. */
  #after: string | null = null;
  #roundStartedMs = 0;
  #pollPauseMs = pollMs;
  #lastWantedMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** When the last store call failed, on the monotonic clock. */
  #failedMs = Number.NEGATIVE_INFINITY;
  #paused = false;

  constructor(options: WebhookAcquirerOptions, self: AcquiringWorker, work: SerialWork) {
    this.#options = options;
    this.#self = self;
    this.#work = work;
    const { clock, telemetry } = options;
    this.#wantedAlarm = new Alarm(clock);
    this.#polls = new Loop({
      clock,
      round: () => this.#poll(),
      pauseMs: () => this.#pollPauseMs,
      failed: (error) => telemetry.log.warn({ err: String(error) }, "searching for unowned work failed"),
    });
  }

  start(): void {
    this.#polls.soon(0);
  }

  pause(): void {
    this.#paused = true;
    this.#wantedAlarm.close();
    void this.#polls.stop();
    for (const resolve of [...this.#wanted.values()].flat()) resolve();
    this.#wanted.clear();
  }

  /** Checks immediately for unowned work, because hints may be lost. */
  lookNow(): void {
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Tries to acquire a webhook, batched with other recent requests. Resolves after the attempt. */
  wanted(webhookId: string): Promise<void> {
    if (this.#paused) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#wanted.get(webhookId);
      if (waiting === undefined) this.#wanted.set(webhookId, [resolve]);
      else waiting.push(resolve);
      this.#acquireWantedSoon();
    });
  }

  /** Records that this process stored work for a webhook that it does not own but may be acquiring at the moment. */
  workAdded(webhookId: string): void {
    this.#workAddedMeanwhile?.add(webhookId);
  }

  /** Whether this worker recently acquired the webhook and could not serve it. */
  isUnservable(webhookId: string): boolean {
    const until = this.#unservable.get(webhookId);
    return until !== undefined && until > this.#options.clock.monotonicMs();
  }

  /**
   * Releases webhooks that the store may count as this worker's but that it does not serve. Called with every
   * heartbeat.
   */
  settleDoubts(): void {
    if (this.#options.clock.monotonicMs() < this.#failedMs + unsureMs) this.releaseUnowned();
  }

  /** Releases webhooks that this worker owns in the store but does not serve. */
  releaseUnowned(): void {
    void this.#work.run(() => this.#keepOnlyOwned());
  }

  // ---- by name ------------------------------------------------------------------------------------------------

  #acquireWantedSoon(): void {
    if (this.#wantedAlarm.isSet) return;
    const { clock, random, isBrought } = this.#options;
    const sinceMs = clock.monotonicMs() - this.#lastWantedMs;
    const delayMs = isBrought()
      ? Math.max(0, broughtPauseMs - sinceMs)
      : Math.max(random.uniform() * wantedJitterMs, wantedPauseMs - sinceMs);
    // While the store is unavailable, limits calls and log lines.
    const restMs = this.#failedMs + failedPauseMs - clock.monotonicMs();
    this.#wantedAlarm.set(Math.max(delayMs, restMs), () => {
      this.#lastWantedMs = clock.monotonicMs();
      this.#acquireWanted();
    });
  }

  #acquireWanted(): void {
    const waiting = [...this.#wanted.values()].flat();
    const wanted = [...this.#wanted.keys()];
    this.#wanted.clear();
    void this.#work
      .run(async () => {
        // Checked when the task runs, because an earlier call may have acquired or refused the same webhook.
        const ids = wanted.filter((id) => this.#mayAcquire(id));
        for (let from = 0; from < ids.length; from += acquireMax)
          await this.#acquire({ kind: "webhooks", ids: ids.slice(from, from + acquireMax) });
      })
      .then(() => {
        for (const resolve of waiting) resolve();
      });
  }

  #mayAcquire(webhookId: string): boolean {
    if (this.isUnservable(webhookId)) return false;
    const endpoint = this.#options.endpoint(webhookId);
    if (endpoint === undefined) return true;
    return !endpoint.owned && isQuiet(endpoint) && this.#options.poolOf(endpoint) === this.#options.pool;
  }

  // ---- by polling ---------------------------------------------------------------------------------------------

  async #poll(): Promise<void> {
    const { clock, random, isBrought } = this.#options;
    this.#pollPauseMs = pollMs;
    if (isBrought() && this.#after === null && clock.monotonicMs() - this.#lookedAtMs < pollRarelyMs) return;
    if (this.#after === null) this.#roundStartedMs = clock.monotonicMs();
    this.#lookedAtMs = clock.monotonicMs();
    const more = await this.#work.run(() => this.#acquireWork());
    // Limits the polling time, so that many lanes do not overload the store.
    const restMs = Math.max(pollMs, restFactor * (clock.monotonicMs() - this.#roundStartedMs));
    this.#pollPauseMs = more === true ? nextPageMs : restMs * (0.75 + random.uniform() / 2);
  }

  /**
   * Acquires webhooks from one page of the lanes with work. Returns true if the next page should be read immediately.
   */
  async #acquireWork(): Promise<boolean> {
    const after = this.#after;
    const { next, isFull } = await this.#acquire({ kind: "work", after, except: this.#exceptions() });
    // A full call may have left more work on the same page.
    this.#after = isFull ? after : next;
    return isFull || next !== null;
  }

  /**
   * Webhooks that must not be acquired: those that were dropped but are not quiet yet, because a request may be in
   * flight, and unservable ones.
   */
  #exceptions(): readonly string[] {
    const now = this.#options.clock.monotonicMs();
    for (const [id, until] of this.#unservable) if (until <= now) this.#unservable.delete(id);
    const busy: string[] = [];
    for (const endpoint of this.#options.endpoints()) {
      if (!endpoint.owned && !isQuiet(endpoint)) busy.push(endpoint.webhook.id);
    }
    return [...busy, ...this.#unservable.keys()];
  }

  // ---- bringing into service ----------------------------------------------------------------------------------

  async #acquire(
    from: AcquireRequest["from"],
  ): Promise<{ readonly next: string | null; readonly isFull: boolean }> {
    const { store, clock } = this.#options;
    const { worker } = this.#self;
    if (worker === null || this.#paused || !this.#self.holds()) return { next: null, isFull: false };
    this.#workAddedMeanwhile = new Set();
    try {
      const { webhooks, next } = await store.acquire({
        worker,
        from,
        limit: acquireMax,
        slack: acquireSlack,
      });
      // If the worker was reaped during the call, the acquired webhooks are unowned again.
      if (this.#self.worker === worker && webhooks.length > 0) await this.#serve(worker, webhooks);
      return { next, isFull: webhooks.length === acquireMax };
    } catch (error) {
      this.#failedMs = clock.monotonicMs();
      throw error;
    } finally {
      this.#workAddedMeanwhile = null;
    }
  }

  /**
   * Brings acquired webhooks into service in this order: load the webhooks, read the orders and the state published by
   * the last owner, mark the webhooks as owned, execute the orders, send. The worker number may have changed after each
   * wait; this process then owns none of the webhooks.
   */
  async #serve(worker: number, acquired: readonly AcquiredWebhook[]): Promise<void> {
    const { endpoint, owned, store, acquired: serving } = this.#options;
    await this.#loadUnknown(acquired.map(({ webhookId }) => webhookId));
    const known = acquired.map(({ webhookId }) => endpoint(webhookId));
    const [orders, recalled] = await Promise.all([store.orders({ worker }), owned.recall(known)]);
    if (this.#self.worker !== worker) return;
    const endpoints: Endpoint[] = [];
    const unservable: string[] = [];
    for (const webhook of acquired) {
      const found = endpoint(webhook.webhookId);
      if (found === undefined) unservable.push(webhook.webhookId);
      else {
        owned.acquire(found, webhook, recalled);
        endpoints.push(found);
      }
    }
    // Execute orders before sending, because an order may forbid sending.
    if (orders.length > 0) this.#options.follow(orders);
    for (const each of endpoints) {
      // The reply may be older than a commit of this process, and a process does not send hints to itself.
      if (this.#workAddedMeanwhile?.has(each.webhook.id) === true)
        for (const lane of each.lanes.values()) lane.markAllMore();
      serving(each);
    }
    if (unservable.length === 0) return;
    const until = this.#options.clock.monotonicMs() + unservableMs;
    for (const id of unservable) this.#unservable.set(id, until);
    await this.#keepOnlyOwned();
  }

  /**
   * A webhook that cannot be read, perhaps because a newer version wrote it, must not prevent the others from being
   * served.
   */
  async #loadUnknown(webhookIds: readonly string[]): Promise<void> {
    const { endpoint, load, telemetry } = this.#options;
    const unknown = webhookIds.filter((id) => endpoint(id) === undefined);
    if (unknown.length === 0) return;
    try {
      return await load(unknown);
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
    }
    for (const webhookId of unknown) {
      try {
        await load([webhookId]);
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error;
        telemetry.log.error(
          { webhookId, err: String(error) },
          "loading a webhook failed; it is left to other workers",
        );
      }
    }
  }

  async #keepOnlyOwned(): Promise<void> {
    const { store, owned } = this.#options;
    const { worker } = this.#self;
    if (worker !== null) await store.keepOnly(worker, owned.ids());
  }
}

/** Without hints, the maximum delay before unowned work is found. */
const pollMs = 1_000;
/** With a queue, the reannouncer is faster. This interval also covers an outage of the reannouncer. */
const pollRarelyMs = 30_000;
/** Between pages, webhooks named by hints and other workers get a turn. */
const nextPageMs = 20;
/** Limits polling to about a fifth of the time. */
const restFactor = 4;
/** Spreads the calls of workers that received hints about the same work, and batches webhooks. */
const wantedJitterMs = 20;
const wantedPauseMs = 100;
/** A queue sends a hint to a single worker, and no further hints until this one is acknowledged. */
const broughtPauseMs = 10;
const failedPauseMs = 1_000;
/** Limit per call, so that workers that start together each get some webhooks. */
const acquireMax = 32;
/** Allowed excess over an equal share. Less than the slack for releasing webhooks, to prevent oscillation. */
const acquireSlack = 1;
/**
 * How long an unservable webhook is not acquired again. Upkeep cancels the deliveries of a deleted webhook within about
 * this interval.
 */
const unservableMs = 60_000;
/**
 * How long `keepOnly` is repeated after a failure. Longer than a statement may take, and longer than a broken
 * connection may stay undetected.
 */
const unsureMs = 90_000;

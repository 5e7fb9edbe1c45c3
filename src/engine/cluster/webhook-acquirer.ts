import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  OwnershipStore,
  RuntimeOrder,
} from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Alarm } from "../../ports/timing/alarm.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { type OwnedEndpoints, isQuiet } from "./owned-endpoints.ts";
import type { SerialWork } from "./serial-work.ts";

export interface WebhookAcquirerOptions {
  readonly store: OwnershipStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly owned: OwnedEndpoints;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  readonly endpoints: () => Iterable<Endpoint>;
  /** Reads webhooks that are not known here yet. */
  readonly load: (webhookIds: readonly string[]) => Promise<void>;
  /** An endpoint was acquired and may have something to send. */
  readonly acquired: (endpoint: Endpoint) => void;
  /** Follows orders for endpoints that are owned. */
  readonly follow: (orders: readonly RuntimeOrder[]) => void;
  /** The pool that this worker belongs to, and the one that an endpoint belongs to now. */
  readonly pool: string;
  readonly poolOf: (endpoint: Endpoint) => string;
  /** Whether a queue brings hints of work without an owner now, so that looking for it is only a precaution. */
  readonly isBrought: () => boolean;
}

/** The worker that acquires. */
export interface AcquiringWorker {
  /** Its number; null while it has none. */
  readonly worker: number | null;
  holds(): boolean;
}

/**
 * Acquires webhooks that have work and no owner: those that a hint names, and those it finds by looking.
 *
 * If the reply to `acquire` is lost, the store counts the webhook as ours although we do not serve it; `keepOnly` frees
 * it. The same holds for a webhook that cannot be brought into service. After a failure `keepOnly` is called for as
 * long as a call that was given up may still arrive at the store.
 *
 * A round of looking goes over all lanes with work, a page at a time; between rounds it rests. A webhook that is named
 * meanwhile waits for the end of the page, not of the round.
 */
export class WebhookAcquirer {
  readonly #options: WebhookAcquirerOptions;
  readonly #self: AcquiringWorker;
  readonly #work: SerialWork;
  /** Webhooks to acquire, with the callers that wait for the attempt. */
  readonly #wanted = new Map<string, (() => void)[]>();
  /** Webhooks with work that cannot be served here: deleted ones, until upkeep has cancelled their deliveries. */
  readonly #unservable = new Map<string, number>();
  /** Webhooks with work that was stored since the running call asked which of their lanes have work. */
  #workAddedMeanwhile: Set<string> | null = null;
  readonly #wantedAlarm: Alarm;
  readonly #polls: Loop;
  /** Where the next page begins; null between two rounds. */
  #after: string | null = null;
  #roundStartedMs = 0;
  #pollPauseMs = pollMs;
  #lastWantedMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** When the store was last asked in vain, on the monotonic clock. */
  #failedMs = Number.NEGATIVE_INFINITY;
  #paused = false;

  constructor(
    options: WebhookAcquirerOptions,
    by: { readonly self: AcquiringWorker; readonly work: SerialWork },
  ) {
    this.#options = options;
    this.#self = by.self;
    this.#work = by.work;
    const { clock, telemetry } = options;
    this.#wantedAlarm = new Alarm(clock);
    this.#polls = new Loop({
      clock,
      round: () => this.#poll(),
      pauseMs: () => this.#pollPauseMs,
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "work without an owner was not looked for"),
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

  /** Looks at once for work that nobody serves: hints of it may be lost. */
  lookNow(): void {
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Tries to acquire a webhook, together with others that are wanted soon. Resolves after the attempt. */
  wanted(webhookId: string): Promise<void> {
    if (this.#paused) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#wanted.get(webhookId);
      if (waiting === undefined) this.#wanted.set(webhookId, [resolve]);
      else waiting.push(resolve);
      this.#acquireWantedSoon();
    });
  }

  /** This process stored work for a webhook that it does not own. It may be about to acquire the webhook. */
  workAdded(webhookId: string): void {
    this.#workAddedMeanwhile?.add(webhookId);
  }

  /** Whether this worker acquired the webhook a moment ago and could not serve it. */
  isUnservable(webhookId: string): boolean {
    const until = this.#unservable.get(webhookId);
    return until !== undefined && until > this.#options.clock.monotonicMs();
  }

  /** Frees webhooks that the store may count as this worker's and that it does not serve. Called at every heartbeat. */
  settleDoubts(): void {
    if (this.#options.clock.monotonicMs() < this.#failedMs + unsureMs) this.releaseUnowned();
  }

  /** Frees webhooks that the store counts as this worker's and that it does not serve. */
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
    // While the store is away, more calls and log lines than this help nobody.
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
        // Judged when its turn comes: an earlier call may have acquired or refused the same webhook.
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

  // ---- by looking ---------------------------------------------------------------------------------------------

  async #poll(): Promise<void> {
    const { clock, random, isBrought } = this.#options;
    this.#pollPauseMs = pollMs;
    if (isBrought() && this.#after === null && clock.monotonicMs() - this.#lookedAtMs < pollRarelyMs) return;
    if (this.#after === null) this.#roundStartedMs = clock.monotonicMs();
    this.#lookedAtMs = clock.monotonicMs();
    const more = await this.#work.run(() => this.#acquireWork());
    // Looking over very many lanes must not become all that the store does.
    const restMs = Math.max(pollMs, restFactor * (clock.monotonicMs() - this.#roundStartedMs));
    this.#pollPauseMs = more === true ? nextPageMs : restMs * (0.75 + random.uniform() / 2);
  }

  /** A page of the lanes that have work. True when the next one should be looked at right away. */
  async #acquireWork(): Promise<boolean> {
    const after = this.#after;
    const { next, isFull } = await this.#acquire({ kind: "work", after, except: this.#exceptions() });
    // There may be more on the same page.
    this.#after = isFull ? after : next;
    return isFull || next !== null;
  }

  /**
   * Webhooks not to acquire: those that were dropped and are not quiet, because a request may be on its way, and
   * unservable ones.
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
      // Reaped meanwhile: the acquired webhooks are free again.
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
   * Brings acquired webhooks into service. In this order: load the webhook, read the orders of people and the notes of
   * the last owner, own it, follow the orders, send. After each wait the worker may be another one, which acquired none
   * of them.
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
    // Before anything is sent: an order may forbid it.
    if (orders.length > 0) this.#options.follow(orders);
    for (const each of endpoints) {
      // The answer may be older than a commit of this process, and a process announces no work of its own webhooks.
      if (this.#workAddedMeanwhile?.has(each.webhook.id) === true)
        for (const lane of each.lanes.values()) lane.markAllMore();
      serving(each);
    }
    if (unservable.length === 0) return;
    const until = this.#options.clock.monotonicMs() + unservableMs;
    for (const id of unservable) this.#unservable.set(id, until);
    await this.#keepOnlyOwned();
  }

  /** One that cannot be read, perhaps because a newer version wrote it, must not keep the others from being served. */
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
          "a webhook cannot be read, so it is left to other workers",
        );
      }
    }
  }

  async #keepOnlyOwned(): Promise<void> {
    const { store, owned } = this.#options;
    const { worker } = this.#self;
    if (worker !== null) await store.keepOnly({ worker, webhookIds: owned.ids() });
  }
}

/** Without hints, this is how late work without an owner is found. */
const pollMs = 1_000;
/** With a queue the reannouncer is faster; this is for a reannouncer that is away as well. */
const pollRarelyMs = 30_000;
/** Webhooks that are named in between get their turn, and other workers theirs. */
const nextPageMs = 20;
/** About a fifth of the time is spent looking at most. */
const restFactor = 4;
/** Workers with a hint of the same work do not ask all at once, and each asks for many webhooks together. */
const wantedJitterMs = 20;
const wantedPauseMs = 100;
/** A hint from a queue goes to one worker alone, and the queue brings no more before this is answered. */
const broughtPauseMs = 10;
const failedPauseMs = 1_000;
/** Acquired at a time, so that workers that start together get some each. */
const acquireMax = 32;
/**
 * Above an equal share. Less than the slack that makes a worker release webhooks, so that webhooks do not ping-pong.
 */
const acquireSlack = 1;
/**
 * Upkeep cancels the deliveries of a deleted webhook within about this time; acquiring it before only repeats itself.
 */
const unservableMs = 60_000;
/** Longer than a statement may take and a connection may be cut. */
const unsureMs = 90_000;

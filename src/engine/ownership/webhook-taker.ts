import type { Clock, Timer } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  OwnershipStore,
  RuntimeOrder,
} from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint.ts";
import { type HeldEndpoints, isQuiet } from "./held-endpoints.ts";
import type { SerialWork } from "./serial-work.ts";

export interface WebhookTakerOptions {
  readonly store: OwnershipStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly held: HeldEndpoints;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  readonly endpoints: () => Iterable<Endpoint>;
  /** Reads webhooks that are not known here yet. */
  readonly load: (webhookIds: readonly string[]) => Promise<void>;
  /** An endpoint was taken and may have something to send. */
  readonly taken: (endpoint: Endpoint) => void;
  /** Follows orders for endpoints that are owned. */
  readonly follow: (orders: readonly RuntimeOrder[]) => void;
  /** The pool that this worker belongs to, and the one that an endpoint belongs to now. */
  readonly pool: string;
  readonly poolOf: (endpoint: Endpoint) => string;
  /** Whether work without an owner is brought here now, so that looking for it is only a precaution. */
  readonly isBrought: () => boolean;
}

/** The worker that takes. */
export interface TakingWorker {
  /** Its number; null while it has none. */
  readonly worker: number | null;
  holds(): boolean;
}

/**
 * Takes webhooks that have work and no owner: those that somebody names, and those it finds by looking.
 *
 * What the store gave and this process did not hear of, or could not take into service, nobody would serve while this
 * worker lives. So after a failure it gives back what it does not hold, for as long as a call that was given up may still
 * arrive at the store.
 *
 * A round of looking goes over all lanes with work, a page at a time; between rounds it rests. Who is named meanwhile does
 * not wait for the end of the round, only for the page.
 */
export class WebhookTaker {
  readonly #options: WebhookTakerOptions;
  readonly #self: TakingWorker;
  readonly #work: SerialWork;
  /** Webhooks to take, with those who wait for the attempt. */
  readonly #wanted = new Map<string, (() => void)[]>();
  /** Webhooks with work that cannot be served here: deleted ones, until upkeep has cancelled what waits. */
  readonly #strangers = new Map<string, number>();
  /** Webhooks for which something was left since the running call asked which of their lanes have work. */
  #leftMeanwhile: Set<string> | null = null;
  readonly #timers = new Map<"poll" | "wanted", Timer>();
  /** Where the next page begins; null between two rounds. */
  #after: string | null = null;
  #roundStartedMs = 0;
  #lastWantedMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** When the store was last asked in vain, on the monotonic clock. */
  #failedMs = Number.NEGATIVE_INFINITY;
  #paused = false;

  constructor(options: WebhookTakerOptions, by: { readonly self: TakingWorker; readonly work: SerialWork }) {
    this.#options = options;
    this.#self = by.self;
    this.#work = by.work;
  }

  start(): void {
    this.#later("poll", 0, () => this.#poll());
  }

  pause(): void {
    this.#paused = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    for (const resolve of [...this.#wanted.values()].flat()) resolve();
    this.#wanted.clear();
  }

  /** Looks at once for work that nobody serves: some of it may never be brought. */
  lookNow(): void {
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Tries to take a webhook, together with others that are wanted soon. Resolves after the attempt. */
  wanted(webhookId: string): Promise<void> {
    if (this.#paused) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#wanted.get(webhookId);
      if (waiting === undefined) this.#wanted.set(webhookId, [resolve]);
      else waiting.push(resolve);
      this.#takeWantedSoon();
    });
  }

  /** This process left something for a webhook that it does not own. It may be about to. */
  left(webhookId: string): void {
    this.#leftMeanwhile?.add(webhookId);
  }

  /** Whether it was given the webhook a moment ago and could not serve it. */
  isStranger(webhookId: string): boolean {
    const until = this.#strangers.get(webhookId);
    return until !== undefined && until > this.#options.clock.monotonicMs();
  }

  /** Gives back what the store may believe to be served here and is not. Asked at every beat. */
  settleDoubts(): void {
    if (this.#options.clock.monotonicMs() >= this.#failedMs + unsureMs) return;
    void this.#work.run(() => this.#keepOnlyHeld());
  }

  // ---- by name ------------------------------------------------------------------------------------------------

  #takeWantedSoon(): void {
    if (this.#timers.has("wanted")) return;
    const { clock, random, isBrought } = this.#options;
    const sinceMs = clock.monotonicMs() - this.#lastWantedMs;
    const delayMs = isBrought()
      ? Math.max(0, broughtPauseMs - sinceMs)
      : Math.max(random.uniform() * wantedJitterMs, wantedPauseMs - sinceMs);
    // While the store is away nobody is helped by more calls and log lines than this.
    const restMs = this.#failedMs + failedPauseMs - clock.monotonicMs();
    this.#later("wanted", Math.max(delayMs, restMs), () => {
      this.#lastWantedMs = clock.monotonicMs();
      this.#takeWanted();
    });
  }

  #takeWanted(): void {
    const waiting = [...this.#wanted.values()].flat();
    const wanted = [...this.#wanted.keys()];
    this.#wanted.clear();
    void this.#work
      .run(async () => {
        // Judged when its turn comes: what ran before it may have taken or refused the same.
        const ids = wanted.filter((id) => this.#mayTake(id));
        for (let from = 0; from < ids.length; from += acquireMax)
          await this.#acquire({ kind: "webhooks", ids: ids.slice(from, from + acquireMax) });
      })
      .then(() => {
        for (const resolve of waiting) resolve();
      });
  }

  #mayTake(webhookId: string): boolean {
    if (this.isStranger(webhookId)) return false;
    const endpoint = this.#options.endpoint(webhookId);
    if (endpoint === undefined) return true;
    return !endpoint.owned && isQuiet(endpoint) && this.#options.poolOf(endpoint) === this.#options.pool;
  }

  // ---- by looking ---------------------------------------------------------------------------------------------

  #poll(): void {
    const { clock, random, isBrought } = this.#options;
    if (isBrought() && this.#after === null && clock.monotonicMs() - this.#lookedAtMs < pollRarelyMs)
      return this.#later("poll", pollMs, () => this.#poll());
    if (this.#after === null) this.#roundStartedMs = clock.monotonicMs();
    this.#lookedAtMs = clock.monotonicMs();
    void this.#work
      .run(() => this.#takeWork())
      .then((more) => {
        // Looking over very many lanes must not become all that the store does.
        const restMs = Math.max(pollMs, restFactor * (clock.monotonicMs() - this.#roundStartedMs));
        const delayMs = more === true ? nextPageMs : restMs * (0.75 + random.uniform() / 2);
        this.#later("poll", delayMs, () => this.#poll());
      });
  }

  /** A page of the lanes that have work. True when the next one should be looked at right away. */
  async #takeWork(): Promise<boolean> {
    const after = this.#after;
    const { next, isFull } = await this.#acquire({ kind: "work", after, except: this.#exceptions() });
    // There may be more on the same page.
    this.#after = isFull ? after : next;
    return isFull || next !== null;
  }

  /**
   * What it may not be given: webhooks that it just gave up and that are not quiet, of which a request may be on its way, and
   * those that it could not serve.
   */
  #exceptions(): readonly string[] {
    const now = this.#options.clock.monotonicMs();
    for (const [id, until] of this.#strangers) if (until <= now) this.#strangers.delete(id);
    const busy: string[] = [];
    for (const endpoint of this.#options.endpoints()) {
      if (!endpoint.owned && !isQuiet(endpoint)) busy.push(endpoint.webhook.id);
    }
    return [...busy, ...this.#strangers.keys()];
  }

  // ---- taking into service ------------------------------------------------------------------------------------

  async #acquire(
    from: AcquireRequest["from"],
  ): Promise<{ readonly next: string | null; readonly isFull: boolean }> {
    const { store, clock } = this.#options;
    const { worker } = this.#self;
    if (worker === null || this.#paused || !this.#self.holds()) return { next: null, isFull: false };
    this.#leftMeanwhile = new Set();
    try {
      const { webhooks, next } = await store.acquire({
        worker,
        from,
        limit: acquireMax,
        slack: acquireSlack,
      });
      // Reaped meanwhile: what the call took is free again.
      if (this.#self.worker === worker && webhooks.length > 0) await this.#take(worker, webhooks);
      return { next, isFull: webhooks.length === acquireMax };
    } catch (error) {
      this.#failedMs = clock.monotonicMs();
      throw error;
    } finally {
      this.#leftMeanwhile = null;
    }
  }

  /**
   * Brings what the store gave into service. In this order: know the webhook, hear what people and the last owner left, own
   * it, follow the orders, send. After each wait the worker may be another one, to whom nothing of this was given.
   */
  async #take(worker: number, acquired: readonly AcquiredWebhook[]): Promise<void> {
    const { endpoint, held, store, taken } = this.#options;
    await this.#loadUnknown(acquired.map(({ webhookId }) => webhookId));
    const known = acquired.map(({ webhookId }) => endpoint(webhookId));
    const [orders, recalled] = await Promise.all([store.orders({ worker }), held.recall(known)]);
    if (this.#self.worker !== worker) return;
    const endpoints: Endpoint[] = [];
    const strangers: string[] = [];
    for (const webhook of acquired) {
      const found = endpoint(webhook.webhookId);
      if (found === undefined) strangers.push(webhook.webhookId);
      else {
        held.take(found, webhook, recalled);
        endpoints.push(found);
      }
    }
    // Before anything is sent: an order may forbid it.
    if (orders.length > 0) this.#options.follow(orders);
    for (const each of endpoints) {
      // The answer may be older than what this process committed meanwhile, and what it owns it announces to nobody.
      if (this.#leftMeanwhile?.has(each.webhook.id) === true)
        for (const lane of each.lanes.values()) lane.markAllMore();
      taken(each);
    }
    if (strangers.length === 0) return;
    const until = this.#options.clock.monotonicMs() + strangerMs;
    for (const id of strangers) this.#strangers.set(id, until);
    await this.#keepOnlyHeld();
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

  async #keepOnlyHeld(): Promise<void> {
    const { store, held } = this.#options;
    const { worker } = this.#self;
    if (worker !== null) await store.keepOnly({ worker, webhookIds: held.ids() });
  }

  #later(name: "poll" | "wanted", delayMs: number, work: () => void): void {
    if (this.#paused) return;
    this.#timers.get(name)?.cancel();
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(name);
      work();
    });
    this.#timers.set(name, timer);
  }
}

/** Without anybody who brings it, this is how late work without an owner is found. */
const pollMs = 1_000;
/** Where a queue brings it, the sweeper is faster; this is for a sweeper that is away as well. */
const pollRarelyMs = 30_000;
/** What is named in between gets its turn, and other workers theirs. */
const nextPageMs = 20;
/** About a fifth of the time is spent looking at most. */
const restFactor = 4;
/** Workers that hear of the same work do not ask all at once, and each asks for many webhooks together. */
const wantedJitterMs = 20;
const wantedPauseMs = 100;
/** What a queue brings comes to one worker alone, and no more of it before this is answered. */
const broughtPauseMs = 10;
const failedPauseMs = 1_000;
/** Taken at a time, so that workers that start together get some each. */
const acquireMax = 32;
/** Above an equal share. Less than what makes a worker give webhooks back, so that none goes to and fro. */
const acquireSlack = 1;
/** Upkeep cancels what waits for a deleted webhook within about this time; asking before only gets it again. */
const strangerMs = 60_000;
/** Longer than a statement may take and a connection may be cut. */
const unsureMs = 90_000;

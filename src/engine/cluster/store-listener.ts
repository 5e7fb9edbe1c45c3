import type { LaneKey } from "../../domain/webhook.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { ConfigChange, StoreChange, StoreChanges } from "../../ports/store/changes.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { Wakeups } from "../endpoint/wakeups.ts";
import type { ConfigSync } from "./config-sync.ts";

export interface StoreListenerOptions {
  readonly store: Pick<Store, "changes" | "deliveries">;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  readonly wakeups: Wakeups;
  readonly sync: ConfigSync;
  /** Whether this process delivers; other processes only need configuration. */
  readonly delivers: boolean;
  /** A source of changes in addition to the store. It announces only configuration, not work. */
  readonly news: StoreChanges | undefined;
  /** Whether a queue delivers hints now, so that polling is only a precaution. */
  readonly isBrought: () => boolean;
  /** Whether a queue is configured. Even if it is unavailable here, other processes may still send to it. */
  readonly hasQueue: boolean;
  readonly consider: (lane: Lane) => void;
  /** Resolves once this worker has tried to acquire the webhook. */
  readonly wanted: (webhookId: string) => Promise<void>;
  readonly ordered: () => void;
}

/**
 * Receives hints about work from other processes, and polls. It polls rarely if hints arrive, and often if a
 * connection pooler does not forward them or while the queue for hints is unavailable.
 *
 * It finds work of webhooks that this worker already owns. WebhookAcquirer finds work of webhooks without an owner,
 * with a statement that also acquires them.
 */
export class StoreListener {
  readonly #options: StoreListenerOptions;
  readonly #unsubscribe: (() => void)[] = [];
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  /** Time of an additional poll, outside the regular interval. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  readonly #loop: Loop;

  constructor(options: StoreListenerOptions) {
    const { clock, telemetry } = options;
    this.#options = options;
    this.#loop = new Loop({
      clock,
      round: () => this.#lookIfDue(),
      pauseMs: () => lookOftenMs,
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "reading lanes with work failed; retrying later"),
    });
  }

  start(): void {
    const { store, news } = this.#options;
    this.#listen(store.changes, (silentMs) => this.#missed(silentMs));
    this.#listen(news, () => void this.#options.sync.reloadAll());
    if (this.#options.delivers) this.#loop.start();
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    await this.#loop.stop();
  }

  /** `missed` is called if changes from the source may have been lost. */
  #listen(source: StoreChanges | undefined, missed: (silentMs: number | undefined) => void): void {
    if (source !== undefined)
      this.#unsubscribe.push(source.subscribe((change) => this.#heard(change, missed)));
  }

  #heard(change: StoreChange, missed: (silentMs: number | undefined) => void): void {
    if (change.kind === "lanes") this.#lanes(change.lanes);
    else if (change.kind === "config") this.#config(change.change);
    else missed(change.silentMs);
  }

  #missed(silentMs: number | undefined): void {
    if (silentMs !== undefined)
      this.#options.telemetry.log.warn(
        { silentMs: Math.round(silentMs) },
        "no announcements of other processes received, as after a failover; subscribing again and checking everything",
      );
    void this.#options.sync.reloadAll();
    void this.lookEverywhere();
  }

  #lanes(keys: readonly LaneKey[]): void {
    const { delivers, wanted } = this.#options;
    if (!delivers) return;
    for (const key of keys) {
      // A webhook that is unknown here was just created, and its owner loads it. If this worker was acquiring the
      // webhook while the work was being stored, it may have missed the work, so the lane is checked again afterwards.
      if (!this.#look(key)) void wanted(key.webhookId).then(() => this.#look(key));
    }
  }

  /** Returns false if the webhook is not served here. */
  #look(key: LaneKey): boolean {
    const endpoint = this.#options.directory.get(key.webhookId);
    if (endpoint?.owned !== true) return false;
    this.lookInto(endpoint.lane(key));
    return true;
  }

  /**
   * The head of a sleeping ordered lane may have changed. Checks at most once a second, regardless of how much is
   * published.
   */
  lookInto(lane: Lane): void {
    const { clock, consider, wakeups } = this.#options;
    lane.markAllMore();
    if (lane.ordered && lane.wakeAt !== null) wakeups.at(lane, clock.now() + headLookMs);
    else consider(lane);
  }

  #config(change: ConfigChange): void {
    const { sync, ordered } = this.#options;
    if (change.kind === "webhooks") this.#guard(sync.load(change.webhookIds));
    if (change.kind === "tenant_keys") this.#guard(sync.loadTenantKeys(change.tenantIds));
    if (change.kind === "orders") ordered();
  }

  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.telemetry.log.warn(
        { err: String(error) },
        "loading a change of another process failed; the next reload will find it",
      );
    });
  }

  /** Schedules an additional poll, to find work whose hint may be lost before then. */
  lookSoon(): void {
    this.#dueAtMs = this.#options.clock.monotonicMs() + lookSoonMs;
  }

  async #lookIfDue(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    // Limits the polling time, so that many lanes do not overload the store.
    const periodMs = Math.max(this.#periodMs(), restFactor * this.#tookMs);
    if (nowMs >= this.#dueAtMs || nowMs - this.#lookedAtMs >= periodMs) await this.#lookIntoAll();
  }

  #periodMs(): number {
    const { store, isBrought, hasQueue } = this.#options;
    const isNotified = hasQueue ? isBrought() : store.changes?.carriesWork === true;
    return isNotified ? lookRarelyMs : lookOftenMs;
  }

  /**
   * Checks every lane that has work and whose endpoint is served here. Reads lane names, not deliveries. Never rejects.
   * Calls that arrive during a round share one further round.
   */
  lookEverywhere(): Promise<void> {
    if (!this.#options.delivers) return Promise.resolve();
    this.#dueAtMs = Number.NEGATIVE_INFINITY;
    return this.#loop.run();
  }

  async #lookIntoAll(): Promise<void> {
    const { store, clock } = this.#options;
    this.#lookedAtMs = clock.monotonicMs();
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    try {
      for (let after: string | null = null; !this.#loop.isStopped; ) {
        const page = await store.deliveries.lanesWithWork(after, lanesPage);
        for (const key of page.lanes) this.#look(key);
        if (page.next === null) break;
        after = page.next;
      }
    } finally {
      this.#tookMs = clock.monotonicMs() - this.#lookedAtMs;
    }
  }
}

/** An ordered lane sleeps until its head is due, and later publishes do not each need a claim. */
const headLookMs = 1_000;
/** Without hints, the maximum delay before work of other processes is found. */
const lookOftenMs = 1_000;
/** With hints, the maximum delay of work whose hint was lost. */
const lookRarelyMs = 30_000;
/** Hints to a new worker number are lost until its queue is declared and bound, which takes a moment. */
const lookSoonMs = 2_000;
/** Limits polling to a quarter of the time. */
const restFactor = 4;
/** Keeps statements short, because deliveries use the same connections. */
const lanesPage = 500;

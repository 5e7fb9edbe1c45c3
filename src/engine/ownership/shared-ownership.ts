import type { Clock, Timer } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  Beat,
  OwnershipStore,
  RuntimeOrder,
} from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint.ts";
import { handoverOf, type HeldEndpoints, isQuiet } from "./held-endpoints.ts";
import { SerialWork } from "./serial-work.ts";

export interface SharedOwnershipOptions {
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
  /** Sending may go on. */
  readonly resumed: () => void;
  /** So many workers are alive, this one included. */
  readonly workers: (count: number) => void;
}

/**
 * A worker among others: it stays alive with a beat, takes webhooks that have work and no owner, and gives back what is
 * idle or more than its share.
 *
 * It sends only while its own monotonic clock proves that no other worker may have been given what it owns: `aliveMs`
 * from before the last beat went out, less a margin. A process that was paused for longer finds that out before it sends
 * anything. When the store says that it was reaped, it forgets all it owned and joins as a new worker.
 */
export class SharedOwnership {
  readonly #options: SharedOwnershipOptions;
  readonly #work: SerialWork;
  readonly #wanted = new Set<string>();
  /** Webhooks with work that do not exist here: deleted ones, until upkeep has cancelled what waits. */
  readonly #strangers = new Map<string, number>();
  readonly #timers = new Map<"beat" | "poll" | "wanted" | "leaving", Timer>();
  #worker: number | null = null;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #others: Beat = { workers: 1, owned: 0 };
  #after: string | null = null;
  #sweepStartedMs = 0;
  #lastWantedMs = Number.NEGATIVE_INFINITY;
  #joining = false;
  #paused = false;
  #left = false;

  constructor(options: SharedOwnershipOptions) {
    this.#options = options;
    this.#work = new SerialWork((error) => {
      options.telemetry.log.warn(
        { err: String(error) },
        "ownership of webhooks: a call failed; trying again",
      );
    });
  }

  /** The number of this worker; null before it joined and after it was reaped. */
  get worker(): number | null {
    return this.#worker;
  }

  holds(): boolean {
    return this.#options.clock.monotonicMs() < this.#heldUntilMs;
  }

  async start(): Promise<void> {
    await this.#beat();
    this.#later("poll", 0, () => this.#poll());
  }

  wanted(webhookId: string): void {
    if (this.#paused) return;
    this.#wanted.add(webhookId);
    if (this.#timers.has("wanted")) return;
    const { clock, random } = this.#options;
    const sinceMs = clock.monotonicMs() - this.#lastWantedMs;
    this.#later("wanted", Math.max(random.uniform() * wantedJitterMs, wantedPauseMs - sinceMs), () => {
      this.#lastWantedMs = clock.monotonicMs();
      this.#takeWanted();
    });
  }

  /** Orders were left for something that this worker may own. */
  ordered(): void {
    void this.#work.run(async () => {
      const worker = this.#worker;
      if (worker !== null && this.#options.held.size > 0) await this.#follow(worker);
    });
  }

  pause(): void {
    this.#paused = true;
    for (const name of ["poll", "wanted"] as const) this.#cancel(name);
  }

  /** Gives everything back, also what is not quiet: its leases were given back before. */
  async leave(): Promise<void> {
    this.pause();
    this.#left = true;
    for (const name of ["beat", "leaving"] as const) this.#cancel(name);
    const { held, store } = this.#options;
    await this.#work.run(async () => {
      const worker = this.#worker;
      if (worker === null) return;
      this.#worker = null;
      this.#heldUntilMs = Number.NEGATIVE_INFINITY;
      for (const endpoint of held.all()) held.drop(endpoint);
      const webhooks = [...held.leaving].map(handoverOf);
      held.leaving.clear();
      if (webhooks.length > 0) await store.release({ worker, webhooks });
      await store.leave(worker);
    });
  }

  // ---- staying alive ------------------------------------------------------------------------------------------

  /** The next one goes out in time also when this one hangs. */
  async #beat(): Promise<void> {
    this.#later("beat", beatMs, () => void this.#beat());
    try {
      await (this.#worker === null ? this.#join() : this.#prolong(this.#worker));
    } catch (error) {
      this.#options.telemetry.log.warn(
        { err: String(error) },
        "the store did not hear that this worker lives; trying again",
      );
    }
  }

  async #join(): Promise<void> {
    if (this.#joining) return;
    this.#joining = true;
    const { store, clock, telemetry } = this.#options;
    try {
      const sentAt = clock.monotonicMs();
      const worker = await store.join({ aliveMs });
      this.#worker = worker;
      this.#hold(sentAt);
      telemetry.log.info({ worker }, "joined the workers of the store");
      // Who else is there decides about its part of what all share.
      await this.#prolong(worker);
    } finally {
      this.#joining = false;
    }
  }

  async #prolong(worker: number): Promise<void> {
    const { store, clock } = this.#options;
    const sentAt = clock.monotonicMs();
    const beat = await store.beat({ worker, aliveMs });
    if (this.#worker !== worker) return;
    if (beat === null) {
      this.#reaped(worker);
      return this.#join();
    }
    this.#others = beat;
    this.#options.workers(Math.max(1, beat.workers));
    this.#hold(sentAt);
    this.ordered();
    this.#giveBackSpare();
  }

  #hold(sentAtMs: number): void {
    const held = this.holds();
    this.#heldUntilMs = Math.max(this.#heldUntilMs, sentAtMs + aliveMs - marginMs);
    if (!held && this.holds()) this.#options.resumed();
  }

  #reaped(worker: number): void {
    const { held, telemetry } = this.#options;
    telemetry.log.warn(
      { worker, webhooks: held.size },
      "this worker was away for too long; others serve its webhooks now",
    );
    this.#worker = null;
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    held.loseAll();
  }

  // ---- taking -------------------------------------------------------------------------------------------------

  #poll(): void {
    const { clock, random } = this.#options;
    if (this.#after === null) this.#sweepStartedMs = clock.monotonicMs();
    void this.#work
      .run(() => this.#takeWork())
      .then((more) => {
        // Looking over very many lanes must not become all that the store does.
        const restMs = Math.max(pollMs, restFactor * (clock.monotonicMs() - this.#sweepStartedMs));
        const delayMs = more === true ? nextPageMs : restMs * (0.75 + random.uniform() / 2);
        this.#later("poll", delayMs, () => this.#poll());
      });
  }

  /** A page of the lanes that have work. True when the next one should be looked at right away. */
  async #takeWork(): Promise<boolean> {
    const after = this.#after;
    this.#after = await this.#acquire({ kind: "work", after, except: this.#exceptions() });
    return this.#after !== null;
  }

  #takeWanted(): void {
    const ids = [...this.#wanted].filter((id) => {
      const endpoint = this.#options.endpoint(id);
      return endpoint === undefined || (!endpoint.owned && isQuiet(endpoint));
    });
    this.#wanted.clear();
    if (ids.length > 0) void this.#work.run(() => this.#acquire({ kind: "webhooks", ids }));
  }

  async #acquire(from: AcquireRequest["from"]): Promise<string | null> {
    const worker = this.#worker;
    if (worker === null || this.#paused || !this.holds()) return null;
    const { webhooks, next } = await this.#options.store.acquire({
      worker,
      from,
      limit: acquireMax,
      slack: acquireSlack,
    });
    // Reaped meanwhile: what the call took is free again.
    if (this.#worker === worker && webhooks.length > 0) await this.#take(worker, webhooks);
    return next;
  }

  async #take(worker: number, acquired: readonly AcquiredWebhook[]): Promise<void> {
    const { endpoint, held, load, store, taken } = this.#options;
    const unknown = acquired.filter(({ webhookId }) => endpoint(webhookId) === undefined);
    if (unknown.length > 0) await load(unknown.map(({ webhookId }) => webhookId));
    const orders = await store.orders({ worker });
    if (this.#worker !== worker) return;
    const endpoints: Endpoint[] = [];
    const strangers: string[] = [];
    for (const webhook of acquired) {
      const found = endpoint(webhook.webhookId);
      if (found === undefined) strangers.push(webhook.webhookId);
      else {
        held.take(found, webhook);
        endpoints.push(found);
      }
    }
    // Before anything is sent: an order may forbid it.
    if (orders.length > 0) this.#options.follow(orders);
    for (const each of endpoints) taken(each);
    if (strangers.length === 0) return;
    const until = this.#options.clock.monotonicMs() + strangerMs;
    for (const id of strangers) this.#strangers.set(id, until);
    await store.release({ worker, webhooks: strangers.map((id) => blankHandover(id)) });
  }

  async #follow(worker: number): Promise<void> {
    const orders = await this.#options.store.orders({ worker });
    if (orders.length > 0) this.#options.follow(orders);
  }

  #exceptions(): readonly string[] {
    const now = this.#options.clock.monotonicMs();
    for (const [id, until] of this.#strangers) if (until <= now) this.#strangers.delete(id);
    const busy: string[] = [];
    for (const endpoint of this.#options.endpoints()) {
      if (!endpoint.owned && !isQuiet(endpoint)) busy.push(endpoint.webhook.id);
    }
    return [...busy, ...this.#strangers.keys()];
  }

  // ---- giving back --------------------------------------------------------------------------------------------

  #giveBackSpare(): void {
    const { held, endpoint: known } = this.#options;
    for (const endpoint of held.all()) if (known(endpoint.webhook.id) !== endpoint) held.drop(endpoint);
    for (const endpoint of held.idleFor(idleMs)) held.drop(endpoint);
    const { workers, owned } = this.#others;
    const share = Math.ceil(owned / Math.max(workers, 1));
    const slack = Math.max(releaseSlackMin, Math.ceil(share / 5));
    if (workers > 1 && held.size > share + slack)
      for (const endpoint of held.toGiveUp(held.size - share)) held.drop(endpoint);
    this.#letGo();
  }

  /** Gives back what is quiet, and looks again while something is not. */
  #letGo(): void {
    const { held } = this.#options;
    if (held.leaving.size === 0 || this.#timers.has("leaving")) return;
    this.#later("leaving", leavingMs, () => {
      void this.#work.run(() => this.#releaseQuiet()).then(() => this.#letGo());
    });
  }

  async #releaseQuiet(): Promise<void> {
    const { held, store } = this.#options;
    const quiet = held.readyToLeave();
    if (quiet.length === 0 || this.#worker === null) return;
    await store.release({ worker: this.#worker, webhooks: quiet.map(handoverOf) });
    for (const endpoint of quiet) {
      held.leaving.delete(endpoint);
      endpoint.fence = null;
    }
  }

  #later(name: "beat" | "poll" | "wanted" | "leaving", delayMs: number, work: () => void): void {
    if (this.#left || (this.#paused && (name === "poll" || name === "wanted"))) return;
    this.#timers.get(name)?.cancel();
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(name);
      work();
    });
    this.#timers.set(name, timer);
  }

  #cancel(name: "beat" | "poll" | "wanted" | "leaving"): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }
}

function blankHandover(webhookId: string): Parameters<OwnershipStore["release"]>[0]["webhooks"][number] {
  const state = { pausedUntil: null, pauseReason: null, lastSuccessAt: null, circuit: null, health: null };
  return { state: { webhookId, ...state }, rateFullAt: null };
}

/** How long a worker lives from one beat; so long its webhooks stand still when it dies. */
const aliveMs = 15_000;
const beatMs = 3_000;
/** Between the last moment at which this worker sends and the first at which another one may. */
const marginMs = 1_000;
const pollMs = 1_000;
const nextPageMs = 20;
const restFactor = 4;
/** Workers that hear of the same work do not ask all at once, and each asks for many webhooks together. */
const wantedJitterMs = 20;
const wantedPauseMs = 100;
/** Taken at a time, so that workers that start together get some each. */
const acquireMax = 32;
const acquireSlack = 1;
/** Further above its share a worker gives webhooks up. More than for taking, so that none goes to and fro. */
const releaseSlackMin = 2;
const idleMs = 30_000;
const leavingMs = 50;
const strangerMs = 60_000;

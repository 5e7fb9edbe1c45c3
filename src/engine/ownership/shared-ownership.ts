import type { Clock, Timer } from "../../ports/clock.ts";
import type { Beat } from "../../ports/store/ownership.ts";
import { handoverOf } from "./held-endpoints.ts";
import { SerialWork } from "./serial-work.ts";
import { WebhookTaker, type WebhookTakerOptions } from "./webhook-taker.ts";

export interface SharedOwnershipOptions extends WebhookTakerOptions {
  /** Sending may go on. */
  readonly resumed: () => void;
  /** So many workers of the pool are alive, this one included. */
  readonly workers: (count: number) => void;
  /** This worker has another number, or none. */
  readonly renamed: (worker: number | null) => void;
}

/**
 * A worker among others: it stays alive with a beat, takes webhooks that have work and no owner, and gives back what is
 * idle or more than its share.
 *
 * It sends only while its own monotonic clock proves that no other worker may have been given what it owns: `aliveMs`
 * from before the last beat went out, less a margin. A process that was paused for longer finds that out before it sends
 * anything. That clock may stand still while a machine sleeps, so the wall clock must not be beyond that time either; one
 * that is set forward costs a pause until the next beat. When the store says that it was reaped, it forgets all it owned
 * and joins as a new worker. The states are drawn in docs/state-machine.md, "Worker".
 *
 *   0 s        3        6    …            14          15                     18 at most
 *   beat sent  next one                   sends       may be reaped by       the beat of another
 *                                         nothing     whoever beats next     worker has done so
 *
 * What is on its way at that moment cannot be called back. Its settlement has an old fence and is refused, and the new owner
 * sends it once more under the same key: delivery is at least once.
 */
export class SharedOwnership {
  readonly #options: SharedOwnershipOptions;
  readonly #work: SerialWork;
  readonly #taker: WebhookTaker;
  readonly #timers = new Map<"beat" | "leaving", Timer>();
  #worker: number | null = null;
  /** Until then nobody else can have been given what this worker owns. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The same on the wall clock. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** What the last beat told of the pool, this worker included. */
  #pool: Beat = { workers: 1, owned: 0 };
  #joining = false;
  #paused = false;
  #hasLeft = false;

  constructor(options: SharedOwnershipOptions) {
    this.#options = options;
    this.#work = new SerialWork((error) => {
      options.telemetry.log.warn(
        { err: String(error) },
        "ownership of webhooks: a call failed; trying again",
      );
    });
    this.#taker = new WebhookTaker(options, { self: this, work: this.#work });
  }

  /** The number of this worker; null before it joined and after it was reaped. */
  get worker(): number | null {
    return this.#worker;
  }

  holds(): boolean {
    const { clock } = this.#options;
    return clock.monotonicMs() < this.#heldUntilMs && clock.now() < this.#heldUntil;
  }

  async start(): Promise<void> {
    await this.#beat();
    this.#taker.start();
  }

  /** Tries to take a webhook, together with others that are wanted soon. Resolves after the attempt. */
  wanted(webhookId: string): Promise<void> {
    return this.#taker.wanted(webhookId);
  }

  /** This process left something for a webhook that it does not own. It may be about to. */
  leftFor(webhookId: string): void {
    this.#taker.left(webhookId);
  }

  /** Whether it was given the webhook a moment ago and could not serve it, because it was deleted. */
  isStranger(webhookId: string): boolean {
    return this.#taker.isStranger(webhookId);
  }

  /** Looks at once for work that nobody serves: some of it may never be brought. */
  lookNow(): void {
    this.#taker.lookNow();
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
    this.#taker.pause();
  }

  /** While the last requests are waited for, others serve what is quiet, and the rest as soon as it is. */
  retire(): void {
    void this.#work.run(async () => {
      const { held, store } = this.#options;
      for (const endpoint of held.all()) held.drop(endpoint);
      if (this.#worker === null) return;
      await store.retire(this.#worker);
      await this.#releaseQuiet();
      this.#letGo(leavingMs);
    });
  }

  /** Gives everything back, also what is not quiet: its leases were given back before. */
  async leave(): Promise<void> {
    this.pause();
    this.#hasLeft = true;
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

  /**
   * The next one goes out in time also when this one hangs. Not in the queue of `#work`: a call that hangs there must not
   * let the worker die.
   */
  async #beat(): Promise<void> {
    this.#later("beat", beatMs, () => void this.#beat());
    try {
      if (this.#worker !== null) await this.#prolong(this.#worker);
      else if (!this.#paused) await this.#join();
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
      const sentAt = timeOf(clock);
      const worker = await store.join({ aliveMs, pool: this.#options.pool });
      this.#worker = worker;
      this.#options.renamed(worker);
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
    const sentAt = timeOf(clock);
    const beat = await store.beat({ worker, aliveMs });
    if (this.#worker !== worker) return;
    if (beat === null) {
      this.#reaped(worker);
      return this.#paused ? undefined : this.#join();
    }
    this.#pool = beat;
    this.#options.workers(Math.max(1, beat.workers));
    this.#hold(sentAt);
    this.ordered();
    this.#taker.settleDoubts();
    this.#giveBackSpare();
  }

  /** Counts from before the beat went out, because the store's own count can only have begun later. */
  #hold(sentAt: { readonly monotonicMs: number; readonly wall: number }): void {
    const held = this.holds();
    // An answer may overtake a later one; what that one proved holds.
    const untilMs = sentAt.monotonicMs + aliveMs - marginMs;
    if (untilMs > this.#heldUntilMs) {
      this.#heldUntilMs = untilMs;
      this.#heldUntil = sentAt.wall + aliveMs - marginMs;
    }
    if (!held && this.holds()) this.#options.resumed();
  }

  #reaped(worker: number): void {
    const { held, telemetry } = this.#options;
    telemetry.log.warn(
      { worker, webhooks: held.size },
      "this worker was away for too long; others serve its webhooks now",
    );
    this.#worker = null;
    this.#options.renamed(null);
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    held.loseAll();
  }

  async #follow(worker: number): Promise<void> {
    const orders = await this.#options.store.orders({ worker });
    if (orders.length > 0) this.#options.follow(orders);
  }

  // ---- giving back --------------------------------------------------------------------------------------------

  /** What is gone or moved to another pool, what is idle, and what is more than an equal share of the pool's webhooks. */
  #giveBackSpare(): void {
    const { held, endpoint: known, pool, poolOf } = this.#options;
    for (const endpoint of held.all())
      if (known(endpoint.webhook.id) !== endpoint || poolOf(endpoint) !== pool) held.drop(endpoint);
    for (const endpoint of held.idleFor(idleMs)) held.drop(endpoint);
    const { workers, owned } = this.#pool;
    const share = Math.ceil(owned / Math.max(workers, 1));
    const slack = Math.max(releaseSlackMin, Math.ceil(share / 5));
    if (workers > 1 && held.size > share + slack)
      for (const endpoint of held.toGiveUp(held.size - share)) held.drop(endpoint);
    this.#letGo(leavingMs);
  }

  /** Gives back what is quiet, and looks again while something is not; later when the store does not take it. */
  #letGo(delayMs: number): void {
    const { held } = this.#options;
    if (held.leaving.size === 0 || this.#timers.has("leaving")) return;
    this.#later("leaving", delayMs, () => {
      void this.#work
        .run(() => this.#releaseQuiet())
        .then((isDone) => this.#letGo(isDone === true ? leavingMs : beatMs));
    });
  }

  async #releaseQuiet(): Promise<true> {
    const { held, store } = this.#options;
    const quiet = held.readyToLeave();
    if (quiet.length === 0 || this.#worker === null) return true;
    await store.release({ worker: this.#worker, webhooks: quiet.map(handoverOf) });
    for (const endpoint of quiet) {
      held.leaving.delete(endpoint);
      endpoint.fence = null;
    }
    return true;
  }

  #later(name: "beat" | "leaving", delayMs: number, work: () => void): void {
    if (this.#hasLeft) return;
    this.#timers.get(name)?.cancel();
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(name);
      work();
    });
    this.#timers.set(name, timer);
  }

  #cancel(name: "beat" | "leaving"): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }
}

function timeOf(clock: Clock): { readonly monotonicMs: number; readonly wall: number } {
  return { monotonicMs: clock.monotonicMs(), wall: clock.now() };
}

/**
 * How long a worker lives from one beat; so long its webhooks stand still when it dies. Long enough that a slow statement or
 * a process that was busy for a moment makes nothing change hands.
 */
const aliveMs = 15_000;
/** Three in a row may be lost before it matters. */
const beatMs = 3_000;
/** Between the last moment at which this worker sends and the first at which another one may. */
const marginMs = 1_000;
/** Further above its share a worker gives webhooks up. More than for taking, so that none goes to and fro. */
const releaseSlackMin = 2;
/** Taking a webhook again costs a statement, so one with an event now and then stays where it is known. */
const idleMs = 30_000;
/** How often to look whether what leaves is quiet. In memory, and the next owner waits for it. */
const leavingMs = 50;

import type { Clock } from "../../ports/clock.ts";
import type { Heartbeat } from "../../ports/store/ownership.ts";
import { Alarm } from "../../ports/timing/alarm.ts";
import { handoverOf } from "./owned-endpoints.ts";
import { SerialWork } from "./serial-work.ts";
import { WebhookAcquirer, type WebhookAcquirerOptions } from "./webhook-acquirer.ts";

export interface ClusterMemberOptions extends WebhookAcquirerOptions {
  /** Sending may go on. */
  readonly resumed: () => void;
  /** So many workers of the pool are alive, this one included. */
  readonly workers: (count: number) => void;
  /** This worker has another number, or none. */
  readonly renamed: (worker: number | null) => void;
}

/**
 * A worker among others. It stays alive with heartbeats, acquires webhooks that have work and no owner, and releases
 * webhooks that are idle or beyond its share.
 *
 * A worker sends only while its own monotonic clock proves that no other worker may have acquired its webhooks:
 * `aliveMs` from before the last heartbeat was sent, less a margin. A process that was paused for longer finds that out
 * before it sends anything. The monotonic clock may stand still while a machine sleeps, so the wall clock must not be
 * beyond that time either; a wall clock that is set forward costs a pause until the next heartbeat. A worker that was
 * reaped forgets all it owned and joins as a new worker. The states are drawn in docs/state-machine.md, "Worker".
 *
 *   0 s             3         6    …      14          15                     18 at most
 *   heartbeat sent  next one              sends       may be reaped by the   the heartbeat of another
 *                                         nothing     next heartbeat         worker has reaped it
 *
 * A request on its way at that moment cannot be called back. Its settlement has an old lease token and is refused, and
 * the new owner sends it once more under the same key: delivery is at least once.
 */
export class ClusterMember {
  readonly #options: ClusterMemberOptions;
  readonly #work: SerialWork;
  readonly #acquirer: WebhookAcquirer;
  readonly #heartbeatAlarm: Alarm;
  readonly #leavingAlarm: Alarm;
  #worker: number | null = null;
  /** Until then nobody else can have acquired what this worker owns. */
  #ownsUntilMs = Number.NEGATIVE_INFINITY;
  /** The same on the wall clock. */
  #ownsUntil = Number.NEGATIVE_INFINITY;
  /** The pool as of the last heartbeat, this worker included. */
  #pool: Heartbeat = { workers: 1, owned: 0 };
  #joining = false;
  #isHeartbeatUnderWay = false;
  #paused = false;
  #hasLeft = false;

  constructor(options: ClusterMemberOptions) {
    this.#options = options;
    this.#heartbeatAlarm = new Alarm(options.clock);
    this.#leavingAlarm = new Alarm(options.clock);
    this.#work = new SerialWork((error) => {
      options.telemetry.log.warn(
        { err: String(error) },
        "ownership of webhooks: a call failed; trying again",
      );
    });
    this.#acquirer = new WebhookAcquirer(options, { self: this, work: this.#work });
  }

  /** The number of this worker; null before it joined and after it was reaped. */
  get worker(): number | null {
    return this.#worker;
  }

  holds(): boolean {
    const { clock } = this.#options;
    return clock.monotonicMs() < this.#ownsUntilMs && clock.now() < this.#ownsUntil;
  }

  async start(): Promise<void> {
    await this.#heartbeat();
    this.#acquirer.start();
  }

  /** Tries to acquire a webhook, together with others that are wanted soon. Resolves after the attempt. */
  wanted(webhookId: string): Promise<void> {
    return this.#acquirer.wanted(webhookId);
  }

  /** This process stored work for a webhook that it does not own. It may be about to acquire the webhook. */
  workAdded(webhookId: string): void {
    this.#acquirer.workAdded(webhookId);
  }

  /** Whether this worker acquired the webhook a moment ago and could not serve it, because it was deleted. */
  isUnservable(webhookId: string): boolean {
    return this.#acquirer.isUnservable(webhookId);
  }

  /** Looks at once for work that nobody serves: hints of it may be lost. */
  lookNow(): void {
    this.#acquirer.lookNow();
  }

  /** Orders wait for a webhook that this worker may own. */
  ordered(): void {
    void this.#work.run(async () => {
      const worker = this.#worker;
      if (worker !== null && this.#options.owned.size > 0) await this.#follow(worker);
    });
  }

  /** Frees webhooks that the store counts as this worker's and that it does not serve. */
  releaseUnowned(): void {
    this.#acquirer.releaseUnowned();
  }

  /**
   * The database was restarted or replaced, and may not know this worker or its webhooks. Webhooks with unfinished
   * requests or unwritten settlements stay `leaving`: the worker keeps them when it joins again, and releases each as
   * soon as it is quiet. Freed earlier, another worker would send the same deliveries again.
   */
  rejoin(): void {
    if (this.#worker === null || this.#hasLeft) return;
    const { owned } = this.#options;
    this.#ended(this.#worker, "the database was restarted: this worker joins again");
    owned.dropAll();
    void this.#heartbeat();
  }

  pause(): void {
    this.#paused = true;
    this.#acquirer.pause();
  }

  /** While the last requests are waited for, others serve what is quiet, and the rest as soon as it is. */
  retire(): void {
    void this.#work.run(async () => {
      const { owned, store } = this.#options;
      for (const endpoint of owned.all()) owned.drop(endpoint);
      if (this.#worker === null) return;
      await store.retire(this.#worker);
      await this.#releaseQuiet();
      this.#letGo(leavingMs);
    });
  }

  /** Releases every webhook, also those that are not quiet: their leases were released before. */
  async leave(): Promise<void> {
    this.pause();
    this.#hasLeft = true;
    this.#heartbeatAlarm.close();
    this.#leavingAlarm.close();
    const { owned, store } = this.#options;
    await this.#work.run(async () => {
      const worker = this.#worker;
      if (worker === null) return;
      this.#worker = null;
      this.#ownsUntilMs = Number.NEGATIVE_INFINITY;
      for (const endpoint of owned.all()) owned.drop(endpoint);
      const webhooks = [...owned.leaving].map(handoverOf);
      owned.leaving.clear();
      if (webhooks.length > 0) await store.release({ worker, webhooks });
      await store.leave(worker);
    });
  }

  // ---- staying alive ------------------------------------------------------------------------------------------

  /**
   * One at a time: a second one would wait in the store behind the first. Not in the queue of `#work`: a call that hangs
   * there must not let the worker die.
   */
  async #heartbeat(): Promise<void> {
    this.#heartbeatAlarm.set(heartbeatMs, () => void this.#heartbeat());
    if (this.#isHeartbeatUnderWay) return;
    this.#isHeartbeatUnderWay = true;
    try {
      if (this.#worker !== null) await this.#prolong(this.#worker);
      else if (!this.#paused) await this.#join();
    } catch (error) {
      this.#options.telemetry.log.warn(
        { err: String(error) },
        "the store did not hear that this worker lives; trying again",
      );
    } finally {
      this.#isHeartbeatUnderWay = false;
    }
  }

  async #join(): Promise<void> {
    if (this.#joining) return;
    this.#joining = true;
    const { store, clock, telemetry } = this.#options;
    try {
      const sentAt = timeOf(clock);
      const { pool, owned } = this.#options;
      const worker = await store.join({ aliveMs, pool, keeps: owned.unfinished() });
      this.#worker = worker;
      this.#options.renamed(worker);
      this.#hold(sentAt);
      telemetry.log.info({ worker }, "joined the workers of the store");
      // The number of workers decides about this worker's part of shared limits.
      await this.#prolong(worker);
    } finally {
      this.#joining = false;
    }
  }

  async #prolong(worker: number): Promise<void> {
    const { store, clock } = this.#options;
    const sentAt = timeOf(clock);
    const heartbeat = await store.heartbeat({ worker, aliveMs });
    if (this.#worker !== worker) {
      // The database was restarted in between: see `rejoin`.
      return this.#worker !== null || this.#paused ? undefined : this.#join();
    }
    if (heartbeat === null) {
      this.#reaped(worker, "this worker was away for too long; others serve its webhooks now");
      return this.#paused ? undefined : this.#join();
    }
    this.#pool = heartbeat;
    this.#options.workers(Math.max(1, heartbeat.workers));
    this.#hold(sentAt);
    this.ordered();
    this.#acquirer.settleDoubts();
    this.#giveBackSpare();
  }

  /** Counts from before the heartbeat was sent, because the store's own count can only have begun later. */
  #hold(sentAt: { readonly monotonicMs: number; readonly wall: number }): void {
    const wasHolding = this.holds();
    // An answer may overtake a later one; the later proof holds.
    const untilMs = sentAt.monotonicMs + aliveMs - marginMs;
    if (untilMs > this.#ownsUntilMs) {
      this.#ownsUntilMs = untilMs;
      this.#ownsUntil = sentAt.wall + aliveMs - marginMs;
    }
    if (!wasHolding && this.holds()) this.#options.resumed();
  }

  #reaped(worker: number, why: string): void {
    this.#ended(worker, why);
    this.#options.owned.loseAll();
  }

  #ended(worker: number, why: string): void {
    const { owned, telemetry } = this.#options;
    telemetry.log.warn({ worker, webhooks: owned.size }, why);
    this.#worker = null;
    this.#options.renamed(null);
    this.#ownsUntilMs = Number.NEGATIVE_INFINITY;
  }

  async #follow(worker: number): Promise<void> {
    const orders = await this.#options.store.orders({ worker });
    if (orders.length > 0) this.#options.follow(orders);
  }

  // ---- releasing ----------------------------------------------------------------------------------------------

  /**
   * Drops deleted endpoints, those of other pools, idle ones, and those beyond an equal share of the pool's webhooks.
   */
  #giveBackSpare(): void {
    const { owned, endpoint: known, pool, poolOf } = this.#options;
    for (const endpoint of owned.all())
      if (known(endpoint.webhook.id) !== endpoint || poolOf(endpoint) !== pool) owned.drop(endpoint);
    for (const endpoint of owned.idleFor(idleMs)) owned.drop(endpoint);
    const { workers } = this.#pool;
    const share = Math.ceil(this.#pool.owned / Math.max(workers, 1));
    const slack = Math.max(releaseSlackMin, Math.ceil(share / 5));
    if (workers > 1 && owned.size > share + slack)
      for (const endpoint of owned.toGiveUp(owned.size - share)) owned.drop(endpoint);
    this.#letGo(leavingMs);
  }

  /** Releases quiet endpoints, and looks again while some are not quiet; later when the store is away. */
  #letGo(delayMs: number): void {
    const { owned } = this.#options;
    if (owned.leaving.size === 0 || this.#leavingAlarm.isSet) return;
    this.#leavingAlarm.set(delayMs, () => {
      void this.#work
        .run(() => this.#releaseQuiet())
        .then((isDone) => this.#letGo(isDone === true ? leavingMs : heartbeatMs));
    });
  }

  async #releaseQuiet(): Promise<true> {
    const { owned, store } = this.#options;
    const quiet = owned.readyToLeave();
    if (quiet.length === 0 || this.#worker === null) return true;
    await store.release({ worker: this.#worker, webhooks: quiet.map(handoverOf) });
    for (const endpoint of quiet) {
      owned.leaving.delete(endpoint);
      endpoint.released();
    }
    return true;
  }
}

function timeOf(clock: Clock): { readonly monotonicMs: number; readonly wall: number } {
  return { monotonicMs: clock.monotonicMs(), wall: clock.now() };
}

/**
 * How long a worker lives from one heartbeat; so long its webhooks stand still when it dies. Long enough that a slow
 * statement or a busy process changes no owner.
 */
const aliveMs = 15_000;
/** Three in a row may be lost before it matters. */
const heartbeatMs = 3_000;
/** Between the last moment at which this worker sends and the first at which another one may. */
const marginMs = 1_000;
/** Further above its share a worker releases webhooks. More than for acquiring, so that webhooks do not ping-pong. */
const releaseSlackMin = 2;
/** Acquiring a webhook again costs a statement, so a webhook with an event now and then stays with its owner. */
const idleMs = 30_000;
/** How often to look whether leaving endpoints are quiet. In memory, and the next owner waits for it. */
const leavingMs = 50;

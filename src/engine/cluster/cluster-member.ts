import { Alarm, type Clock } from "../../ports/clock.ts";
import type { Heartbeat } from "../../ports/store/ownership.ts";
import { handoverOf } from "./owned-endpoints.ts";
import { SerialWork, WebhookAcquirer, type WebhookAcquirerOptions } from "./webhook-acquirer.ts";

export interface ClusterMemberOptions extends WebhookAcquirerOptions {
  /** Called when sending may resume. */
  readonly resumed: () => void;
  /** Called with the number of live workers in the pool, including this one. */
  readonly workers: (count: number) => void;
  /** Called with this worker's new number, or with null when it lost its number. */
  readonly renamed: (worker: number | null) => void;
}

/**
 * One of several workers. It stays alive with heartbeats, acquires webhooks that have work and no owner, and releases
 * webhooks that are idle or beyond its share.
 *
 * A worker sends only while its own monotonic clock proves that no other worker may have acquired its webhooks: for
 * `aliveMs` from before the last heartbeat was sent, minus a margin. A process that was suspended for longer notices
 * that before it sends anything. The monotonic clock may stop while a machine sleeps, so the wall clock must not be
 * past that time either. A wall clock that is set forward only causes a pause until the next heartbeat. A reaped
 * worker drops all its webhooks and joins as a new worker. The states are drawn in docs/state-machine.md, "Worker".
 *
 *   0 s             3         6    …      14          15                     18 at the latest
 *   heartbeat sent  next one              sends       may be reaped by the   reaped by the heartbeat
 *                                         nothing     next heartbeat         of another worker
 *
 * A request in flight at that moment cannot be recalled. Its settlement has an old lease token and is refused, and
 * the new owner sends the delivery again with the same key: delivery is at least once.
 */
export class ClusterMember {
  readonly #options: ClusterMemberOptions;
  readonly #work: SerialWork;
  /** Acquires webhooks that have work and no owner. */
  readonly acquirer: WebhookAcquirer;
  readonly #heartbeatAlarm: Alarm;
  readonly #leavingAlarm: Alarm;
  #worker: number | null = null;
  /** Until this time, no other worker can have acquired the webhooks of this one. */
  #ownsUntilMs = Number.NEGATIVE_INFINITY;
  /** The same deadline on the wall clock. */
  #ownsUntil = Number.NEGATIVE_INFINITY;
  /** The pool at the last heartbeat, including this worker. */
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
      options.telemetry.log.warn({ err: String(error) }, "webhook ownership call failed; retrying");
    });
    this.acquirer = new WebhookAcquirer(options, this, this.#work);
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
    this.acquirer.start();
  }

  /** Executes pending orders for webhooks that this worker owns. */
  ordered(): void {
    void this.#work.run(async () => {
      const worker = this.#worker;
      if (worker !== null && this.#options.owned.size > 0) await this.#follow(worker);
    });
  }

  /**
   * Called when the database was restarted or replaced, and may have lost this worker or its webhooks. Webhooks with
   * unfinished requests or unwritten settlements stay `leaving`: the worker keeps them when it rejoins, and releases
   * each one when it is quiet. If they were released earlier, another worker would send the same deliveries again.
   */
  rejoin(): void {
    if (this.#worker === null || this.#hasLeft) return;
    const { owned } = this.#options;
    this.#ended(this.#worker, "the database was restarted; this worker rejoins");
    owned.dropAll();
    void this.#heartbeat();
  }

  pause(): void {
    this.#paused = true;
    this.acquirer.pause();
  }

  /**
   * Called at shutdown. Releases quiet webhooks to other workers immediately, and each remaining one when it is quiet.
   */
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

  /** Releases every webhook, including those that are not quiet, because their leases were released before. */
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
      if (webhooks.length > 0) await store.release(worker, webhooks);
      await store.leave(worker);
    });
  }

  // ---- heartbeats ---------------------------------------------------------------------------------------------

  /**
   * Sends one heartbeat at a time, because a second one would queue in the store behind the first. It does not use the
   * queue of `#work`, because a hanging call in that queue would stop the heartbeats and the worker would be reaped.
   */
  async #heartbeat(): Promise<void> {
    this.#heartbeatAlarm.set(heartbeatMs, () => void this.#heartbeat());
    if (this.#isHeartbeatUnderWay) return;
    this.#isHeartbeatUnderWay = true;
    try {
      if (this.#worker !== null) await this.#prolong(this.#worker);
      else if (!this.#paused) await this.#join();
    } catch (error) {
      this.#options.telemetry.log.warn({ err: String(error) }, "heartbeat failed; retrying");
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
      this.#hold(sentAt.monotonicMs, sentAt.wall);
      telemetry.log.info({ worker }, "joined the workers of the store");
      // The number of workers determines this worker's part of shared limits.
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
      // The database was restarted since the last heartbeat: see `rejoin`.
      return this.#worker !== null || this.#paused ? undefined : this.#join();
    }
    if (heartbeat === null) {
      this.#reaped(worker, "this worker was unreachable for too long; other workers serve its webhooks now");
      return this.#paused ? undefined : this.#join();
    }
    this.#pool = heartbeat;
    this.#options.workers(Math.max(1, heartbeat.workers));
    this.#hold(sentAt.monotonicMs, sentAt.wall);
    this.ordered();
    this.acquirer.settleDoubts();
    this.#giveBackSpare();
  }

  /**
   * Measured from before the heartbeat was sent. The store starts counting later, so this worker always stops first.
   */
  #hold(monotonicMs: number, wall: number): void {
    const wasHolding = this.holds();
    // Replies may arrive out of order; the later deadline counts.
    const untilMs = monotonicMs + aliveMs - marginMs;
    if (untilMs > this.#ownsUntilMs) {
      this.#ownsUntilMs = untilMs;
      this.#ownsUntil = wall + aliveMs - marginMs;
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

  /**
   * Releases quiet endpoints, and checks again while others are still busy. Checks less often while the store is
   * unavailable.
   */
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
    await store.release(this.#worker, quiet.map(handoverOf));
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
 * How long a worker counts as alive after a heartbeat, and therefore how long its webhooks stop when it dies. Long
 * enough that a slow statement or a busy process does not cause a change of owners.
 */
const aliveMs = 15_000;
/** Three consecutive heartbeats may be lost without effect. */
const heartbeatMs = 3_000;
/** Time between the last moment at which this worker may send and the first at which another one may. */
const marginMs = 1_000;
/**
 * Minimum excess over its share at which a worker releases webhooks. Larger than the slack for acquiring, to prevent
 * oscillation.
 */
const releaseSlackMin = 2;
/** Acquiring a webhook costs a statement, so a webhook with occasional events should stay with its owner. */
const idleMs = 30_000;
/**
 * How often to check whether leaving endpoints are quiet. The check only reads memory, and the next owner waits for it.
 */
const leavingMs = 50;

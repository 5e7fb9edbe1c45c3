import type { Priority } from "../../../src/domain/delivery.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { EngineRun } from "../engine-run.ts";
import { isWaiting, type LedgerDelivery } from "../ledger.ts";
import type { Watched } from "./watched.ts";

export interface EndState {
  readonly store: Store;
  /** Older history may already have been deleted. */
  readonly historyFrom: number;
}

/** Compares the store with the ledger at the end, delivery by delivery (I-2, I-4, I-14, I-16). */
export class EndChecks {
  readonly #watched: Watched;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  async check(end: EndState): Promise<void> {
    const { ledger } = this.#watched;
    const counts = new Map<string, number>();
    for (const { event } of ledger.deliveries.values()) counts.set(event.id, (counts.get(event.id) ?? 0) + 1);
    for (const { id, createdAt } of ledger.events.values()) {
      if (createdAt >= end.historyFrom) await this.#checkEvent(id, counts.get(id) ?? 0, end.store);
    }
    for (const [id, event] of ledger.following)
      this.#watched.fail("I-2", `delivery ${id} of event ${event.id} was accepted and never written`);
    for (const delivery of ledger.deliveries.values()) await this.#checkDelivery(delivery, end);
    await this.#checkDepth(end.store);
    await this.#checkCounts(end);
  }

  /** After a graceful stop, no request, timer or lease may be left (I-20). */
  stopped(
    run: EngineRun,
    stop: { readonly isClean: boolean; readonly tookMs: number; readonly graceMs: number },
  ): void {
    const { flights, ledger, fail } = this.#watched;
    const { isClean } = stop;
    const left = [...flights.all].filter((flight) => flight.run === run);
    // Settlements remain if the store could not be written. Requests that outlast the grace period are released.
    const mayLeave = !isClean || stop.tookMs >= stop.graceMs;
    if (left.length > 0 && !mayLeave)
      fail("I-20", `${left.length} requests were left when the engine had stopped`);
    if (left.some((flight) => flight.state === "open"))
      fail("I-20", "a request is in flight after the engine had stopped");
    const held = ledger.heldLeases(this.#watched.time.now());
    if (held.length > 0 && isClean)
      fail("I-20", `${held.length} leases are held after the engine had stopped: ${held[0]?.id}`);
    if (run.clock.pendingTimers > 0)
      fail("I-20", `${run.clock.pendingTimers} timers are left after the engine had stopped`);
  }

  /** Without work, hardly any timers may run (I-19). */
  idle(run: EngineRun, hour: { readonly timersFired: number }): void {
    const { fail } = this.#watched;
    const { inFlight, uncommitted } = run.engine.activity();
    if (inFlight !== 0 || uncommitted !== 0)
      fail("I-19", `idle, but ${inFlight} in flight and ${uncommitted} uncommitted`);
    if (hour.timersFired > idleTimersMax)
      fail("I-19", `an idle engine ran ${hour.timersFired} timers in an hour`);
  }

  async #checkEvent(id: string, deliveries: number, store: Store): Promise<void> {
    const { fail } = this.#watched;
    const stored = await store.history.getEvent(null, id);
    if (stored === null) fail("I-2", `event ${id} was accepted and is gone`);
    else if (stored.deliveries !== deliveries)
      fail("I-2", `event ${id} says ${stored.deliveries} deliveries, and has ${deliveries}`);
  }

  async #checkDelivery(delivery: LedgerDelivery, end: EndState): Promise<void> {
    const { fail } = this.#watched;
    const { id, progress } = delivery;
    if (delivery.requests !== delivery.attempts.length + delivery.lost) {
      fail(
        "I-16",
        `${id}: ${delivery.requests} requests, ${delivery.attempts.length} settled, ${delivery.lost} lost to crashes`,
      );
    }
    if (isWaiting(delivery))
      fail(
        "I-2",
        `${id} still waits at the end (${progress.state}, due ${progress.dueAt}, lease ${JSON.stringify(delivery.lease)})`,
      );
    if (progress.createdAt < end.historyFrom) return;
    const stored = await end.store.history.getDelivery(null, id);
    if (stored === null) {
      fail("I-2", `delivery ${id} was accepted and is gone`);
      return;
    }
    if (stored.progress.state !== progress.state)
      fail("I-2", `${id} is ${stored.progress.state} in the store, should be ${progress.state}`);
    const attempts = await end.store.history.listAttempts(id);
    const numbers = attempts.map((attempt) => attempt.number).join();
    const expected = delivery.attempts.map((_, index) => index + 1).join();
    if (numbers !== expected || stored.progress.attemptCount !== attempts.length) {
      fail(
        "I-14",
        `${id} has attempts ${numbers}, count ${stored.progress.attemptCount}, expected ${expected}`,
      );
    }
  }

  async #checkDepth(store: Store): Promise<void> {
    const { ledger, fail } = this.#watched;
    const truth: Record<Priority, number> = { high: 0, normal: 0, low: 0 };
    for (const delivery of ledger.waiting) truth[delivery.priority] += 1;
    const { waiting } = await store.deliveries.depth();
    if (JSON.stringify(waiting) !== JSON.stringify(truth)) {
      fail("I-4", `depth says ${JSON.stringify(waiting)}, ${JSON.stringify(truth)} wait`);
    }
  }

  async #checkCounts({ store, historyFrom }: EndState): Promise<void> {
    const { ledger, fail } = this.#watched;
    const truth = new Map<string, number>();
    for (const { event, progress } of ledger.deliveries.values()) {
      if (progress.createdAt < historyFrom) return;
      if (progress.state !== "exhausted") continue;
      truth.set(event.tenantId, (truth.get(event.tenantId) ?? 0) + 1);
    }
    const { deadLetters } = await store.deliveries.depth();
    for (const tenantId of new Set([...truth.keys(), ...deadLetters.keys()])) {
      const counted = deadLetters.get(tenantId) ?? 0;
      const expected = truth.get(tenantId) ?? 0;
      if (counted !== expected)
        fail("I-4", `depth counts ${counted} dead letters of ${tenantId}, there are ${expected}`);
    }
  }
}

/** Upkeep runs once a minute, and the check for stale wake-ups every ten seconds. */
const idleTimersMax = 800;

import { scheduledAttempts } from "../../../src/domain/delivery.ts";
import type { CommitBatch, Settlement, SettlementResult } from "../../../src/ports/store/deliveries.ts";
import type { EngineRun } from "../engine-run.ts";
import { isWaiting, type LedgerDelivery } from "../ledger.ts";
import type { Flight } from "./flights.ts";
import type { Pauses } from "./pauses.ts";
import type { Watched } from "./watched.ts";

export interface Commit {
  readonly run: EngineRun;
  readonly batch: CommitBatch;
  readonly settled: readonly SettlementResult[];
}

/** Checks every settlement when the store accepts it, before the ledger records it (I-13 to I-17). */
export class SettlementChecks {
  readonly #watched: Watched;
  readonly #pauses: Pauses;
  readonly #attemptsMax: (webhookId: string) => number;

  constructor(
    watched: Watched,
    parts: { readonly pauses: Pauses; readonly attemptsMax: (webhookId: string) => number },
  ) {
    this.#watched = watched;
    this.#pauses = parts.pauses;
    this.#attemptsMax = parts.attemptsMax;
  }

  committed({ run, batch, settled }: Commit): void {
    // The ledger does not contain this commit yet. A retry in the same commit may have ended the lease of one of the
    // commit's settlements.
    const retried = new Set(batch.retries.map(({ deliveryId }) => deliveryId));
    for (const [index, settlement] of batch.settlements.entries()) {
      const kind = settled[index]?.kind;
      if (kind === "ended") this.#checkEnded(settlement);
      else this.#settled(run, settlement, { wasWritten: kind === "written", retried });
    }
  }

  /**
   * The store refused the settlement and the engine abandoned it. The request counts as lost, and its lease expires.
   */
  refused(run: EngineRun, batch: CommitBatch): void {
    const { ledger, flights } = this.#watched;
    for (const { lease, attempt, settledAt } of batch.settlements) {
      const delivery = ledger.byRef(lease.ref);
      if (delivery === undefined) continue;
      delivery.lease = null;
      const flight = attempt === null ? undefined : flights.settle(run, delivery, settledAt);
      if (flight === undefined) continue;
      flight.state = "lost";
      delivery.lost += 1;
    }
  }

  #settled(
    run: EngineRun,
    settlement: Settlement,
    { wasWritten, retried }: { readonly wasWritten: boolean; readonly retried: ReadonlySet<string> },
  ): void {
    const { ledger, flights, fail } = this.#watched;
    const delivery = ledger.byRef(settlement.lease.ref);
    if (delivery === undefined) {
      fail("I-14", `a settlement of a delivery that was never committed: ${settlement.lease.ref}`);
      return;
    }
    const flight =
      settlement.attempt === null ? undefined : flights.settle(run, delivery, settlement.settledAt);
    if (!wasWritten && flight?.overtakenByClock !== true && !retried.has(delivery.id))
      this.#checkRefusal(delivery, settlement);
    if (settlement.attempt === null) {
      if (wasWritten) this.#checkWithoutRequest(delivery, settlement);
      return;
    }
    if (flight === undefined) {
      fail(
        "I-14",
        `attempt ${settlement.attempt.number} of ${delivery.id} was settled without an answered request, or twice`,
      );
      return;
    }
    flight.state = wasWritten ? "settled" : "refused";
    if (!wasWritten) {
      delivery.lost += 1;
      return;
    }
    this.#pauses.settled(flight);
    this.#checkAttempt(delivery, settlement);
    this.#checkOutcome(flight, { delivery, settlement });
  }

  /**
   * Only one process holds leases. It can lose a lease only if the lease expires, or if upkeep or a user ended the
   * delivery.
   */
  #checkRefusal(delivery: LedgerDelivery, { lease }: Settlement): void {
    const { time, fail } = this.#watched;
    const ranOut = delivery.lease === null || delivery.lease.until <= time.wallMsMax;
    const isOver = !isWaiting(delivery) && delivery.endedLease?.leaseToken !== lease.leaseToken;
    if (isOver || (ranOut && delivery.endedLease === null)) return;
    fail(
      "I-14",
      `the store refused a settlement of ${delivery.id}, token ${lease.leaseToken}, lease ${delivery.lease?.leaseToken}`,
    );
  }

  /** Nothing has been written yet. The engine will decide again, based on the current state of the delivery. */
  #checkEnded({ lease, late }: Settlement): void {
    const { ledger, fail } = this.#watched;
    const delivery = ledger.byRef(lease.ref);
    if (late === true || delivery?.endedLease?.leaseToken !== lease.leaseToken)
      fail("I-14", `the store took a lease for one under which ${delivery?.id} was ended`);
  }

  #checkWithoutRequest(delivery: LedgerDelivery, { progress }: Settlement): void {
    const { fail } = this.#watched;
    const allowed = ["expired", "payload_unavailable", "empty_data", "internal_compose_failed"].includes(
      progress.reason ?? "",
    );
    if (progress.state !== "exhausted" || !allowed) {
      fail("I-15", `${delivery.id} became ${progress.state} (${progress.reason}) without a request`);
    }
    if (progress.attemptCount !== delivery.attempts.length)
      fail("I-14", `${delivery.id} counted an attempt without a request`);
  }

  #checkAttempt(delivery: LedgerDelivery, { attempt, progress }: Settlement): void {
    const { fail } = this.#watched;
    const expected = delivery.attempts.length + 1;
    if (attempt?.number !== expected || progress.attemptCount !== expected) {
      fail(
        "I-14",
        `attempt ${attempt?.number} (count ${progress.attemptCount}) of ${delivery.id} should be number ${expected}`,
      );
    }
  }

  #checkOutcome(
    flight: Flight,
    settled: { readonly delivery: LedgerDelivery; readonly settlement: Settlement },
  ): void {
    const { fail } = this.#watched;
    const { progress, attempt, late } = settled.settlement;
    const { id } = settled.delivery;
    const means = flight.answer?.means;
    if (attempt?.outcome !== means)
      fail("I-15", `${id}: the receiver meant ${means}, recorded ${attempt?.outcome}`);
    if (means === "accepted" && progress.state !== "success")
      fail("I-15", `${id} was accepted and is ${progress.state}`);
    if (late === true) return this.#checkLate(settled);
    if (
      means === "terminal" &&
      (progress.state !== "exhausted" || progress.reason?.startsWith("permanent_") !== true)
    ) {
      fail("I-15", `${id} was refused for good and is ${progress.state} (${progress.reason})`);
    }
    if (means === "transient") this.#checkRetry(flight, settled);
  }

  /** A late response that is not an acceptance changes only the history. */
  #checkLate({
    delivery,
    settlement,
  }: {
    readonly delivery: LedgerDelivery;
    readonly settlement: Settlement;
  }): void {
    const { fail } = this.#watched;
    const { state, reason } = settlement.progress;
    const before = delivery.progress;
    if (settlement.attempt?.outcome === "accepted" || (state === before.state && reason === before.reason))
      return;
    fail(
      "I-15",
      `${delivery.id} was ${before.state} (${before.reason}), a late answer made it ${state} (${reason})`,
    );
  }

  #checkRetry(
    flight: Flight,
    { delivery, settlement }: { readonly delivery: LedgerDelivery; readonly settlement: Settlement },
  ): void {
    const { fail } = this.#watched;
    const { progress } = settlement;
    const attemptsMax = this.#attemptsMax(delivery.lane.webhookId);
    if (progress.state !== "failed" && progress.state !== "exhausted") {
      fail("I-15", `${delivery.id} failed for now and is ${progress.state}`);
      return;
    }
    if (progress.state !== "failed") return;
    if (scheduledAttempts(progress) >= attemptsMax)
      fail("I-13", `${delivery.id} retries after ${progress.attemptCount} of ${attemptsMax}`);
    const notBefore = Math.max(flight.answer?.retryNotBefore ?? 0, flight.answeredAt);
    if (progress.dueAt < notBefore)
      fail("I-17", `${delivery.id} retries at ${progress.dueAt}, not before ${notBefore} was asked`);
  }
}

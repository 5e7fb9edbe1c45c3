import type { LiveWebhook } from "../../../src/engine/endpoint/endpoint-config.ts";
import type { EngineRun } from "../engine-run.ts";
import { isWaiting } from "../ledger.ts";
import type { Ledger, LedgerDelivery } from "../ledger.ts";
import type { Watched } from "./watched.ts";

/** If work could have been sent for this long but was not, its wake-up was lost. This is longer than a lease. */
const stalledMs = 15 * 60_000;

/**
 * Checks periodically for deliveries that are due behind open gates while nothing happens to their webhook (I-18). A
 * later event would wake the lane and hide the mistake, so the check runs continuously and not only at the end.
 */
export class LivenessChecks {
  readonly #watched: Watched;
  /** When a request to the webhook or a change of it was last seen, in monotonic ms. */
  readonly #stirredAt = new Map<string, number>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  stirred(webhookId: string): void {
    this.#stirredAt.set(webhookId, this.#watched.time.monotonicMs());
  }

  check(run: EngineRun, lastFaultAtMonotonicMs: number): void {
    const { time, ledger, flights, limits, fail } = this.#watched;
    const since = time.monotonicMs() - stalledMs;
    const quietSince = Math.max(run.startedAtMonotonicMs, lastFaultAtMonotonicMs, time.lastJumpAtMonotonicMs);
    if (!run.started || run.stopping || quietSince > since) return;
    // A delivery may wait for a free slot. Fairness is not checked here.
    if (flights.open(run).length >= limits.concurrency) return;
    const isHead = heads(ledger);
    for (const delivery of ledger.waiting) {
      const { webhookId } = delivery.lane;
      const webhook = run.engine.webhook(webhookId);
      if (webhook === undefined || (this.#stirredAt.get(webhookId) ?? 0) > since) continue;
      const isDue = delivery.progress.dueAt <= time.now() - stalledMs && isHead(delivery);
      if (!isDue || !couldSend(webhook, time.now() - stalledMs)) continue;
      const lease = delivery.lease === null ? "no lease" : `leased until ${delivery.lease.until}`;
      fail(
        "I-18",
        `${delivery.id} of webhook ${webhookId} (${delivery.lane.ordering}) is due since ${delivery.progress.dueAt}, now ${time.now()}, ${lease}; nothing happens`,
      );
      return;
    }
  }
}

/** In an ordered lane, only the first waiting delivery can be due. */
function heads(ledger: Ledger): (delivery: LedgerDelivery) => boolean {
  return (delivery) =>
    delivery.lane.ordering === "none" || ledger.lane(delivery.lane).find(isWaiting) === delivery;
}

/** Whether every gate has been open since `since`. */
function couldSend(live: LiveWebhook, since: number): boolean {
  if (live.webhook.status !== "active" || live.webhook.statusChangedAt > since) return false;
  if (live.pausedUntil !== null && live.pausedUntil > since) return false;
  const { circuit } = live;
  return Math.max(circuit.halfOpenAt, circuit.forcedOpenUntil, circuit.transitionAt) <= since;
}

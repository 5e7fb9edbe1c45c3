import type { PublishInput, PublishReceipt } from "../../src/features/services.ts";
import type { CommitBatch, FanOutPart } from "../../src/ports/store/deliveries.ts";
import type { EngineRun } from "./engine-run.ts";
import { EndChecks, type EndState } from "./invariants/end.ts";
import type { Answer, Flight } from "./invariants/flights.ts";
import { LivenessChecks } from "./invariants/liveness.ts";
import { Pauses } from "./invariants/pauses.ts";
import { Rates } from "./invariants/rates.ts";
import { RequestChecks, type SentRequest } from "./invariants/requests.ts";
import { type Commit, SettlementChecks } from "./invariants/settlements.ts";
import type { Watched } from "./invariants/watched.ts";

/**
 * Watches a world and continuously checks it against docs/invariants.md: each request when it is sent, each settlement
 * when it is written, and the whole store at the end. The world reports what happens. The engine's own decisions are
 * never used.
 */
export class Invariants {
  readonly #watched: Watched;
  readonly #pauses: Pauses;
  readonly #rates: Rates;
  readonly #requests: RequestChecks;
  readonly #settlements: SettlementChecks;
  readonly #liveness: LivenessChecks;
  readonly #end: EndChecks;
  /** Events by `tenant\nkey`, with their payload and time of creation. */
  readonly #keys = new Map<
    string,
    { readonly id: string; readonly payload: string; readonly createdAt: number }
  >();

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#pauses = new Pauses(watched);
    this.#rates = new Rates(watched);
    this.#requests = new RequestChecks(watched, { pauses: this.#pauses, rates: this.#rates });
    this.#settlements = new SettlementChecks(watched, {
      pauses: this.#pauses,
      attemptsMax: (webhookId) => this.#requests.attemptsMax(webhookId),
    });
    this.#liveness = new LivenessChecks(watched);
    this.#end = new EndChecks(watched);
  }

  requestSent(sent: SentRequest): Flight {
    this.#liveness.stirred(sent.webhookId);
    return this.#requests.sent(sent);
  }

  /** Called just before the engine is notified of the response. */
  requestAnswered(flight: Flight, answer: Answer): void {
    flight.state = "answered";
    flight.answer = answer;
    flight.answeredAt = this.#watched.time.now();
    flight.answeredAtMonotonicMs = this.#watched.time.monotonicMs();
    this.#liveness.stirred(flight.webhookId);
    this.#pauses.answered(flight);
  }

  committed(commit: Commit): void {
    this.#settlements.committed(commit);
  }

  /** Checks that each delivery of an event is written exactly once, even if several processes write its parts (I-2). */
  fannedOut({ deliveries }: FanOutPart): void {
    const { ledger, fail } = this.#watched;
    for (const delivery of deliveries)
      if (!ledger.followed(delivery))
        fail("I-2", `delivery ${delivery.id} was written twice, or for no event`);
  }

  refused(run: EngineRun, batch: CommitBatch): void {
    this.#settlements.refused(run, batch);
  }

  /**
   * Called when a publish has returned. Its result must already be in the store (I-1), and its key must identify only
   * one event (I-3).
   */
  published(tenantId: string, input: PublishInput, receipt: PublishReceipt): void {
    const { ledger, fail, time } = this.#watched;
    const event = ledger.events.get(receipt.id);
    if (event === undefined) {
      fail("I-1", `event ${receipt.id} was answered before it was committed`);
      return;
    }
    if (input.idempotencyKey === undefined) return;
    const name = `${tenantId}\n${input.idempotencyKey}`;
    const payload = JSON.stringify([input.eventType, input.data]);
    const known = this.#keys.get(name);
    const isOld = known === undefined || time.wallMsMax >= known.createdAt + dedupMs;
    if (!isOld && known.id !== receipt.id)
      fail("I-3", `key ${name} made a second event ${receipt.id} beside ${known.id}`);
    if (!isOld && known.payload !== payload) fail("I-3", `key ${name} was accepted for another payload`);
    if (isOld) this.#keys.set(name, { id: receipt.id, payload, createdAt: event.createdAt });
  }

  configured(run: EngineRun, webhookId: string): void {
    const webhook = run.engine.webhook(webhookId);
    if (webhook !== undefined) this.#requests.configured(webhook);
    this.#liveness.stirred(webhookId);
  }

  /** Called when the webhook was re-enabled or got a different URL. */
  begunAnew(webhookId: string): void {
    this.#pauses.forgive(webhookId);
  }

  tenantLimited(
    tenantId: string,
    limit: { readonly requestsPerMinute: number; readonly burst: number } | null,
  ): void {
    this.#requests.tenantLimits.set(tenantId, limit);
  }

  clockJumped(byMs: number): void {
    this.#rates.reset();
    if (byMs > 0) this.#watched.flights.clockJumpedAhead();
    else this.#pauses.clockSetBack(this.#watched.time.now());
  }

  processStarted(run: EngineRun): void {
    this.#requests.tenantLimits.clear();
    this.#rates.reset();
    for (const webhook of run.engine.webhooks()) this.#requests.configured(webhook);
  }

  /**
   * Called when a process has died. A response older than `settledWithinMs` must have been settled by then. Null if the
   * store may have delayed it.
   */
  processDied(run: EngineRun, settledWithinMs: number | null): void {
    const { flights, time, fail } = this.#watched;
    for (const { state, webhookId, eventId, answeredAtMonotonicMs } of flights.lose(run)) {
      const heldMs = time.monotonicMs() - answeredAtMonotonicMs;
      if (state === "answered" && settledWithinMs !== null && heldMs > settledWithinMs)
        fail("I-16", `the answer of ${webhookId} to ${eventId} was not written for ${heldMs} ms`);
    }
    this.#pauses.died();
  }

  processStopped(run: EngineRun, stop: Parameters<EndChecks["stopped"]>[1]): void {
    this.#end.stopped(run, stop);
  }

  checkLiveness(run: EngineRun, lastFaultAtMonotonicMs: number): void {
    this.#liveness.check(run, lastFaultAtMonotonicMs);
  }

  checkIdle(run: EngineRun, hour: { readonly timersFired: number }): void {
    this.#end.idle(run, hour);
  }

  checkEnd(end: EndState): Promise<void> {
    return this.#end.check(end);
  }
}

const dedupMs = 86_400_000;

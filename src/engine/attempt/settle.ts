import { circuitSignal, recordResult, releaseProbe } from "../../domain/circuit-breaker.ts";
import { type Verdict, classify, judge } from "../../domain/classify.ts";
import { withDelays } from "../../domain/delivery-policy.ts";
import { type HolderEvent, transition } from "../../domain/delivery-state.ts";
import {
  agesFrom,
  type AttemptRecord,
  type DeliveryProgress,
  type GivenUpState,
  scheduledAttempts,
  type WaitingState,
} from "../../domain/delivery.ts";
import {
  boundedPause,
  endpointPause,
  noteSunset,
  observeExhausted,
  observeHealth,
} from "../../domain/endpoint-health.ts";
import { parseHttpDate, parseRetryAfter } from "../../domain/http/retry-after.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimedDelivery, Settlement } from "../../ports/store/deliveries.ts";
import type { LogFields, Telemetry } from "../../ports/telemetry.ts";
import { retryAfterLengthMax, type TransportResult } from "../../ports/transport.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import { type EndpointStates, paceOf } from "../endpoint/endpoint-states.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { OwnerNotes } from "../endpoint/ownership.ts";
import type { WebhookLifecycle } from "../endpoint/webhook-lifecycle.ts";
import { attemptRecord, masked, type NotedAnswer, shownLocation, statusOf } from "./attempt-record.ts";
import type { EventSpans, SettledAttempt } from "./event-spans.ts";
import type { Flight, FlightListener } from "./attempts.ts";
import type { OwnFaults } from "./own-faults.ts";
import type { OwnerAlerts } from "./owner-alerts.ts";

/**
 * Log field with the trace ID of deliveries whose event was published within a trace. Uses the name that log stores
 * expect.
 */
function traceFields({ trace }: Pick<ClaimedDelivery, "trace">): LogFields {
  return trace === null ? {} : { trace_id: trace.traceId };
}

export interface SettleOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly commits: CommitGroup;
  readonly dispatcher: () => Omit<FlightListener, "postponed" | "schedulePump">;
  readonly nextId: () => string;
  readonly states: EndpointStates;
  readonly lifecycle: WebhookLifecycle;
  readonly ownerAlerts: OwnerAlerts;
  readonly ownFaults: Pick<OwnFaults, "met">;
  /** Publishes endpoint state for other processes; null if this is the only process. */
  readonly notes: OwnerNotes | null;
  /** Null if traces are not collected. */
  readonly spans: EventSpans | null;
}

/**
 * Settles attempts: the only writer of delivery state. The pure state machine decides; this class applies its decision
 * to the endpoint's gates immediately, and to the store through grouped commits.
 */
export class Settler {
  readonly #options: SettleOptions;

  constructor(options: SettleOptions) {
    this.#options = options;
  }

  /** Called when a request has ended. */
  attempted(flight: Flight, result: TransportResult): void {
    const now = this.#options.clock.now();
    const { endpoint, delivery } = flight;
    noteSunsetField(endpoint, result, now);
    const { verdict, retryAtOnce } = this.#judge(flight, result, now);
    this.#options.dispatcher().answered(flight, paceOf(result), result.observation.kind === "response");
    const retryAfter = retryAfterOf(flight, result, now);
    const retryAfterMs = retryAfter?.means.kind === "delay" ? retryAfter.means.delayMs : null;
    const event: HolderEvent = {
      kind: "attempted",
      verdict,
      executedAt: flight.startedAt,
      retryAfterMs,
      retryAtOnce,
    };
    const progress = this.#move(delivery.progress, { endpoint, delivery, event, now });
    this.#touchEndpoint(flight, { verdict, result, retryAfterMs, progress, now });
    const id = this.#options.nextId();
    const report = this.#reportOn(flight, {
      event,
      now,
      progress,
      attempt: (after) => attemptRecord(flight, { id, verdict, result, retryAfter, progress: after, now }),
    });
    this.#report(delivery, report);
    this.#count(flight, { verdict, result, progress });
    if (this.#options.spans !== null) this.#options.spans.attempted(flight, { verdict, result, progress });
  }

  #judge(flight: Flight, result: TransportResult, now: number): Judgement {
    const { endpoint, delivery, accessToken } = flight;
    const { tokens } = endpoint;
    const seen = classify(result.observation, endpoint.policy);
    if (seen.outcome === "accepted") return { verdict: seen, retryAtOnce: false };
    const isRejected = statusOf(result) === unauthorized && accessToken !== null && tokens !== null;
    if (isRejected && tokens.rejected(accessToken, delivery.id))
      return {
        verdict: { ...seen, outcome: "transient", reason: "access_token_rejected" },
        retryAtOnce: true,
      };
    const attemptNumber = scheduledAttempts(delivery.progress) + 1;
    const verdict = judge(seen, attemptNumber, endpoint.health.sunsetAt, now, endpoint.policy);
    return { verdict, retryAtOnce: false };
  }

  /** Ends a delivery without a request because it expired or its body was removed. */
  withoutAttempt(delivery: ClaimedDelivery, lane: Lane, event: HolderEvent): void {
    const { endpoint } = lane;
    const now = this.#options.clock.now();
    const progress = this.#move(delivery.progress, { endpoint, delivery, event, now });
    const firstAttemptAt = firstOfSchedule(progress);
    if (firstAttemptAt !== null && event.kind === "expired") {
      const decision = observeExhausted(endpoint.health, firstAttemptAt, now, endpoint.policy.disable);
      if (decision !== null) this.#options.lifecycle.decided(endpoint, decision);
    }
    this.#report(delivery, {
      endpoint,
      event,
      now,
      progress,
      attempt: null,
      isAwaited: lane.ordered,
      done: (written) => {
        if (written !== null || !lane.ordered) this.#options.dispatcher().dropped(lane);
        if (written === null) this.#options.dispatcher().lost({ lane });
      },
    });
  }

  /**
   * Called if no request was sent because the event and the webhook belong to different tenants. If the store confirms
   * this, the delivery ends. If only this process sees the difference, the delivery keeps its lease until it expires,
   * and the next process that claims it checks again.
   */
  stopped(flight: Flight, addressee: "foreign" | "unclear"): void {
    const { delivery, endpoint } = flight;
    const { telemetry, dispatcher } = this.#options;
    telemetry.metrics.alarmed("delivery_stopped");
    telemetry.log.error(
      {
        deliveryId: delivery.id,
        eventId: delivery.eventId,
        tenantId: delivery.tenantId,
        webhookId: delivery.webhookId,
        webhookTenantId: delivery.webhookTenantId,
        ...traceFields(delivery),
        servedWebhookId: endpoint.webhook.id,
        servedTenantId: endpoint.webhook.tenantId,
      },
      "a delivery was stopped: its event and its webhook do not belong to the same tenant",
    );
    if (flight.probe !== null) releaseProbe(endpoint.circuit, flight.probe);
    dispatcher().answered(flight, endpoint.pace, false);
    if (addressee === "unclear") return dispatcher().lost(flight);
    const now = this.#options.clock.now();
    const event: HolderEvent = { kind: "foreign_webhook" };
    const progress = this.#move(delivery.progress, { endpoint, delivery, event, now });
    this.#report(delivery, this.#reportOn(flight, { event, now, progress, attempt: null }));
  }

  /**
   * Called if the request could not be built or passed to the network. This is a bug in this program, so the delivery
   * ends with a reason that says so. The circuit, the limits and the attempts are unchanged, and the owner is not
   * notified.
   */
  notComposed(flight: Flight, error: Error): void {
    const { delivery, endpoint } = flight;
    this.#options.ownFaults.met(error, {
      deliveryId: delivery.id,
      eventId: delivery.eventId,
      webhookId: delivery.webhookId,
      ...traceFields(delivery),
    });
    if (flight.probe !== null) releaseProbe(endpoint.circuit, flight.probe);
    endpoint.returnRate();
    this.#options.dispatcher().answered(flight, endpoint.pace, false);
    const now = this.#options.clock.now();
    const event: HolderEvent = { kind: "compose_failed" };
    const progress = this.#move(delivery.progress, { endpoint, delivery, event, now });
    this.#report(delivery, this.#reportOn(flight, { event, now, progress, attempt: null }));
  }

  #move(
    progress: DeliveryProgress<WaitingState | GivenUpState>,
    by: Pick<Report, "endpoint" | "event" | "now"> & { readonly delivery: ClaimedDelivery },
  ): DeliveryProgress {
    const { event, now, delivery } = by;
    const policy = withDelays(by.endpoint.policy, delivery.relayed?.retryDelaysMs?.[delivery.webhookId]);
    return transition({ progress, event, policy, now, random: this.#options.random.uniform() });
  }

  #touchEndpoint(
    flight: Flight,
    attempt: SettledAttempt & { readonly retryAfterMs: number | null; readonly now: number },
  ): void {
    const { endpoint } = flight;
    const { verdict, now } = attempt;
    const statusCode = statusOf(attempt.result);
    this.#recordCircuit(flight, verdict, statusCode, now);
    if (verdict.outcome === "accepted") endpoint.succeeded(now);
    else this.#pause(flight, verdict, statusCode, attempt.retryAfterMs, now);
    const decision = observeHealth(
      endpoint.health,
      { verdict, statusCode, now, exhausted: exhaustedOf(attempt.progress) },
      endpoint.policy.disable,
    );
    // Failures are written immediately and successes later, except for the success that ends a series of failures.
    if (endpoint.attempted(verdict.outcome !== "accepted")) this.#options.states.changed(endpoint);
    if (decision !== null) this.#options.lifecycle.decided(endpoint, decision);
    if (verdict.outcome !== "accepted") this.#alertOwner(flight, attempt);
  }

  /** Alerts the owner, and stores the new URL after a 308. */
  #alertOwner(flight: Flight, { verdict, result }: Pick<SettledAttempt, "verdict" | "result">): void {
    const { endpoint, delivery } = flight;
    const statusCode = statusOf(result);
    const location = result.fields.location ?? null;
    if (verdict.attention !== undefined) {
      const shown = shownLocation(flight, result);
      this.#options.ownerAlerts.report(endpoint, {
        deliveryId: delivery.id,
        attention: verdict.attention,
        reason: verdict.reason,
        statusCode,
        location: shown,
        pausedUntil: null,
      });
    }
    if (statusCode === permanentRedirect && location !== null && endpoint.policy.followPermanentRedirect)
      this.#options.lifecycle.movedPermanently(endpoint, flight.webhook.url, location);
  }

  #recordCircuit(flight: Flight, verdict: Verdict, statusCode: number | null, now: number): void {
    const { endpoint, probe } = flight;
    const signal = circuitSignal(endpoint.policy, verdict, statusCode);
    if (signal === "ignored") {
      if (probe !== null) releaseProbe(endpoint.circuit, probe);
      return;
    }
    const move = recordResult(
      endpoint.circuit,
      endpoint.policy.circuitBreaker,
      now,
      signal === "success",
      probe,
    );
    if (this.#options.notes !== null) this.#options.notes.counted(endpoint, signal === "success");
    if (move !== null) this.#options.states.circuitMoved(endpoint, move);
  }

  #pause(
    flight: Flight,
    verdict: Verdict,
    statusCode: number | null,
    retryAfterMs: number | null,
    now: number,
  ): void {
    const { endpoint } = flight;
    this.#options.states.changed(endpoint);
    const { pauses, ageMsMax } = endpoint.policy;
    const asked = endpointPause(verdict, statusCode, retryAfterMs, now, pauses);
    if (asked === null) return;
    const pause = boundedPause(asked, now, ageMsMax);
    if (!endpoint.pause(pause, now) || pause.until - now < pauseAlertMs) return;
    this.#options.ownerAlerts.report(endpoint, {
      deliveryId: flight.delivery.id,
      statusCode,
      location: null,
      attention: "notify",
      reason: "long_pause",
      pausedUntil: pause.until,
    });
  }

  /**
   * Builds the report on a request that was sent or stopped. Its lane counts as settling until the report is written.
   */
  #reportOn(flight: Flight, decided: Omit<Report, "endpoint" | "isAwaited" | "done">): Report {
    const { endpoint, lane } = flight;
    lane.settlementBegan();
    const done = (written: DeliveryProgress | null): void => {
      lane.settlementEnded();
      if (written === null) return this.#lost(flight);
      this.#options.dispatcher().settled(flight, written.state === "failed" ? written.dueAt : null);
    };
    const { progress, now } = decided;
    const isAwaited = lane.ordered || (progress.state === "failed" && progress.dueAt <= now);
    return { ...decided, endpoint, isAwaited, done };
  }

  #report(delivery: ClaimedDelivery, report: Report): void {
    const { progress } = report;
    if (progress.state === "exhausted" && report.event.kind !== "compose_failed")
      this.#options.ownerAlerts.exhausted(report.endpoint, delivery, progress);
    this.#options.commits.settle({
      settlement: settlementOf(delivery, report),
      delivery,
      isAwaited: report.isAwaited,
      done: (result) => {
        if (result.kind === "ended") return this.#reportLate(delivery, report, result.progress);
        if (result.kind === "written" && progress.state === "exhausted")
          this.#logDeadLetter(delivery, progress);
        report.done(result.kind === "written" ? progress : null);
      },
    });
  }

  /**
   * Called if the delivery was ended elsewhere while it was in flight, without losing its lease. Applies the result to
   * the current stored state.
   */
  #reportLate(delivery: ClaimedDelivery, report: Report, ended: DeliveryProgress<GivenUpState>): void {
    const progress = this.#move(ended, { ...report, delivery });
    if (progress === ended) return report.done(ended);
    this.#options.commits.settle({
      settlement: { ...settlementOf(delivery, { ...report, progress }), late: true },
      delivery,
      isAwaited: report.isAwaited,
      done: ({ kind }) => {
        if (kind === "written") this.#logLate(delivery, ended, progress);
        report.done(kind === "written" ? progress : null);
      },
    });
  }

  #count(flight: Flight, attempt: SettledAttempt): void {
    this.#options.telemetry.metrics.attemptSettled({
      status: attempt.progress.state,
      outcome: attempt.verdict.outcome,
      eventType: flight.delivery.eventType,
      tenantId: flight.delivery.tenantId,
      category: attempt.verdict.category ?? null,
      durationMs: attempt.result.durationMs,
      attemptNumber: attempt.progress.attemptCount,
    });
  }

  /** Writes one structured log line per dead letter (WDS-20). */
  #logDeadLetter(delivery: ClaimedDelivery, progress: DeliveryProgress): void {
    this.#options.telemetry.log.warn(
      {
        deliveryId: delivery.id,
        eventId: delivery.eventId,
        eventType: delivery.eventType,
        webhookId: delivery.webhookId,
        tenantId: delivery.tenantId,
        attempts: progress.attemptCount,
        reason: progress.reason,
        ...traceFields(delivery),
      },
      "delivery dead-lettered",
    );
  }

  #logLate(delivery: ClaimedDelivery, ended: DeliveryProgress, progress: DeliveryProgress): void {
    this.#options.telemetry.log.info(
      {
        deliveryId: delivery.id,
        webhookId: delivery.webhookId,
        was: ended.state,
        reason: ended.reason,
        is: progress.state,
        ...traceFields(delivery),
      },
      "a request completed after its delivery had ended",
    );
  }

  #lost(flight: Flight): void {
    const { delivery } = flight;
    this.#options.dispatcher().lost(flight);
    this.#options.telemetry.log.warn(
      { deliveryId: delivery.id, webhookId: delivery.webhookId, ...traceFields(delivery) },
      "the lease was lost before the attempt was settled; another worker decides",
    );
  }
}

/** What happened to a leased delivery, and the resulting state. */
interface Report {
  readonly endpoint: Endpoint;
  readonly event: HolderEvent;
  readonly now: number;
  readonly progress: DeliveryProgress;
  /** For the history; null if no request was sent. */
  readonly attempt: ((after: DeliveryProgress) => AttemptRecord) | null;
  /** Whether the next delivery of the lane, or an immediate retry of this one, waits for this write. */
  readonly isAwaited: boolean;
  /** Called with the stored state of the delivery, or with null if the lease was lost. */
  readonly done: (written: DeliveryProgress | null) => void;
}

function settlementOf(
  { lease }: ClaimedDelivery,
  { progress, attempt, now }: Pick<Report, "progress" | "attempt" | "now">,
): Settlement {
  return { lease, progress, attempt: attempt === null ? null : attempt(progress), settledAt: now };
}

interface Judgement {
  readonly verdict: Verdict;
  readonly retryAtOnce: boolean;
}

const unauthorized = 401;
const permanentRedirect = 308;
/** The owner is notified of pauses of at least this length. */
const pauseAlertMs = 3_600_000;

/** Records the date of the `Sunset` header (RFC 8594); an invalid date is ignored. */
function noteSunsetField({ health }: Endpoint, { fields }: TransportResult, now: number): void {
  if (fields.sunset !== undefined) noteSunset(health, parseHttpDate(fields.sunset.trim(), now));
}

function retryAfterOf(
  flight: Flight,
  { observation }: TransportResult,
  now: number,
): NotedAnswer["retryAfter"] {
  if (observation.kind !== "response" || observation.retryAfter === undefined) return undefined;
  const { retryAfter } = observation;
  const wasCut = retryAfter.length >= retryAfterLengthMax;
  return {
    value: masked(flight, retryAfter, wasCut),
    means: parseRetryAfter(retryAfter, now),
  };
}

function exhaustedOf(progress: DeliveryProgress): { readonly firstAttemptAt: number } | null {
  if (progress.state !== "exhausted") return null;
  if (progress.reason !== "max_attempts_exceeded" && progress.reason !== "expired") return null;
  const firstAttemptAt = firstOfSchedule(progress);
  return firstAttemptAt === null ? null : { firstAttemptAt };
}

/**
 * When the current series of attempts began. Failures before a manual retry are not counted against the endpoint a
 * second time.
 */
function firstOfSchedule(progress: DeliveryProgress): number | null {
  const { firstAttemptAt } = progress;
  return firstAttemptAt === null ? null : Math.max(firstAttemptAt, agesFrom(progress));
}

import { circuitSignal, recordResult, releaseProbe } from "../../core/circuit-breaker.ts";
import { classify, judge } from "../../core/classify.ts";
import type { AttemptRecord, DeliveryProgress } from "../../core/delivery.ts";
import { transition } from "../../core/delivery-state.ts";
import type { DeliveryEvent } from "../../core/delivery-state.ts";
import { boundedPause, endpointPause, observeExhausted, observeHealth } from "../../core/endpoint-health.ts";
import type { Verdict } from "../../core/outcome.ts";
import { parseHttpDate, parseRetryAfter } from "../../core/http/retry-after.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  responseFieldLengthMax,
  responseSampleBytesMax,
  retryAfterLengthMax,
} from "../../ports/transport.ts";
import type { TransportResult } from "../../ports/transport.ts";
import type { OwnerAlerts } from "./owner-alerts.ts";
import { attemptNotes, type NotedAnswer } from "./attempt-notes.ts";
import type { CommitGroup } from "../publish/commit-group.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Flight } from "../dispatch/flight.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import { paceOf } from "../endpoint/pace.ts";
import type { EndpointNotes } from "../cluster/endpoint-notes.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import type { WebhookLifecycle } from "../endpoint/webhook-lifecycle.ts";

export interface SettleOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly commits: CommitGroup;
  readonly dispatcher: () => Dispatcher;
  readonly nextId: () => string;
  readonly states: EndpointStates;
  readonly lifecycle: WebhookLifecycle;
  readonly ownerAlerts: OwnerAlerts;
  /** Notes on endpoints for other processes; null without them. */
  readonly notes: EndpointNotes | null;
}

/**
 * Settles attempts: the only writer of delivery state. The pure state machine decides; this carries its decision to the
 * endpoint's gates at once, and to the store through the grouped commits.
 */
export class Settler {
  readonly #options: SettleOptions;

  constructor(options: SettleOptions) {
    this.#options = options;
  }

  /** A request ended. */
  attempted(flight: Flight, result: TransportResult): void {
    const now = this.#options.clock.now();
    const { endpoint } = flight;
    noteSunset(endpoint, result, now);
    const { verdict, retryAtOnce } = this.#judge(flight, result, now);
    this.#options.dispatcher().answered(flight, paceOf(result));
    const retryAfter = retryAfterOf(flight, result, now);
    const retryAfterMs = retryAfter?.means.kind === "delay" ? retryAfter.means.delayMs : null;
    const event: DeliveryEvent = {
      ...{ kind: "attempted", verdict, executedAt: flight.startedAt },
      ...{ retryAfterMs, retryAtOnce },
    };
    const progress = this.#move(flight.delivery, { endpoint, event, now });
    this.#touchEndpoint(flight, { verdict, result, retryAfterMs, progress, now });
    const notes = attemptNotes(flight, { retryAfter, progress, now });
    const attempt = this.#attemptRecord(flight, { verdict, result, progress, notes });
    this.#commit(flight, { progress, attempt, settledAt: now });
    this.#count(flight, { verdict, result, progress });
  }

  #judge(flight: Flight, result: TransportResult, now: number): Judgement {
    const { endpoint, delivery, accessToken } = flight;
    const { tokens } = endpoint;
    const seen = classify(result.observation, endpoint.policy);
    if (seen.outcome === "accepted") return { verdict: seen, retryAtOnce: false };
    const isRejected = statusOf(result) === unauthorized && accessToken !== null && tokens !== null;
    if (isRejected && tokens.rejected({ accessToken, deliveryId: delivery.id }))
      return {
        verdict: { ...seen, outcome: "transient", reason: "access_token_rejected" },
        retryAtOnce: true,
      };
    const circumstances = {
      attemptNumber: delivery.progress.attemptCount + 1,
      sunsetAt: endpoint.health.sunsetAt,
      now,
    };
    return { verdict: judge(seen, circumstances, endpoint.policy), retryAtOnce: false };
  }

  /** A delivery ends without a request: it expired, or its body is gone. */
  withoutAttempt(delivery: ClaimedDelivery, lane: Lane, event: DeliveryEvent): void {
    const { endpoint } = lane;
    const now = this.#options.clock.now();
    const progress = this.#move(delivery, { endpoint, event, now });
    if (progress.firstAttemptAt !== null && event.kind === "expired") {
      const { firstAttemptAt } = progress;
      const decision = observeExhausted(endpoint.health, { firstAttemptAt, now }, endpoint.policy.disable);
      if (decision !== null) this.#options.lifecycle.decided(endpoint, decision);
    }
    this.#logDeadLetter(delivery, progress);
    this.#options.commits.settle({
      settlement: { lease: delivery.lease, progress, attempt: null, settledAt: now },
      done: (written) => {
        if (written || !lane.ordered) this.#options.dispatcher().dropped(lane);
        if (!written) this.#options.dispatcher().lost({ lane });
      },
    });
  }

  /**
   * No request was made, because event and webhook are not the same tenant's. Stored that way, the delivery ends. When
   * only this process sees it that way, it keeps the lease until that runs out, and the next process that claims it
   * looks again.
   */
  stopped(flight: Flight, addressee: "foreign" | "unclear"): void {
    const { delivery, endpoint, lane } = flight;
    const { telemetry, dispatcher } = this.#options;
    telemetry.metrics.alarmed("delivery_stopped");
    telemetry.log.error(
      {
        ...{ deliveryId: delivery.id, eventId: delivery.eventId, tenantId: delivery.tenantId },
        ...{ webhookId: delivery.webhookId, webhookTenantId: delivery.webhookTenantId },
        ...{ servedWebhookId: endpoint.webhook.id, servedTenantId: endpoint.webhook.tenantId },
      },
      "a delivery was stopped: its event and its webhook do not belong to the same tenant",
    );
    if (flight.probe !== null) releaseProbe(endpoint.circuit, flight.probe);
    dispatcher().answered(flight, endpoint.pace);
    if (addressee === "unclear") return dispatcher().lost(flight);
    const now = this.#options.clock.now();
    const progress = this.#move(delivery, { endpoint, now, event: { kind: "foreign_webhook" } });
    this.#logDeadLetter(delivery, progress);
    lane.settling += 1;
    this.#options.commits.settle({
      settlement: { lease: delivery.lease, progress, attempt: null, settledAt: now },
      done: (written) => {
        lane.settling -= 1;
        if (written) dispatcher().settled(flight, null);
        else this.#lost(flight);
      },
    });
  }

  #move(
    delivery: ClaimedDelivery,
    by: { readonly endpoint: Endpoint; readonly event: DeliveryEvent; readonly now: number },
  ): DeliveryProgress {
    const { event, now } = by;
    const { policy } = by.endpoint;
    const random = this.#options.random.uniform();
    const result = transition({ progress: delivery.progress, event, policy, now, random });
    if (result.kind === "moved") return result.progress;
    throw new Error(
      `delivery ${delivery.id}: ${event.kind} in state ${delivery.progress.state} was ${result.reason}`,
    );
  }

  #touchEndpoint(
    flight: Flight,
    attempt: SettledAttempt & { readonly retryAfterMs: number | null; readonly now: number },
  ): void {
    const { endpoint } = flight;
    const { verdict, now } = attempt;
    const statusCode = statusOf(attempt.result);
    this.#recordCircuit(flight, { verdict, statusCode, now });
    if (verdict.outcome === "accepted") endpoint.succeeded(now);
    else this.#pause(flight, { verdict, statusCode, retryAfterMs: attempt.retryAfterMs, now });
    const decision = observeHealth(
      endpoint.health,
      { verdict, statusCode, now, exhausted: exhaustedOf(attempt.progress) },
      endpoint.policy.disable,
    );
    if (decision !== null) this.#options.lifecycle.decided(endpoint, decision);
    if (verdict.outcome !== "accepted") this.#alertOwner(flight, attempt);
  }

  /** Alerts the owner and follows a 308. */
  #alertOwner(flight: Flight, { verdict, result }: Pick<SettledAttempt, "verdict" | "result">): void {
    const { endpoint, delivery } = flight;
    const statusCode = statusOf(result);
    const location = result.fields.location ?? null;
    if (verdict.attention !== undefined) {
      const shown = shownLocation(flight, result);
      this.#options.ownerAlerts.report(endpoint, {
        ...{ deliveryId: delivery.id, attention: verdict.attention, reason: verdict.reason },
        ...{ statusCode, location: shown, pausedUntil: null },
      });
    }
    if (statusCode === permanentRedirect && location !== null && endpoint.policy.followPermanentRedirect)
      this.#options.lifecycle.movedPermanently(endpoint, { from: flight.url, location });
  }

  #recordCircuit(
    flight: Flight,
    attempt: { readonly verdict: Verdict; readonly statusCode: number | null; readonly now: number },
  ): void {
    const { endpoint, probe } = flight;
    const signal = circuitSignal(endpoint.policy, attempt.verdict, attempt.statusCode);
    if (signal === "ignored") {
      if (probe !== null) releaseProbe(endpoint.circuit, probe);
      return;
    }
    const move = recordResult(endpoint.circuit, endpoint.policy.circuitBreaker, {
      now: attempt.now,
      accepted: signal === "success",
      lease: probe,
    });
    if (this.#options.notes !== null) this.#options.notes.counted(endpoint, signal === "success");
    if (move !== null) this.#options.states.circuitMoved(endpoint, move);
  }

  #pause(
    flight: Flight,
    attempt: {
      readonly verdict: Verdict;
      readonly statusCode: number | null;
      readonly retryAfterMs: number | null;
      readonly now: number;
    },
  ): void {
    const { endpoint } = flight;
    this.#options.states.changed(endpoint);
    const { pauses, ageMsMax } = endpoint.policy;
    const asked = endpointPause(attempt, pauses);
    if (asked === null) return;
    const pause = boundedPause(asked, { now: attempt.now, ageMsMax });
    if (!endpoint.pause(pause) || pause.until - attempt.now < pauseAlertMs) return;
    this.#options.ownerAlerts.report(endpoint, {
      ...{ deliveryId: flight.delivery.id, statusCode: attempt.statusCode, location: null },
      ...{ attention: "notify", reason: "long_pause", pausedUntil: pause.until },
    });
  }

  #attemptRecord(flight: Flight, attempt: SettledAttempt & Pick<AttemptRecord, "notes">): AttemptRecord {
    const { verdict, result, progress, notes } = attempt;
    return {
      id: this.#options.nextId(),
      number: progress.attemptCount,
      outcome: verdict.outcome,
      receiverStateUnknown: verdict.receiverStateUnknown,
      category: verdict.category ?? null,
      statusCode: statusOf(result),
      responseSample: sampleText(flight, result),
      errorMessage: errorMessage(flight, result),
      durationMs: Math.round(result.durationMs),
      scheduledAt: flight.delivery.progress.dueAt,
      executedAt: flight.startedAt,
      nextRetryAt: progress.state === "failed" ? progress.dueAt : null,
      notes,
    };
  }

  #commit(
    flight: Flight,
    settled: {
      readonly progress: DeliveryProgress;
      readonly attempt: AttemptRecord;
      readonly settledAt: number;
    },
  ): void {
    const { progress } = settled;
    const retryAt = progress.state === "failed" ? progress.dueAt : null;
    if (progress.state === "exhausted") this.#logDeadLetter(flight.delivery, progress);
    flight.lane.settling += 1;
    this.#options.commits.settle({
      settlement: { lease: flight.delivery.lease, ...settled },
      done: (written) => {
        flight.lane.settling -= 1;
        if (written) this.#options.dispatcher().settled(flight, retryAt);
        else this.#lost(flight);
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

  /** WDS-20: one structured line per dead letter. */
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
      },
      "delivery dead-lettered",
    );
  }

  #lost(flight: Flight): void {
    this.#options.dispatcher().lost(flight);
    this.#options.telemetry.log.warn(
      { deliveryId: flight.delivery.id, webhookId: flight.delivery.webhookId },
      "the lease was lost before the attempt was settled; another worker decides",
    );
  }
}

interface Judgement {
  readonly verdict: Verdict;
  readonly retryAtOnce: boolean;
}

interface SettledAttempt {
  readonly verdict: Verdict;
  readonly result: TransportResult;
  readonly progress: DeliveryProgress;
}

const unauthorized = 401;
const permanentRedirect = 308;
/** The owner hears of a pause that lasts this long. */
const pauseAlertMs = 3_600_000;

/** RFC 8594; a date that cannot be read says nothing. */
function noteSunset(endpoint: Endpoint, { fields }: TransportResult, now: number): void {
  if (fields.sunset !== undefined) endpoint.health.sunsetAt = parseHttpDate(fields.sunset.trim(), now);
}

function statusOf(result: TransportResult): number | null {
  return result.observation.kind === "response" ? result.observation.status : null;
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
    value: masked(flight, { text: retryAfter, wasCut }),
    means: parseRetryAfter(retryAfter, now),
  };
}

function exhaustedOf(progress: DeliveryProgress): { readonly firstAttemptAt: number } | null {
  if (progress.state !== "exhausted" || progress.firstAttemptAt === null) return null;
  const gaveUp = progress.reason === "max_attempts_exceeded" || progress.reason === "expired";
  return gaveUp ? { firstAttemptAt: progress.firstAttemptAt } : null;
}

function errorMessage(flight: Flight, result: TransportResult): string | null {
  const location = shownLocation(flight, result);
  return location === null ? result.errorMessage : `redirect to ${location} was not followed`;
}

const locationLengthMax = 500;

/** Where a redirect points, for people. */
function shownLocation(flight: Flight, { fields }: TransportResult): string | null {
  const { location } = fields;
  if (location === undefined) return null;
  const wasCut = location.length >= responseFieldLengthMax;
  return masked(flight, { text: location, wasCut }).slice(0, locationLengthMax);
}

const decoder = new TextDecoder("utf-8", { fatal: false });

function sampleText(flight: Flight, { responseSample }: TransportResult): string | null {
  if (responseSample === null || responseSample.length === 0) return null;
  const wasCut = responseSample.length >= responseSampleBytesMax;
  return masked(flight, { text: decoder.decode(responseSample), wasCut });
}

function masked(
  { endpoint, accessToken }: Flight,
  { text, wasCut }: { readonly text: string; readonly wasCut: boolean },
): string {
  const { shownSecrets } = endpoint.config;
  const secrets = accessToken === null ? shownSecrets : [accessToken, ...shownSecrets];
  return maskSecrets(text, { secrets, wasCut });
}

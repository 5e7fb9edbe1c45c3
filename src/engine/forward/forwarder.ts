import { backoffMs } from "../../domain/retry-schedule.ts";
import { allow, circuitSignal, recordResult, releaseProbe } from "../../domain/circuit-breaker.ts";
import { type Verdict, classify } from "../../domain/classify.ts";
import { attemptTimeoutMs } from "../../domain/delivery-policy.ts";
import type { AttemptRecord } from "../../domain/delivery.ts";
import { boundedPause, endpointPause } from "../../domain/endpoint-health.ts";
import { bodyText } from "../../domain/http/body-text.ts";
import { parseRetryAfter } from "../../domain/http/retry-after.ts";
import { tryTake } from "../../domain/rate-limit.ts";
import { Places } from "../../domain/sender-places.ts";
import { errorOf } from "../../domain/thrown.ts";
import { type Relayed, withRelayedPath } from "../../features/gateway/relayed.ts";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import type { AttemptedDelivery, NewDelivery, PublishCommand } from "../../ports/store/deliveries.ts";
import type { AnswerCompletion } from "../../ports/store/gateway.ts";
import {
  responseBodyBytesMaxAllowed,
  responseSampleBytesMax,
  type TransportResult,
} from "../../ports/transport.ts";
import { notSent, statusOf } from "../attempt/attempt-record.ts";
import type { OwnFaults } from "../attempt/own-faults.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { AccessToken } from "../credentials/oauth2-tokens.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedByRate, closedGate } from "../endpoint/gates.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { ComposedDelivery } from "../message/compose.ts";

/** The response for repeats of a message; null if none is stored. */
type KeptAnswer = AnswerCompletion | null;

/** One request that was sent while a sender waited. All requests of one message share one event. */
export interface ForwardedAttempt {
  readonly delivery: ComposedDelivery;
  readonly verdict: Verdict;
  readonly result: TransportResult;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

/**
 * Records forwarded messages after they are complete: the event, a delivery with its attempt for each request, and the
 * response for repeats. One transaction stores and settles them. With two transactions, another process, which may not
 * own the webhook, could lease the pending row between them. An owner that acquires the webhook at that moment would
 * also send the message again, although its sender got an error. An ordered lane has one delivery at a time, so only
 * the event is recorded there.
 */
export class ForwardRecord {
  readonly #clock: Pick<Clock, "now">;
  readonly #commits: Pick<CommitGroup, "publish">;
  readonly #nextId: () => string;
  readonly #leaseMs: number;

  constructor(
    clock: Pick<Clock, "now">,
    commits: Pick<CommitGroup, "publish">,
    nextId: () => string,
    leaseMs: number,
  ) {
    this.#clock = clock;
    this.#commits = commits;
    this.#nextId = nextId;
    this.#leaseMs = leaseMs;
  }

  /** Resolves once the message is committed; rejects if the commit fails. */
  write(endpoint: Endpoint, attempts: readonly ForwardedAttempt[], answer: KeptAnswer): Promise<void> {
    const [first] = attempts;
    if (first === undefined) return Promise.resolve();
    const lane = endpoint.laneFor(first.delivery.eventType);
    const deliveries = lane.ordered ? [] : attempts.map((attempt) => this.#newDelivery(attempt, lane));
    const command: PublishCommand = {
      ...commandOf(first.delivery, deliveries, first.startedAt),
      ...(!lane.ordered && { attempted: attempts.map((attempt) => this.#settled(endpoint, attempt)) }),
      ...(answer !== null && { answer }),
    };
    return new Promise((resolve, reject) => {
      this.#commits.publish({
        size: { rows: 1 + deliveries.length, bytes: command.event.body.length },
        compose: () => command,
        done: (result) => (result instanceof Error ? reject(result) : resolve()),
      });
    });
  }

  #newDelivery({ delivery, startedAt }: ForwardedAttempt, lane: Lane): NewDelivery {
    return {
      id: delivery.id,
      lane: lane.key,
      priority: "normal",
      dueAt: startedAt,
      createdAt: startedAt,
      origin: "publish",
      format: delivery.format,
      leaseUntil: startedAt + this.#leaseMs,
      state: "pending",
      reason: null,
      claim: true,
    };
  }

  #settled(endpoint: Endpoint, attempt: ForwardedAttempt): AttemptedDelivery {
    const { verdict, startedAt } = attempt;
    const isAccepted = verdict.outcome === "accepted";
    return {
      progress: {
        attemptCount: 1,
        createdAt: startedAt,
        firstAttemptAt: startedAt,
        dueAt: startedAt,
        state: isAccepted ? "success" : "cancelled",
        reason: isAccepted ? null : `passed_through_${verdict.reason}`,
        retried: null,
      },
      attempt: recordOf(endpoint, this.#nextId(), attempt),
      settledAt: this.#clock.now(),
    };
  }
}

function commandOf(
  delivery: ComposedDelivery,
  deliveries: readonly NewDelivery[],
  startedAt: number,
): PublishCommand {
  const { eventId, tenantId, eventType, timestamp, source, contentType, relayed } = delivery;
  return {
    event: {
      id: eventId,
      tenantId,
      eventType,
      timestamp,
      source,
      contentType,
      relayed,
      raw: true,
      body: delivery.body ?? new Uint8Array(),
      idempotencyKey: null,
      fingerprint: null,
      priority: "normal",
      createdAt: startedAt,
      trace: null,
    },
    deliveries,
    dedupUntil: null,
  };
}

function recordOf({ config }: Endpoint, id: string, attempt: ForwardedAttempt): AttemptRecord {
  const { verdict, result, startedAt } = attempt;
  const sample = result.responseSample?.subarray(0, responseSampleBytesMax) ?? null;
  const text =
    sample === null || sample.length === 0 ? null : bodyText(sample, result.fields["content-type"]);
  const secrets = config.shownSecrets;
  return {
    id,
    number: 1,
    outcome: verdict.outcome,
    receiverStateUnknown: verdict.receiverStateUnknown,
    category: verdict.category ?? null,
    statusCode: statusOf(result),
    responseSample: text === null ? null : maskSecrets(text, secrets, true),
    errorMessage: result.errorMessage,
    durationMs: Math.round(result.durationMs),
    scheduledAt: startedAt,
    executedAt: startedAt,
    nextRetryAt: null,
    notes: null,
  };
}

/** A webhook's response with its classification. */
export interface Answered {
  readonly verdict: Verdict;
  readonly result: TransportResult;
  readonly eventId: string;
}

/** The caller's interpretation of a response. */
export interface Judged {
  readonly keeps: KeptAnswer;
}

/** A message that is forwarded while its sender waits. */
export interface ForwardRequest<Judgement extends Judged> {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly eventType: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly source: string;
  readonly relayed: Relayed;
  /** Time limit of the whole forward, including retries. */
  readonly timeoutMs: number;
  /** Whether transient failures are retried while time remains. */
  readonly retries: boolean;
  /**
   * Judges the response. If a response is to be stored, it is committed with the attempts before the sender gets an
   * answer.
   */
  readonly judge: (answered: Answered) => Judgement;
}

/** The request was not sent. `waitMs` says how long the cause will last, if known. */
export interface Closed {
  readonly kind: "closed";
  readonly why: string;
  readonly waitMs: number | null;
}

/** The result of a forward. */
export type Forwarded<Judgement> = Closed | { readonly kind: "answered"; readonly judged: Judgement };

/** Delays between attempts, within the sender's time limit. */
const retryDelays = { delayMsMin: 250, delayMsMax: 5_000 };
const attemptsMax = 10;
/** If less time than this remains, no further attempt is made. */
const attemptMsMin = 250;
/** Minimum delay before a gate is checked again. */
const gateMsMin = 50;
/** Delay before a retry that found no free slot looks for one again. */
const fullWaitMs = 1_000;

/** The result of a request and the token that it contained, or why it could not be sent. */
type Sent = { readonly result: TransportResult; readonly accessToken: string | null } | OwnFault;

type OwnFault = "internal_compose_failed" | "local_shortage";

const tokenRejected = "access_token_rejected";

/** A forward in progress. */
interface Forwarding<Judgement extends Judged = Judged> {
  readonly endpoint: Endpoint;
  readonly request: ForwardRequest<Judgement>;
  readonly eventId: string;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  readonly attempts: ForwardedAttempt[];
}

/**
 * Forwards a message while its sender waits. Makes one attempt immediately, and retries only if requested. The gates of
 * the webhook apply, its circuit counts the results, and attempts are recorded like all others. Further retries are up
 * to the sender, who gets the result.
 */
export class Forwarder {
  readonly #options: EngineOptions;
  readonly #nextId: () => string;
  readonly #states: EndpointStates;
  readonly #ownFaults: OwnFaults;
  readonly #places: Places;
  readonly #record: ForwardRecord;

  constructor(
    options: EngineOptions,
    commits: CommitGroup,
    nextId: () => string,
    states: EndpointStates,
    ownFaults: OwnFaults,
  ) {
    const { clock, limits } = options;
    this.#options = options;
    this.#nextId = nextId;
    this.#states = states;
    this.#ownFaults = ownFaults;
    this.#record = new ForwardRecord(clock, commits, nextId, limits.leaseMs);
    const perKeyMax = limits.webhookConcurrency;
    this.#places = new Places({ totalMax: Number.POSITIVE_INFINITY, perKeyMax }, null);
  }

  async forward<Judgement extends Judged>(
    endpoint: Endpoint,
    request: ForwardRequest<Judgement>,
  ): Promise<Forwarded<Judgement>> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + request.timeoutMs;
    const attempts: ForwardedAttempt[] = [];
    const forwarding: Forwarding<Judgement> = {
      endpoint,
      request,
      eventId: this.#nextId(),
      deadlineMs,
      attempts,
    };
    for (;;) {
      const closed = await this.#attempt(forwarding);
      const delayMs = this.#retryDelayMs(forwarding, closed);
      if (delayMs === null) return this.#ended(forwarding, closed);
      await new Promise<void>((resolve) => void clock.schedule(delayMs, resolve));
    }
  }

  /** Ends a forward. The sender gets the result of the last request, or the closed gate if no request was sent. */
  async #ended<Judgement extends Judged>(
    { endpoint, attempts, eventId, request }: Forwarding<Judgement>,
    closed: Closed | null,
  ): Promise<Forwarded<Judgement>> {
    const last = attempts.at(-1);
    if (last === undefined) return closed ?? { kind: "closed", why: "not_sent", waitMs: null };
    const { verdict, result } = last;
    const judged = request.judge({ verdict, result, eventId });
    const written = this.#record
      .write(endpoint, attempts, judged.keeps)
      .catch((error: unknown) => this.#notWritten(endpoint, error));
    if (judged.keeps !== null) await written;
    return { kind: "answered", judged };
  }

  /** The webhook has already processed the message, so the result is returned even if the store fails. */
  #notWritten({ webhook }: Endpoint, error: unknown): void {
    const fields = { err: String(error), webhookId: webhook.id };
    this.#options.telemetry.log.warn(fields, "recording a forwarded message failed");
  }

  /**
   * Makes one attempt. Returns null if a request was sent and recorded among the attempts, otherwise the reason why
   * not.
   */
  async #attempt(forwarding: Forwarding): Promise<Closed | null> {
    const { endpoint } = forwarding;
    const now = this.#options.clock.now();
    const gate = closedGate(endpoint, now) ?? closedByRate(endpoint, now);
    if (gate !== null) {
      const waitMs = gate.until === null ? null : gate.until - now;
      return { kind: "closed", why: gate.waitingFor, waitMs };
    }
    const { id, tenantId } = endpoint.webhook;
    const free = this.#places.take({ tenantId, key: id }, 0, now);
    if (free === null) {
      // A retry waits only a fixed time for a slot, because its sender is already waiting.
      const waitMs = forwarding.attempts.length === 0 ? this.#places.returnsInMs(id, now) : fullWaitMs;
      return { kind: "closed", why: "concurrency", waitMs };
    }
    try {
      return await this.#attemptAt(forwarding, now);
    } finally {
      free(this.#options.clock.now());
    }
  }

  async #attemptAt(forwarding: Forwarding, now: number): Promise<Closed | null> {
    const { endpoint, attempts, deadlineMs } = forwarding;
    const { clock } = this.#options;
    const circuit = allow(endpoint.circuit, endpoint.policy.circuitBreaker, now);
    if (circuit.kind === "deny") return { kind: "closed", why: "circuit_open", waitMs: circuit.until - now };
    const probe = circuit.kind === "allow" ? null : circuit.lease;
    if (circuit.kind !== "allow" && circuit.transition !== null)
      this.#states.circuitMoved(endpoint, circuit.transition);
    endpoint.tenantQueue.takeRate(now);
    if (endpoint.bucket !== null) tryTake(endpoint.bucket, now);
    const delivery = this.#deliveryOf(forwarding, now);
    const timeoutMs = Math.max(1, deadlineMs - clock.monotonicMs());
    const sent = await this.#send(endpoint, delivery, timeoutMs, now);
    if (typeof sent === "string") {
      if (probe !== null) releaseProbe(endpoint.circuit, probe);
      endpoint.returnRate();
      return { kind: "closed", why: sent, waitMs: null };
    }
    const { result, accessToken } = sent;
    const verdict = verdictOn(forwarding, { result, accessToken });
    this.#learn(endpoint, verdict, result, probe);
    this.#pause(endpoint, verdict, result);
    attempts.push({ delivery, verdict, result, startedAt: now });
    return null;
  }

  /** Delay until the next retry; null if no retry follows. Respects the receiver's `Retry-After` and the gates. */
  #retryDelayMs(
    { endpoint, request, attempts, deadlineMs }: Forwarding,
    closed: Closed | null,
  ): number | null {
    const last = attempts.at(-1);
    if (last?.verdict.reason === tokenRejected && closed === null)
      return this.#timeIsLeft(deadlineMs) ? 0 : null;
    if (!request.retries || last?.verdict.outcome !== "transient" || attempts.length >= attemptsMax)
      return null;
    const { clock } = this.#options;
    const now = clock.now();
    const gateMs = closed === null ? (endpoint.pausedUntil ?? now) - now : closed.waitMs;
    if (gateMs === null) return null;
    const askedMs = retryAfterMsOf(last.result, now) ?? 0;
    const ownMs = backoffMs(retryDelays, attempts.length - 1);
    const delayMs = closed === null ? Math.max(askedMs, ownMs, gateMs) : Math.max(gateMs, gateMsMin);
    return this.#timeIsLeft(deadlineMs - delayMs) ? delayMs : null;
  }

  #timeIsLeft(deadlineMs: number): boolean {
    return this.#options.clock.monotonicMs() + attemptMsMin <= deadlineMs;
  }

  async #send(endpoint: Endpoint, delivery: ComposedDelivery, timeoutMs: number, now: number): Promise<Sent> {
    const { clock } = this.#options;
    try {
      const { config, tokens } = endpoint;
      const asked =
        tokens === null ? null : withDeadline(Promise.resolve(tokens.token()), { clock, timeoutMs });
      const token = asked === null ? null : ((await asked) ?? tokenIsLate);
      if (token?.kind === "failed")
        return token.shortage !== undefined
          ? this.#short()
          : { result: notSent(token.detail), accessToken: null };
      const { headers, body } = config.compose(delivery, now);
      if (token !== null) headers.push("Authorization", `Bearer ${token.accessToken}`);
      const result = await this.#options.transport.send({
        method: "POST",
        origin: config.origin,
        path: withRelayedPath(config.path, delivery.relayed),
        headers,
        body,
        timeoutMs: Math.min(timeoutMs, attemptTimeoutMs(config.policy, 1)),
        http2: config.http2,
        clientCertificate: config.clientCertificate,
        responseBodyBytesMax: responseBodyBytesMaxAllowed,
      });
      if (result.shortage !== undefined) return this.#short();
      if (result.malformed === true) throw new Error(result.errorMessage ?? "malformed request");
      return { result, accessToken: token?.accessToken ?? null };
    } catch (error) {
      this.#ownFaults.met(errorOf(error), { webhookId: endpoint.webhook.id });
      return "internal_compose_failed";
    }
  }

  #short(): OwnFault {
    this.#options.telemetry.metrics.alarmed("local_shortage");
    return "local_shortage";
  }

  #deliveryOf({ endpoint, request, eventId, attempts }: Forwarding, now: number): ComposedDelivery {
    const { webhookId, tenantId, eventType, contentType, body, source, relayed } = request;
    const id = this.#nextId();
    return {
      id,
      webhookId,
      tenantId,
      eventId,
      eventType,
      contentType,
      body,
      source,
      relayed,
      format: endpoint.policy.payloadFormat,
      timestamp: now,
      idempotencyKey: null,
      raw: true,
      eventPriority: "normal",
      sequenceNumber: 0,
      trace: null,
      progress: { attemptCount: attempts.length },
    };
  }

  /** Updates the circuit of this process. If another process owns the webhook, that process has a separate circuit. */
  #learn(endpoint: Endpoint, verdict: Verdict, result: TransportResult, probe: number | null): void {
    const now = this.#options.clock.now();
    const signal = circuitSignal(endpoint.policy, verdict, statusOf(result));
    if (signal === "ignored") {
      if (probe !== null) releaseProbe(endpoint.circuit, probe);
      return;
    }
    const accepted = signal === "success";
    const move = recordResult(endpoint.circuit, endpoint.policy.circuitBreaker, now, accepted, probe);
    if (move !== null) this.#states.circuitMoved(endpoint, move);
    if (verdict.outcome === "accepted") endpoint.succeeded(now);
    this.#states.changed(endpoint);
  }

  /** A pause requested by the receiver applies to all messages for that receiver. */
  #pause(endpoint: Endpoint, verdict: Verdict, result: TransportResult): void {
    const now = this.#options.clock.now();
    const { pauses, ageMsMax } = endpoint.policy;
    const asked = endpointPause(verdict, statusOf(result), retryAfterMsOf(result, now), now, pauses);
    if (asked === null) return;
    endpoint.pause(boundedPause(asked, now, ageMsMax), now);
    this.#states.changed(endpoint);
  }
}

/**
 * The verdict on a response. A rejected token is replaced, and the message is sent again immediately, but only once
 * (EDS-9.2.3-3).
 */
function verdictOn(
  { endpoint, eventId }: Forwarding,
  { result, accessToken }: Exclude<Sent, OwnFault>,
): Verdict {
  const seen = classify(result.observation, endpoint.policy);
  if (statusOf(result) !== 401 || accessToken === null) return seen;
  const isFirst = endpoint.tokens?.rejected(accessToken, eventId) === true;
  return isFirst ? { ...seen, outcome: "transient", reason: tokenRejected } : seen;
}

function retryAfterMsOf({ observation }: TransportResult, now: number): number | null {
  if (observation.kind !== "response") return null;
  const asked = parseRetryAfter(observation.retryAfter, now);
  return asked.kind === "delay" ? asked.delayMs : null;
}

const tokenIsLate: AccessToken = { kind: "failed", detail: "no access token was received in time" };

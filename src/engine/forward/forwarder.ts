import { allow, circuitSignal, recordResult, releaseProbe } from "../../core/circuit-breaker.ts";
import { classify } from "../../core/classify.ts";
import type { AttemptRecord } from "../../core/delivery.ts";
import type { Verdict } from "../../core/outcome.ts";
import { tryTake } from "../../core/rate-limit.ts";
import { withRelayedPath, type Relayed } from "../../core/gateway/relayed.ts";
import { attemptTimeoutMs } from "../../core/delivery-policy.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, NewDelivery, PublishCommand } from "../../ports/store/deliveries.ts";
import {
  noResponseFields,
  responseBodyBytesMaxAllowed,
  responseSampleBytesMax,
  type Transport,
  type TransportResult,
} from "../../ports/transport.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { statusOf } from "../attempt/attempt-record.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedByRate, closedGate } from "../endpoint/gates.ts";
import type { ComposedDelivery } from "../message/compose.ts";
import type { CommitGroup } from "../publish/commit-group.ts";
import { claimed } from "../publish/draft.ts";

/** A message that is sent while its sender waits. */
export interface ForwardRequest {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly eventType: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly source: string;
  readonly relayed: Relayed;
  readonly timeoutMs: number;
}

/** What became of it: `closed` was not sent, and `waitMs` says how long that is going to last, where it is known. */
export type Forwarded =
  | { readonly kind: "closed"; readonly why: string; readonly waitMs: number | null }
  | {
      readonly kind: "answered";
      readonly verdict: Verdict;
      readonly result: TransportResult;
      readonly eventId: string;
    };

export interface ForwarderOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly states: Pick<EndpointStates, "circuitMoved" | "changed">;
  readonly commits: Pick<CommitGroup, "publish" | "settle">;
  readonly nextId: () => string;
  readonly leaseMs: number;
  /** Requests in flight to one webhook. */
  readonly webhookConcurrency: number;
}

/** How long a sender is asked to wait for a free place. */
const placeWaitMs = 1_000;

/**
 * One attempt at once, while somebody waits: the gates of the webhook hold, its circuit learns, and the attempt is written
 * down as others are. Nothing is repeated: that is the sender's, who hears what became of it.
 */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #inFlight = new Map<string, number>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  async forward(endpoint: Endpoint, request: ForwardRequest): Promise<Forwarded> {
    const now = this.#options.clock.now();
    const closed = this.#closedFor(endpoint, now);
    if (closed !== null) return closed;
    const circuit = allow(endpoint.circuit, endpoint.policy.circuitBreaker, now);
    if (circuit.kind === "deny") return { kind: "closed", why: "circuit_open", waitMs: circuit.until - now };
    const probe = circuit.kind === "allow" ? null : circuit.lease;
    if (circuit.kind !== "allow" && circuit.transition !== null)
      this.#options.states.circuitMoved(endpoint, circuit.transition);
    endpoint.tenantQueue.takeRate(now);
    if (endpoint.bucket !== null) tryTake(endpoint.bucket, now);
    const delivery = this.#deliveryOf(endpoint, request, now);
    const result = await this.#send(endpoint, { delivery, request, now });
    const verdict = classify(result.observation, endpoint.policy);
    this.#learn(endpoint, { verdict, result, probe });
    this.#record(endpoint, { delivery, verdict, result, startedAt: now });
    return { kind: "answered", verdict, result, eventId: delivery.eventId };
  }

  #closedFor(endpoint: Endpoint, now: number): Forwarded | null {
    const gate = closedGate(endpoint, now) ?? closedByRate(endpoint, now);
    if (gate !== null)
      return { kind: "closed", why: gate.waitingFor, waitMs: gate.until === null ? null : gate.until - now };
    const running = this.#inFlight.get(endpoint.webhook.id) ?? 0;
    if (running < this.#options.webhookConcurrency) return null;
    return { kind: "closed", why: "concurrency", waitMs: placeWaitMs };
  }

  async #send(
    endpoint: Endpoint,
    sent: { readonly delivery: ComposedDelivery; readonly request: ForwardRequest; readonly now: number },
  ): Promise<TransportResult> {
    const { id } = endpoint.webhook;
    this.#inFlight.set(id, (this.#inFlight.get(id) ?? 0) + 1);
    try {
      const { config, tokens } = endpoint;
      const token = tokens === null ? null : await tokens.token();
      if (token?.kind === "failed") return notSent(token.detail);
      const { headers, body } = config.compose(sent.delivery, sent.now);
      if (token !== null) headers.push("Authorization", `Bearer ${token.accessToken}`);
      return await this.#options.transport.send({
        method: "POST",
        origin: config.origin,
        path: withRelayedPath(config.path, sent.delivery.relayed),
        headers,
        body,
        timeoutMs: Math.min(sent.request.timeoutMs, attemptTimeoutMs(config.policy, 1)),
        http2: config.http2,
        clientCertificate: config.clientCertificate,
        responseBodyBytesMax: responseBodyBytesMaxAllowed,
      });
    } catch (error) {
      this.#options.telemetry.log.error(
        { err: String(error), webhookId: id },
        "a message could not be passed on",
      );
      return notSent("the request could not be built");
    } finally {
      const left = (this.#inFlight.get(id) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(id);
      else this.#inFlight.set(id, left);
    }
  }

  #deliveryOf(endpoint: Endpoint, request: ForwardRequest, now: number): ComposedDelivery {
    const { webhookId, tenantId, eventType, contentType, body, source, relayed } = request;
    const { nextId } = this.#options;
    return {
      ...{ id: nextId(), webhookId, tenantId, eventId: nextId(), eventType, contentType, body, source },
      ...{ relayed, format: endpoint.policy.payloadFormat, timestamp: now, idempotencyKey: null, raw: true },
      ...{ eventPriority: "normal", sequenceNumber: 0, trace: null, progress: { attemptCount: 0 } },
    };
  }

  /** The circuit is that of this process; the owner of the webhook, where that is another one, has its own. */
  #learn(
    endpoint: Endpoint,
    seen: { readonly verdict: Verdict; readonly result: TransportResult; readonly probe: number | null },
  ): void {
    const { verdict, result, probe } = seen;
    const { clock, states } = this.#options;
    const now = clock.now();
    const signal = circuitSignal(endpoint.policy, verdict, statusOf(result));
    if (signal === "ignored") {
      if (probe !== null) releaseProbe(endpoint.circuit, probe);
      return;
    }
    const accepted = signal === "success";
    const move = recordResult(endpoint.circuit, endpoint.policy.circuitBreaker, {
      now,
      accepted,
      lease: probe,
    });
    if (move !== null) states.circuitMoved(endpoint, move);
    if (verdict.outcome === "accepted") endpoint.succeeded(now);
    states.changed(endpoint);
  }

  /** Event, delivery and attempt, written when all is over. An ordered lane has one delivery at a time: there the event alone is. */
  #record(
    endpoint: Endpoint,
    made: {
      readonly delivery: ComposedDelivery;
      readonly verdict: Verdict;
      readonly result: TransportResult;
      readonly startedAt: number;
    },
  ): void {
    const { commits } = this.#options;
    const { delivery, startedAt, verdict } = made;
    const lane = endpoint.laneFor(delivery.eventType);
    const stored: NewDelivery = {
      ...{ id: delivery.id, lane: lane.key, priority: "normal", dueAt: startedAt, createdAt: startedAt },
      ...{ origin: "publish", format: delivery.format, leaseUntil: startedAt + this.#options.leaseMs },
      ...{ state: "pending", reason: null, claim: true },
    };
    const command = commandOf(delivery, { deliveries: lane.ordered ? [] : [stored], startedAt });
    commits.publish({
      size: { rows: 2, bytes: command.event.body.length },
      compose: () => command,
      done: (result) => {
        const lease = result instanceof Error || result.kind !== "accepted" ? undefined : result.leases[0];
        if (lease === undefined || lease.leaseToken === 0 || result instanceof Error) return;
        const sequenceNumber = result.kind === "accepted" ? result.sequenceNumber : 0;
        const leased = claimed(
          { command, deliveries: [stored], lanes: [lane] },
          { delivery: stored, lease, webhookTenantId: delivery.tenantId, sequenceNumber },
        );
        this.#settle(endpoint, { ...made, leased, isAccepted: verdict.outcome === "accepted" });
      },
    });
  }

  #settle(
    endpoint: Endpoint,
    made: {
      readonly leased: ClaimedDelivery;
      readonly verdict: Verdict;
      readonly result: TransportResult;
      readonly startedAt: number;
      readonly isAccepted: boolean;
    },
  ): void {
    const { leased, verdict, startedAt, isAccepted } = made;
    const { clock, commits, nextId } = this.#options;
    commits.settle({
      settlement: {
        lease: leased.lease,
        progress: {
          ...leased.progress,
          attemptCount: 1,
          firstAttemptAt: startedAt,
          state: isAccepted ? "success" : "cancelled",
          reason: isAccepted ? null : `passed_through_${verdict.reason}`,
        },
        attempt: recordOf(endpoint, { ...made, id: nextId() }),
        settledAt: clock.now(),
      },
      delivery: leased,
      isAwaited: false,
      done: () => undefined,
    });
  }
}

function commandOf(
  delivery: ComposedDelivery,
  { deliveries, startedAt }: { readonly deliveries: readonly NewDelivery[]; readonly startedAt: number },
): PublishCommand {
  const { eventId, tenantId, eventType, timestamp, source, contentType, relayed } = delivery;
  return {
    event: {
      ...{ id: eventId, tenantId, eventType, timestamp, source, contentType, relayed, raw: true },
      ...{ body: delivery.body ?? new Uint8Array(), idempotencyKey: null, fingerprint: null },
      ...{ priority: "normal", createdAt: startedAt, trace: null },
    },
    deliveries,
    dedupUntil: null,
  };
}

function recordOf(
  { config }: Endpoint,
  made: {
    readonly id: string;
    readonly verdict: Verdict;
    readonly result: TransportResult;
    readonly startedAt: number;
  },
): AttemptRecord {
  const { id, verdict, result, startedAt } = made;
  const sample = result.responseSample?.subarray(0, responseSampleBytesMax) ?? null;
  const text = sample === null || sample.length === 0 ? null : new TextDecoder().decode(sample);
  const secrets = config.shownSecrets;
  return {
    ...{ id, number: 1, outcome: verdict.outcome, receiverStateUnknown: verdict.receiverStateUnknown },
    ...{ category: verdict.category ?? null, statusCode: statusOf(result) },
    responseSample: text === null ? null : maskSecrets(text, { secrets, wasCut: true }),
    errorMessage: result.errorMessage,
    durationMs: Math.round(result.durationMs),
    ...{ scheduledAt: startedAt, executedAt: startedAt, nextRetryAt: null, notes: null },
  };
}

function notSent(errorMessage: string): TransportResult {
  return {
    observation: { kind: "failure", category: "network", requestSent: false },
    ...{ responseSample: null, fields: noResponseFields, errorMessage, durationMs: 0 },
  };
}

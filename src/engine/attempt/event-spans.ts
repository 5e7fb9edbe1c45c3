import type { DeliveryProgress } from "../../domain/delivery.ts";
import type { Verdict } from "../../domain/classify.ts";
import { type KeptBecause, keptByEvent, SlowTimes } from "../../domain/tracing/sampling.ts";
import {
  attemptSpanId,
  publishSpanId,
  type Span,
  type SpanLink,
  traceIdOf,
} from "../../domain/tracing/trace-context.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NewEvent } from "../../ports/store/deliveries.ts";
import type { Tracer } from "../../ports/telemetry.ts";
import type { TransportResult } from "../../ports/transport.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { statusOf, waitsOf } from "./attempt-record.ts";
import type { Flight } from "./attempts.ts";

/** A completed request and its effect on the delivery. */
export interface SettledAttempt {
  readonly verdict: Verdict;
  readonly result: TransportResult;
  readonly progress: DeliveryProgress;
}

/**
 * Creates the spans of events. Waits until the outcome is known, and creates only spans that are kept. For all other
 * events, the cost is one check of the ID and one duration sample.
 */
export class EventSpans {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #slow = new WeakMap<Endpoint, SlowTimes>();
  readonly #publishedFor = new RecentIds();
  #troubleSecond = 0;
  #troubleCount = 0;

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  /** Creates the publish span if it is kept. Called when an event was committed. */
  published(event: NewEvent, deliveries: number): void {
    const kept = keptByEvent(event.id, event.trace, this.#tracer.sampling);
    if (kept === null) return;
    this.#tracer.ended(publishSpan({ ...event, endedAt: this.#clock.now(), deliveries }, kept));
  }

  /** Creates the span of an attempt if it is kept. Called when the attempt was settled. */
  attempted(flight: Flight, ended: SettledAttempt): void {
    const { delivery, endpoint } = flight;
    const isSlow = this.#isSlow(endpoint, ended);
    const failed = ended.verdict.outcome !== "accepted";
    const kept = keptByEvent(delivery.eventId, delivery.trace, this.#tracer.sampling);
    if (kept === null && !failed && !isSlow) return;
    const because = kept ?? this.#keptByTrouble(failed);
    if (because === null) return;
    // No publish span was exported yet, because this attempt is the first reason to trace the event.
    if (kept === null && this.#publishedFor.isNew(delivery.eventId)) {
      const { createdAt } = delivery.progress;
      const event = { ...delivery, id: delivery.eventId, createdAt, priority: delivery.eventPriority };
      this.#tracer.ended(publishSpan({ ...event, endedAt: createdAt, deliveries: null }, because));
    }
    this.#tracer.ended(deliverSpan(flight, ended, because));
  }

  #isSlow(endpoint: Endpoint, { result }: SettledAttempt): boolean {
    let times = this.#slow.get(endpoint);
    if (times === undefined) this.#slow.set(endpoint, (times = new SlowTimes()));
    return times.isSlow(result.durationMs);
  }

  #keptByTrouble(failed: boolean): KeptBecause | null {
    if (!this.#tracer.sampling.keepsTrouble) return null;
    const second = Math.floor(this.#clock.monotonicMs() / 1_000);
    if (second !== this.#troubleSecond) [this.#troubleSecond, this.#troubleCount] = [second, 0];
    this.#troubleCount += 1;
    if (this.#troubleCount > troublePerSecondMax) {
      this.#tracer.passedOver();
      return null;
    }
    return failed ? "failed" : "slow";
  }
}

/**
 * Maximum number of failed and slow attempts per second that are kept; an outage would otherwise flood the collector.
 */
const troublePerSecondMax = 50;

/** The IDs of the last few hundred events. */
class RecentIds {
  readonly #ids = new Set<string>();

  isNew(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > recentMax) {
      const [oldest = ""] = this.#ids;
      this.#ids.delete(oldest);
    }
    return true;
  }
}

const recentMax = 512;

type TracedEvent = Pick<NewEvent, "id" | "tenantId" | "eventType" | "priority" | "createdAt" | "trace">;
type Attributes = Span["attributes"];

/** Uses names of the semantic conventions where they exist. Never contains payload, query or secrets. */
function publishSpan(
  event: TracedEvent & { readonly endedAt: number; readonly deliveries: number | null },
  because: KeptBecause,
): Span {
  const { id, trace } = event;
  return {
    name: "posthorn.publish",
    kind: "producer",
    traceId: traceIdOf(event.id, event.trace),
    spanId: publishSpanId(id),
    parentSpanId: trace?.spanId ?? null,
    isParentRemote: true,
    state: trace?.state ?? null,
    startedAt: event.createdAt,
    endedAt: event.endedAt,
    attributes: {
      ...messageAttributes(event, because),
      "messaging.operation.type": "create",
      "posthorn.priority": event.priority,
      ...(event.deliveries !== null && { "posthorn.deliveries": event.deliveries }),
    },
    links: [],
    error: null,
  };
}

/** The span lasts as long as the request, without earlier waits, and links to the preceding spans. */
function deliverSpan(flight: Flight, ended: SettledAttempt, because: KeptBecause): Span {
  const { delivery, startedAt } = flight;
  const { result, verdict, progress } = ended;
  const event = { ...delivery, id: delivery.eventId };
  const number = progress.attemptCount;
  const publish = publishSpanId(delivery.eventId);
  const links: SpanLink[] = [{ spanId: publish, relation: "publish" }];
  if (number > 1) links.push({ spanId: attemptSpanId(delivery.id, number - 1), relation: "earlier_attempt" });
  return {
    name: "posthorn.deliver",
    kind: "client",
    traceId: traceIdOf(event.id, event.trace),
    spanId: attemptSpanId(delivery.id, number),
    parentSpanId: publish,
    isParentRemote: false,
    state: delivery.trace?.state ?? null,
    startedAt,
    endedAt: startedAt + result.durationMs,
    attributes: { ...messageAttributes(event, because), ...attemptAttributes(flight, ended) },
    links,
    error: verdict.outcome === "accepted" ? null : (verdict.reason ?? verdict.outcome),
  };
}

function messageAttributes(
  event: Pick<TracedEvent, "id" | "tenantId" | "eventType">,
  because: KeptBecause,
): Attributes {
  return {
    "messaging.system": "posthorn",
    "messaging.message.id": event.id,
    "messaging.destination.name": event.eventType,
    "posthorn.tenant.id": event.tenantId,
    "posthorn.kept": because,
  };
}

function attemptAttributes(flight: Flight, { result, verdict, progress }: SettledAttempt): Attributes {
  const { delivery, endpoint } = flight;
  const status = statusOf(result);
  const held = waitsOf(flight).at(-1);
  const peer = result.trace?.peerAddress ?? null;
  return {
    "messaging.operation.type": "send",
    "http.request.method": "POST",
    ...addressAttributes(endpoint.config.host),
    ...(status !== null && { "http.response.status_code": status }),
    ...(peer !== null && { "network.peer.address": peer }),
    ...(verdict.outcome !== "accepted" && { "error.type": errorType(result, verdict.category) }),
    ...(progress.attemptCount > 1 && { "http.request.resend_count": progress.attemptCount - 1 }),
    "posthorn.webhook.id": delivery.webhookId,
    "posthorn.delivery.id": delivery.id,
    "posthorn.attempt": progress.attemptCount,
    "posthorn.outcome": verdict.outcome,
    "posthorn.delivery.state": progress.state,
    ...(held !== undefined && { "posthorn.waiting_for": held.reason }),
  };
}

function addressAttributes(host: string): Attributes {
  const port = host.lastIndexOf(":");
  return { "server.address": host.slice(0, port), "server.port": Number(host.slice(port + 1)) };
}

/** The status of the response, as the conventions require, or the category of the failure if there was no response. */
function errorType(result: TransportResult, category: string | null | undefined): string {
  const status = statusOf(result);
  return status === null ? (category ?? "other") : String(status);
}

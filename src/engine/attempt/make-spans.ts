import type { KeptBecause } from "../../core/tracing/sampling.ts";
import type { Span, SpanLink } from "../../core/tracing/span.ts";
import { attemptSpanId, publishSpanId, traceIdOf } from "../../core/tracing/span-ids.ts";
import type { NewEvent } from "../../ports/store/deliveries.ts";
import type { TransportResult } from "../../ports/transport.ts";
import { waitsOf } from "./attempt-notes.ts";
import { statusOf } from "./attempt-record.ts";
import type { Flight } from "./flight.ts";
import type { EndedAttempt } from "./event-spans.ts";

type TracedEvent = Pick<NewEvent, "id" | "tenantId" | "eventType" | "priority" | "createdAt" | "trace">;
type Attributes = Span["attributes"];

/** Uses names of the semantic conventions where they exist. Never contains payload, query or secrets. */
export function publishSpan(
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
export function deliverSpan(flight: Flight, ended: EndedAttempt, because: KeptBecause): Span {
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

function attemptAttributes(flight: Flight, { result, verdict, progress }: EndedAttempt): Attributes {
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

/** The status if there is one, as the conventions require. */
function errorType(result: TransportResult, category: string | null | undefined): string {
  const status = statusOf(result);
  return status === null ? (category ?? "other") : String(status);
}

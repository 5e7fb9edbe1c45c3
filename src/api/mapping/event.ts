import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { JsonText } from "../../core/json/json-text.ts";
import { parseTraceContext, traceparentOf } from "../../core/tracing/trace-context.ts";
import { elementsOf, membersOf, skipSpace, textOf } from "../../core/json/members.ts";
import type { EventMatch, PublishInput, PublishReceipt, RawContent } from "../../services/services.ts";
import type { EventSummary, StoredEvent } from "../../ports/store/history.ts";
import type { EventInput, RawEventQuery } from "../schemas/event.ts";
import { present } from "./absent.ts";
import { formatInstant } from "./instant.ts";

/** Position of an event in the bytes of a valid request. */
export interface EventPlace {
  readonly json: Uint8Array;
  readonly start: number;
}

/** The single event of a body. */
export function eventPlace(json: Uint8Array): EventPlace {
  return { json, start: skipSpace(json, 0) };
}

/** The events of a batch body. */
export function eventPlaces(json: Uint8Array): readonly EventPlace[] {
  const events = membersOf(json, skipSpace(json, 0)).get("events");
  return events === undefined
    ? []
    : elementsOf(json, events.start).map(({ start }): EventPlace => ({ json, start }));
}

type PublishedFrom = Pick<PublishInput, "traceparent" | "tracestate">;

/** The trace of a request. An invalid `traceparent` is ignored, as the specification requires. */
export function tracedBy(headers: IncomingHttpHeaders): PublishedFrom | null {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined) return null;
  const trace = parseTraceContext(traceparent, tracestate);
  return trace && { traceparent: traceparentOf(trace), ...present("tracestate", trace.state ?? undefined) };
}

/**
 * Runs for every published event. Besides the parsed values, it passes `data` and `metadata` on as the publisher wrote
 * them.
 */
export function toPublishInput(
  body: EventInput,
  { json, start }: EventPlace,
  trace: PublishedFrom | null,
): PublishInput {
  const members = membersOf(json, start);
  const jsonText = (name: "data" | "metadata"): JsonText => {
    const span = members.get(name);
    if (span === undefined) throw new Error(`${name} is in the parsed event but not in its text`);
    return new JsonText({ text: textOf(json, span), value: body[name] });
  };
  const input: { -readonly [K in keyof PublishInput]: PublishInput[K] } = {
    eventType: body.event_type,
    data: jsonText("data"),
  };
  if (body.tenant_id !== undefined) input.tenantId = body.tenant_id;
  if (body.source !== undefined) input.source = body.source;
  if (body.timestamp !== undefined) input.timestamp = body.timestamp;
  if (body.idempotency_key !== undefined) input.idempotencyKey = body.idempotency_key;
  if (body.priority !== undefined) input.priority = body.priority;
  if (body.metadata !== undefined) input.metadata = jsonText("metadata");
  if (body.links !== undefined) input.links = body.links;
  return trace === null ? input : { ...input, ...trace };
}

export function toRawPublishInput(
  query: RawEventQuery,
  raw: RawContent,
  trace: PublishedFrom | null,
): PublishInput {
  return {
    eventType: query.event_type,
    raw,
    ...present("tenantId", query.tenant_id),
    ...present("source", query.source),
    ...present("timestamp", query.timestamp),
    ...present("idempotencyKey", query.idempotency_key),
    ...present("priority", query.priority),
    ...trace,
  };
}

/** Hand-written: half the time of JSON.stringify. Ids, times and numbers need no escaping. */
function following({ deliveriesFollowing }: PublishReceipt): string {
  return deliveriesFollowing === undefined ? "" : `,"deliveries_following":${deliveriesFollowing}`;
}

export function receiptText(receipt: PublishReceipt): string {
  return (
    `{"id":"${receipt.id}","event_type":${JSON.stringify(receipt.eventType)}` +
    `,"tenant_id":${JSON.stringify(receipt.tenantId)},"timestamp":"${formatInstant(receipt.timestamp)}"` +
    `,"idempotency_key":${JSON.stringify(receipt.idempotencyKey)},"sequence_number":${receipt.sequenceNumber}` +
    `,"deliveries":${receipt.deliveries}${following(receipt)},"duplicate":${receipt.duplicate}}`
  );
}

export function eventSummaryJson(event: EventSummary): Record<string, unknown> {
  return {
    id: event.id,
    event_type: event.eventType,
    tenant_id: event.tenantId,
    timestamp: formatInstant(event.timestamp),
    source: event.source,
    idempotency_key: event.idempotencyKey ?? event.id,
    priority: event.priority,
    sequence_number: event.sequenceNumber,
    content_type: event.contentType,
    deliveries: event.deliveries,
    created_at: formatInstant(event.createdAt),
    trace_id: event.trace?.traceId ?? null,
  };
}

export function eventMatchJson({ webhook, delivery, reason }: EventMatch): Record<string, unknown> {
  return {
    webhook_id: webhook.id,
    url: webhook.url,
    status: webhook.status,
    sent: reason === null,
    delivery_id: delivery?.id ?? null,
    delivery_status: delivery?.progress.state ?? null,
    reason,
  };
}

/** Returns text, because `data` and `metadata` are shown exactly as published. */
export function eventText(event: StoredEvent): string {
  const { raw, body } = event;
  const head = JSON.stringify({ ...eventSummaryJson(event), raw });
  const parts = raw || body === null ? noParts : membersOf(body, 0);
  const part = (name: string): string => {
    const span = parts.get(name);
    return span === undefined || body === null ? "null" : textOf(body, span);
  };
  const content = raw
    ? `"body_base64":${JSON.stringify(body && bufferOf(body).toString("base64"))}`
    : `"data":${part("data")}`;
  const tail = `"metadata":${part("metadata")},"links":${part("links")},"payload_removed":${body === null}}`;
  return `${head.slice(0, -1)},${content},${tail}`;
}

const noParts: ReturnType<typeof membersOf> = new Map();

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

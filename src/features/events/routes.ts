import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { InvalidRequestError, PosthornError } from "../../domain/errors.ts";
import type { JsonBounds } from "../../domain/json/guard.ts";
import { JsonText } from "../../domain/json/json-text.ts";
import { elementsOf, membersOf, skipSpace, textOf } from "../../domain/json/members.ts";
import { parseTraceContext, traceparentOf } from "../../domain/tracing/trace-context.ts";
import { authorize } from "../../http/authentication.ts";
import { type ApiOptions, batchBytesMax, envelopeBytesMax } from "../../http/context.ts";
import { formatInstant, inputOf, jsonOf, present } from "../../http/mapping.ts";
import { pageLimitDefault, type Pager } from "../../http/paging.ts";
import { problemOf } from "../../http/problems.ts";
import { defineRawForm, defineRoute, type RawForm, type Route } from "../../http/route.ts";
import { compileValidator } from "../../http/dispatch.ts";
import type { EventSummary, StoredEvent } from "../../ports/store/history.ts";
import { replayFields } from "../../resources/actions.ts";
import {
  deliveryFilterFields,
  deliveryHandleSchema,
  deliveryQuerySchema,
  deliverySearchSchema,
  replayResultSchema,
} from "../../resources/delivery.ts";
import { eventJsonBounds } from "../../resources/event-input.ts";
import {
  batchResultSchema,
  eventBatchSchema,
  type EventInput,
  eventInputSchema,
  eventListFields,
  eventMatchSchema,
  eventMatchesSchema,
  eventQuerySchema,
  eventSchema,
  eventSearchSchema,
  eventSummarySchema,
  type RawEventQuery,
  rawEventQuerySchema,
  receiptSchema,
  replayInputSchema,
} from "../../resources/event.ts";
import { closed, idParam, pageProperties } from "../../resources/schema.ts";
import { boundedSearch, rowJson } from "../deliveries/routes.ts";
import type { EventMatch, PublishEntry, PublishInput, PublishReceipt, RawContent } from "../services.ts";

/** Position of an event within the bytes of a valid JSON request body. */
interface EventPlace {
  readonly json: Uint8Array;
  readonly start: number;
}

/** The single event of a body. */
function eventPlace(json: Uint8Array): EventPlace {
  return { json, start: skipSpace(json, 0) };
}

/** The events of a batch body. */
function eventPlaces(json: Uint8Array): readonly EventPlace[] {
  const events = membersOf(json, skipSpace(json, 0)).get("events");
  return events === undefined
    ? []
    : elementsOf(json, events.start).map(({ start }): EventPlace => ({ json, start }));
}

type PublishedFrom = Pick<PublishInput, "traceparent" | "tracestate">;

/** The trace of a request. An invalid `traceparent` is ignored, as the specification requires. */
function tracedBy(headers: IncomingHttpHeaders): PublishedFrom | null {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined) return null;
  const trace = parseTraceContext(traceparent, tracestate);
  return trace && { traceparent: traceparentOf(trace), ...present("tracestate", trace.state ?? undefined) };
}

/**
 * Converts an event of a request for publishing. `data` and `metadata` are passed on both parsed and exactly as the
 * publisher wrote them.
 */
function toPublishInput(
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

function toRawPublishInput(query: RawEventQuery, raw: RawContent, trace: PublishedFrom | null): PublishInput {
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

/**
 * Writes JSON by hand, because this takes half the time of `JSON.stringify`. Ids, timestamps and numbers need no
 * escaping.
 */
function following({ deliveriesFollowing }: PublishReceipt): string {
  return deliveriesFollowing === undefined ? "" : `,"deliveries_following":${deliveriesFollowing}`;
}

function receiptText(receipt: PublishReceipt): string {
  return (
    `{"id":"${receipt.id}","event_type":${JSON.stringify(receipt.eventType)}` +
    `,"tenant_id":${JSON.stringify(receipt.tenantId)},"timestamp":"${formatInstant(receipt.timestamp)}"` +
    `,"idempotency_key":${JSON.stringify(receipt.idempotencyKey)},"sequence_number":${receipt.sequenceNumber}` +
    `,"deliveries":${receipt.deliveries}${following(receipt)},"duplicate":${receipt.duplicate}}`
  );
}

function eventSummaryJson(event: EventSummary): Record<string, unknown> {
  const idempotencyKey = event.idempotencyKey ?? event.id;
  return jsonOf(eventSummarySchema, { ...event, idempotencyKey, traceId: event.trace?.traceId });
}

function eventMatchJson({ webhook, delivery, reason }: EventMatch): Record<string, unknown> {
  return jsonOf(eventMatchSchema, {
    webhookId: webhook.id,
    url: webhook.url,
    status: webhook.status,
    sent: reason === null,
    deliveryId: delivery?.id,
    deliveryStatus: delivery?.progress.state,
    reason,
  });
}

/** The JSON text of an event. `data` and `metadata` are shown exactly as published. */
function eventText(event: StoredEvent): string {
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

export function eventRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const { services } = options;
  return [
    publishRoute(options),
    batchRoute(options),
    ...readRoutes(options, pager),
    defineRoute({
      method: "GET",
      path: "/v1/events/{id}/matches",
      operationId: "listEventMatches",
      tag: "Events",
      summary: "List which webhooks received an event, and why others did not",
      access: "read",
      params: eventParams,
      query: closed(pageProperties),
      answers: {
        200: { description: "A page of the tenant's webhooks, newest first.", schema: eventMatchesSchema },
      },
      errors: ["not_found", "invalid_cursor"],
      handle: async ({ scope, params, query }) => {
        const filters = { eventId: params.id };
        const listing = { tenantId: scope.tenantId, route: "event matches", filters };
        const { limit = pageLimitDefault, offset = 0 } = query;
        const page = { limit, offset, after: pager.after(query, listing) };
        const { rows, next } = await services.events.matches(scope, { eventId: params.id, page });
        const data = rows.map(eventMatchJson);
        return { status: 200, body: { data, next_cursor: pager.cursorAfter(next, listing) } };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/events/{id}/replay",
      operationId: "replayEvent",
      tag: "Events",
      summary: "Replay a stored event",
      description:
        "Creates new deliveries with the same event id, so that receivers can distinguish a replay from a new event.",
      access: "manage",
      params: eventParams,
      body: replayInputSchema,
      bodyOptional: true,
      answers: { 202: { description: "The new deliveries.", schema: replayResultSchema } },
      errors: ["not_found", "payload_gone"],
      audit: { action: "event.replay", target: "event" },
      handle: async ({ scope, params, body }) => {
        const command = { eventId: params.id, ...inputOf(replayFields, body) };
        const handles = await services.events.replay(scope, command);
        return {
          status: 202,
          body: { deliveries: handles.map((handle) => jsonOf(deliveryHandleSchema, handle)) },
        };
      },
    }),
  ];
}

/** The body limit bounds the size. One extra level allows `data` the same depth in both forms. */
const singleBounds: JsonBounds = { ...eventJsonBounds, depthMax: eventJsonBounds.depthMax + 1 };
/** 16 MiB could hold millions of tiny values; parsing this many takes well under a second. */
const batchBounds: JsonBounds = {
  ...eventJsonBounds,
  depthMax: eventJsonBounds.depthMax + 3,
  valuesMax: 500_000,
};

function publishRoute(options: ApiOptions): Route {
  const { services, limits } = options;
  return defineRoute({
    method: "POST",
    path: "/v1/events",
    operationId: "publishEvent",
    tag: "Events",
    summary: "Publish an event",
    description: "Responds after the event and its deliveries are committed.",
    access: "publish",
    body: eventInputSchema,
    bodyBytesMax: limits.payloadBytesMax + envelopeBytesMax,
    bodyBounds: singleBounds,
    raw: rawForm(options),
    answers: { 202: { description: "Accepted for delivery.", schema: receiptSchema } },
    errors: [
      "schema_violation",
      "event_in_progress",
      "event_key_reused",
      "payload_too_large",
      "rate_limited",
    ],
    audit: { none: "published events are recorded as events" },
    traced: true,
    handle: async ({ scope, body, bodyBytes, headers }) => {
      const input = toPublishInput(body, eventPlace(bodyBytes), tracedBy(headers));
      return { status: 202, text: receiptText(await services.events.publish(scope, input)) };
    },
  });
}

/** Payloads of any media type, delivered byte for byte (EDS-2-1, TS16-41). */
function rawForm({ services, limits }: ApiOptions): RawForm {
  return defineRawForm({
    parameter: "event_type",
    query: rawEventQuerySchema,
    bodyBytesMax: limits.payloadBytesMax,
    description:
      "With `event_type` in the query, the body is the payload itself, with the media type in Content-Type, JSON included. " +
      "It is delivered byte for byte with that media type, except inside a structured CloudEvent. It is not validated against a schema.",
    handle: async ({ scope, query, body, headers }) => {
      const input = toRawPublishInput(query, body, tracedBy(headers));
      return { status: 202, text: receiptText(await services.events.publish(scope, input)) };
    },
  });
}

function batchRoute({ services, basePath = "" }: ApiOptions): Route {
  const check = compileValidator(eventInputSchema, "body");
  return defineRoute({
    method: "POST",
    path: "/v1/events/batch",
    operationId: "publishEvents",
    tag: "Events",
    summary: "Publish up to 1,000 events",
    description:
      "Events are validated independently: an invalid event does not affect the others. The body may have up to 16 MiB and 500,000 values.",
    access: "publish",
    body: eventBatchSchema,
    bodyBytesMax: batchBytesMax,
    bodyBounds: batchBounds,
    bodyElements: "events",
    answers: { 202: { description: "A receipt or an error for each event.", schema: batchResultSchema } },
    errors: ["payload_too_large", "rate_limited"],
    audit: { none: "published events are recorded as events" },
    traced: true,
    handle: async ({ scope, body, bodyBytes, headers }) => {
      const trace = tracedBy(headers);
      const places = eventPlaces(bodyBytes);
      const refusals = body.events.map((event) => {
        if (event instanceof PosthornError) return event;
        const errors = check(event);
        return errors === null ? null : new InvalidRequestError("The event is not valid.", errors);
      });
      const inputs: PublishInput[] = [];
      for (const [index, place] of places.entries()) {
        if (refusals[index] === null)
          inputs.push(toPublishInput(body.events[index] as EventInput, place, trace));
      }
      const entries = inputs.length === 0 ? [] : await services.events.publishMany(scope, inputs);
      return { status: 202, text: `{"results":[${mergeResults(refusals, entries, basePath).join(",")}]}` };
    },
  });
}

function mergeResults(
  refusals: readonly (PosthornError | null)[],
  entries: readonly PublishEntry[],
  basePath: string,
): string[] {
  let next = 0;
  return refusals.map((refusal) => {
    if (refusal !== null) return refusalText(refusal, basePath);
    const entry = entries[next++];
    if (entry === undefined) throw new Error("publishMany returned fewer entries than events");
    return entry.kind === "published" ? receiptText(entry.receipt) : refusalText(entry.error, basePath);
  });
}

function refusalText(error: PosthornError, basePath: string): string {
  return JSON.stringify({ error: problemOf(error, basePath) });
}

const eventParams = closed({ id: idParam("the event") });

function readRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/events",
      operationId: "listEvents",
      tag: "Events",
      summary: "Find events, newest first",
      description: `${boundedSearch} Searching payloads (\`data_contains\`) requires a key with the role \`manage\` or \`admin\`.`,
      access: "read",
      query: eventQuerySchema,
      answers: {
        200: { description: "A page of events, without their data.", schema: eventSearchSchema },
      },
      errors: ["invalid_cursor"],
      handle: async ({ scope, principal, query }) => {
        const filters = inputOf(eventListFields, query);
        if (filters.dataContains !== undefined && principal !== null)
          authorize(principal, { access: "manage" });
        const listing = { tenantId: scope.tenantId, route: "events", filters };
        const page = pager.searchRequest(query, listing);
        const found = await services.events.list(scope, { ...filters, page });
        return { status: 200, body: pager.searchAnswer(found, listing, eventSummaryJson) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/events/{id}",
      operationId: "getEvent",
      tag: "Events",
      summary: "Get an event with its data",
      access: "read",
      capability: "payloads:read",
      params: eventParams,
      answers: { 200: { description: "The event.", schema: eventSchema } },
      errors: ["not_found"],
      handle: async ({ scope, params }) => ({
        status: 200,
        text: eventText(await services.events.get(scope, params.id)),
      }),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/events/{id}/deliveries",
      operationId: "listEventDeliveries",
      tag: "Events",
      summary: "Find deliveries of an event",
      access: "read",
      capability: "deliveries:read",
      params: eventParams,
      query: deliveryQuerySchema,
      answers: { 200: { description: "A page of deliveries.", schema: deliverySearchSchema } },
      errors: ["not_found", "invalid_cursor"],
      handle: async ({ scope, params, query }) => {
        const filters = { ...inputOf(deliveryFilterFields, query), eventId: params.id };
        const listing = { tenantId: scope.tenantId, route: "event deliveries", filters };
        const page = pager.searchRequest(query, listing);
        const found = await services.events.deliveries(scope, { ...filters, page });
        return { status: 200, body: pager.searchAnswer(found, listing, rowJson(query, scope)) };
      },
    }),
  ];
}

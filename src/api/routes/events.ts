import { InvalidRequestError, PosthornError } from "../../core/errors.ts";
import { eventJsonBounds } from "../../core/event-input.ts";
import { deliveryFilterFields } from "../../core/fields/delivery-list.ts";
import { eventListFields } from "../../core/fields/event-list.ts";
import { replayFields } from "../../core/fields/actions.ts";
import type { JsonBounds } from "../../core/json/guard.ts";
import type { PublishEntry, PublishInput } from "../../services/services.ts";
import { authorize } from "../authentication.ts";
import { batchBytesMax, envelopeBytesMax } from "../context.ts";
import type { ApiOptions } from "../context.ts";
import { handleJson } from "../mapping/delivery.ts";
import {
  eventMatchJson,
  eventPlace,
  eventPlaces,
  eventSummaryJson,
  eventText,
  receiptText,
  toPublishInput,
  toRawPublishInput,
  tracedBy,
} from "../mapping/event.ts";
import { inputOf } from "../mapping/fields.ts";
import { pageLimitDefault } from "../paging.ts";
import type { Pager } from "../paging.ts";
import { problemOf } from "../problems.ts";
import { defineRawForm, defineRoute } from "../route.ts";
import type { RawForm, Route } from "../route.ts";
import { closed, idParam, pageProperties } from "../schemas/building-blocks.ts";
import { deliveryQuerySchema, deliverySearchSchema, replayResultSchema } from "../schemas/delivery.ts";
import {
  batchResultSchema,
  eventBatchSchema,
  eventInputSchema,
  eventMatchesSchema,
  eventQuerySchema,
  eventSearchSchema,
  eventSchema,
  rawEventQuerySchema,
  receiptSchema,
  replayInputSchema,
} from "../schemas/event.ts";
import type { EventInput } from "../schemas/event.ts";
import { compileValidator } from "../validation.ts";
import { boundedSearch, rowJson } from "./deliveries.ts";

export function eventRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    publishRoute(options),
    batchRoute(options),
    ...readRoutes(options, pager),
    matchesRoute(options, pager),
    replayRoute(options),
  ];
}

/** The body limit bounds the size here. One extra level lets `data` be equally deep in both forms. */
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

function matchesRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
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
  });
}

function replayRoute({ services }: ApiOptions): Route {
  return defineRoute({
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
      return { status: 202, body: { deliveries: handles.map(handleJson) } };
    },
  });
}

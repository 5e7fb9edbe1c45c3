import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, present, shownJson } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import type { EventType, EventTypeKey } from "../../ports/store/registry.ts";
import { eventTypeFilters } from "../../resources/filters.ts";
import {
  eventTypeFields,
  eventTypeInputSchema,
  eventTypeListQuery,
  eventTypeListSchema,
  eventTypeQuery,
  eventTypeSchema,
  eventTypeShown,
} from "../../resources/registry.ts";
import { closed, eventTypeName } from "../../resources/schema.ts";

const params = closed({ name: eventTypeName });
const path = "/v1/event-types/{name}";
const eventTypeBytesMax = 262_144;

const eventTypeJson = (eventType: EventType) => shownJson(eventTypeShown, eventType);

export function eventTypeRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), getRoute(options), putRoute(options), deleteRoute(options)];
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/event-types",
    operationId: "listEventTypes",
    tag: "Event types",
    summary: "List event types",
    description: "A page ends after `limit` event types or about a megabyte, whichever comes first.",
    access: "read",
    capability: "endpoints:read",
    query: eventTypeListQuery,
    answers: { 200: { description: "A page of event types.", schema: eventTypeListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(eventTypeFilters, query);
      const listing = { tenantId: scope.tenantId, route: "event types", filters };
      const last = pager.after(query, listing);
      const { rows, next } = await services.eventTypes.list(scope, {
        ...filters,
        ...present("limit", query.limit),
        ...present("offset", query.offset),
        after: last === null ? null : keyOf(last),
      });
      const nextCursor = pager.cursorAfter(next === null ? null : `${next.tenantId}/${next.name}`, listing);
      return { status: 200, body: { data: rows.map(eventTypeJson), next_cursor: nextCursor } };
    },
  });
}

/** Parses the position in a cursor. Tenant ids and names contain no slash. */
function keyOf(position: string): EventTypeKey {
  const [tenantId = "", name = ""] = position.split("/");
  return { tenantId, name };
}

function getRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path,
    operationId: "getEventType",
    tag: "Event types",
    summary: "Get an event type",
    access: "read",
    capability: "endpoints:read",
    params,
    query: eventTypeQuery,
    answers: { 200: { description: "The event type.", schema: eventTypeSchema } },
    errors: ["not_found"],
    handle: async ({ scope, params: { name }, query }) => {
      const eventType = await services.eventTypes.get(scope, { tenantId: query.tenant_id ?? null, name });
      return { status: 200, body: eventTypeJson(eventType) };
    },
  });
}

function putRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "PUT",
    path,
    operationId: "putEventType",
    tag: "Event types",
    summary: "Create or update an event type",
    description: "Omitted fields keep their values. Data published afterwards must match the schema.",
    access: "manage",
    params,
    query: eventTypeQuery,
    body: eventTypeInputSchema,
    bodyBytesMax: eventTypeBytesMax,
    bodyBounds: { depthMax: 64, valuesMax: 50_000 },
    answers: {
      200: { description: "Changed.", schema: eventTypeSchema },
      201: { description: "Registered.", schema: eventTypeSchema },
    },
    errors: ["limit_reached"],
    audit: {
      action: "event_type.put",
      target: "event_type",
      idFrom: "name",
      before: (call: TypeCall) => shownBefore(services, call),
    },
    handle: async ({ scope, params: { name }, query, body }) => {
      const { eventType, created } = await services.eventTypes.put(scope, {
        tenantId: query.tenant_id ?? null,
        name,
        ...inputOf(eventTypeFields, body),
      });
      return { status: created ? 201 : 200, body: eventTypeJson(eventType) };
    },
  });
}

function deleteRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "DELETE",
    path,
    operationId: "deleteEventType",
    tag: "Event types",
    summary: "Delete an event type",
    description: "Events of the type can still be published, but they are no longer validated.",
    access: "manage",
    params,
    query: eventTypeQuery,
    answers: { 204: { description: "Deleted." } },
    errors: ["not_found"],
    audit: {
      action: "event_type.delete",
      target: "event_type",
      idFrom: "name",
      before: (call: TypeCall) => shownBefore(services, call),
      removes: ["description", "version"],
    },
    handle: async ({ scope, params: { name }, query }) => {
      await services.eventTypes.delete(scope, { tenantId: query.tenant_id ?? null, name });
      return { status: 204 };
    },
  });
}

type TypeCall = Call<{ readonly name: string }, { readonly tenant_id?: string }>;

async function shownBefore(
  services: ApiOptions["services"],
  { scope, params: { name }, query }: TypeCall,
): Promise<object> {
  return eventTypeJson(await services.eventTypes.get(scope, { tenantId: query.tenant_id ?? null, name }));
}

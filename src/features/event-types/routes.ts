import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, jsonOf, present } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { EventType, EventTypeKey } from "../../ports/store/registry.ts";
import { eventTypeFilters, eventTypeResource } from "../../resources/event-type.ts";

const eventTypeJson = (eventType: EventType) => jsonOf(eventTypeResource.schemas.one, eventType);

export function eventTypeRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  const { eventTypes } = services;
  const routes = new PlainRoutes(
    eventTypeResource,
    (scope, name, tenantId) => eventTypes.get(scope, { tenantId, name }),
    eventTypeJson,
  );
  return [
    defineRoute({
      method: "GET",
      path: "/v1/event-types",
      operationId: "listEventTypes",
      tag: "Event types",
      summary: "List event types",
      description: "A page ends after `limit` event types or about a megabyte, whichever comes first.",
      access: "read",
      capability: "endpoints:read",
      query: eventTypeResource.schemas.listQuery,
      answers: { 200: { description: "A page of event types.", schema: eventTypeResource.schemas.list } },
      errors: ["invalid_cursor"],
      handle: async ({ scope, query }) => {
        const filters = filtersOf(eventTypeFilters, query);
        const listing = { tenantId: scope.tenantId, route: "event types", filters };
        const last = pager.after(query, listing);
        const { rows, next } = await eventTypes.list(scope, {
          ...filters,
          ...present("limit", query.limit),
          ...present("offset", query.offset),
          after: last === null ? null : keyOf(last),
        });
        const nextCursor = pager.cursorAfter(next === null ? null : `${next.tenantId}/${next.name}`, listing);
        return { status: 200, body: { data: rows.map(eventTypeJson), next_cursor: nextCursor } };
      },
    }),
    routes.get({ access: "read", capability: "endpoints:read" }),
    routes.put(
      {
        access: "manage",
        description: "Omitted fields keep their values. Data published afterwards must match the schema.",
        answer: "Registered.",
        errors: ["limit_reached"],
        body: { bodyBytesMax: 262_144, bodyBounds: { depthMax: 64, valuesMax: 50_000 } },
      },
      async (scope, name, input, tenantId) => {
        const { eventType, created } = await eventTypes.put(scope, { tenantId, name, ...input });
        return { row: eventType, created };
      },
    ),
    routes.delete(
      {
        access: "manage",
        description: "Events of the type can still be published, but they are no longer validated.",
      },
      (scope, name, tenantId) => eventTypes.delete(scope, { tenantId, name }),
      ["description", "version"],
    ),
  ];
}

/** Parses the position in a cursor. Tenant ids and names contain no slash. */
function keyOf(position: string): EventTypeKey {
  const [tenantId = "", name = ""] = position.split("/");
  return { tenantId, name };
}

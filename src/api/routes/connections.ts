import {
  connectionChangeFields,
  connectionFields,
  connectionFilters,
  connectionShown,
} from "../../core/fields/connection.ts";
import type { Connection } from "../../core/gateway/source.ts";
import type { ApiOptions } from "../context.ts";
import { filtersOf, inputOf, shownJson } from "../mapping/fields.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { closed, idParam } from "../schemas/building-blocks.ts";
import {
  connectionChangeSchema,
  connectionInputSchema,
  connectionListSchema,
  connectionQuery,
  connectionSchema,
} from "../schemas/gateway.ts";

/** Connections between sources and webhooks. */
export function connectionRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    createRoute(options),
    listRoute(options, pager),
    getRoute(options),
    changeRoute(options),
    deleteRoute(options),
  ];
}

const params = closed({ id: idParam("the connection") });

function connectionJson(connection: Connection, heldCounts: ReadonlyMap<string, number>): object {
  return shownJson(connectionShown, {
    ...connection,
    paused: connection.pausedAt !== null,
    heldCount: heldCounts.get(connection.id) ?? 0,
  });
}

async function shown({ gateway }: ApiOptions, connection: Connection): Promise<object> {
  return connectionJson(connection, await gateway.connections.heldCounts([connection]));
}

function before(options: ApiOptions) {
  return async ({ scope, params: { id } }: Call<{ readonly id: string }>) =>
    shown(options, options.gateway.connections.get(scope, id));
}

function createRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/connections",
    operationId: "createConnection",
    tag: "Gateway",
    summary: "Connect a source to a webhook",
    access: "manage",
    body: connectionInputSchema,
    answers: { 201: { description: "The connection.", schema: connectionSchema } },
    errors: ["conflict", "limit_reached"],
    audit: { action: "connection.create", target: "connection" },
    handle: async ({ scope, body }) => {
      const created = await options.gateway.connections.create(scope, inputOf(connectionFields, body));
      return { status: 201, body: await shown(options, created) };
    },
  });
}

function listRoute({ gateway }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/connections",
    operationId: "listConnections",
    tag: "Gateway",
    summary: "List connections, newest first",
    access: "read",
    query: connectionQuery,
    answers: { 200: { description: "A page of connections.", schema: connectionListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(connectionFilters, query);
      const listing = { tenantId: scope.tenantId, route: "connections", filters };
      const rows = gateway.connections.list(scope, filters);
      const page = pager.slice(rows, { query, listing, idOf: ({ id }) => id, toJson: (row) => row });
      const counts = await gateway.connections.heldCounts(page.data);
      const data = page.data.map((connection) => connectionJson(connection, counts));
      return { status: 200, body: { ...page, data } };
    },
  });
}

function getRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/connections/{id}",
    operationId: "getConnection",
    tag: "Gateway",
    summary: "Get a connection",
    access: "read",
    params,
    answers: { 200: { description: "The connection.", schema: connectionSchema } },
    errors: ["not_found"],
    handle: async (call) => ({ status: 200, body: await before(options)(call) }),
  });
}

function changeRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "PATCH",
    path: "/v1/connections/{id}",
    operationId: "updateConnection",
    tag: "Gateway",
    summary: "Change, pause or resume a connection",
    description:
      "A resumed connection opens at once. It sends the messages that it held in the background, oldest first; new messages queue behind them. `held_count` shows how many are left.",
    access: "manage",
    params,
    body: connectionChangeSchema,
    answers: { 200: { description: "The updated connection.", schema: connectionSchema } },
    errors: ["not_found"],
    audit: { action: "connection.update", target: "connection", before: before(options) },
    handle: async ({ scope, params: { id }, body }) => {
      const input = inputOf(connectionChangeFields, body);
      const changed = await options.gateway.connections.update(scope, id, input);
      return { status: 200, body: await shown(options, changed) };
    },
  });
}

function deleteRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "DELETE",
    path: "/v1/connections/{id}",
    operationId: "deleteConnection",
    tag: "Gateway",
    summary: "Delete a connection",
    description: "Existing deliveries are kept.",
    access: "manage",
    params,
    answers: { 204: { description: "Deleted." } },
    errors: ["not_found"],
    audit: {
      action: "connection.delete",
      target: "connection",
      before: before(options),
      removes: ["source_id", "webhook_id", "name"],
    },
    handle: async (call) => {
      await options.gateway.connections.delete(call.scope, call.params.id);
      return { status: 204 };
    },
  });
}

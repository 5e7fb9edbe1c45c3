import { defaultBounds } from "../../domain/json/guard.ts";
import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, formatInstant, inputOf, shownJson } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  connectionChangeSchema,
  connectionInputSchema,
  connectionListSchema,
  connectionQuery,
  connectionSchema,
  filterEvaluationInputSchema,
  filterEvaluationSchema,
} from "../../resources/gateway-views.ts";
import {
  connectionChangeFields,
  connectionFields,
  connectionFilters,
  connectionShown,
  filterEvaluationFields,
} from "../../resources/gateway.ts";
import { closed, idParam } from "../../resources/schema.ts";
import type {
  EvaluatedRequest,
  FilterEvaluation,
  MessageEvaluation,
  RequestsEvaluation,
} from "./gateway-services.ts";
import type { Connection } from "./source.ts";

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

/** Allowance for filter, headers, query and path in addition to the message body. */
const besideBodyBytesMax = 131_072;

export function filterRoutes(options: ApiOptions): readonly Route[] {
  return [evaluateRoute(options)];
}

function evaluateRoute({ gateway, limits }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/filters/evaluate",
    operationId: "evaluateFilter",
    tag: "Gateway",
    summary: "Test a filter",
    description:
      "Evaluates the filter of a connection against a logged request, the latest requests of a source, or a given message, and changes nothing. Logged requests have the headers of the log, so a condition on a credential has no result.",
    access: "read",
    body: filterEvaluationInputSchema,
    bodyBounds: { ...defaultBounds, valuesMax: 100_000 },
    bodyBytesMax: limits.payloadBytesMax + besideBodyBytesMax,
    answers: { 200: { description: "The result, with reasons.", schema: filterEvaluationSchema } },
    errors: ["not_found"],
    audit: { none: "it changes nothing" },
    handle: async ({ scope, body }) => {
      const input = inputOf(filterEvaluationFields, body);
      return { status: 200, body: evaluationJson(await gateway.filters.evaluate(scope, input)) };
    },
  });
}

function evaluationJson(evaluation: FilterEvaluation): object {
  return evaluation.kind === "message" ? messageJson(evaluation) : requestsJson(evaluation);
}

function messageJson({ verdict, trace }: MessageEvaluation): object {
  return { matches: verdict === undefined ? null : verdict === null, rule: verdict ?? null, trace };
}

function requestsJson(found: RequestsEvaluation): object {
  const { matched, notMatched, notExamined, notRoutedCount, isComplete, searchedTo } = found;
  return {
    examined: matched.count + notMatched.count,
    matched: matched.count,
    not_matched: notMatched.count,
    not_examined: notExamined.count,
    not_routed: notRoutedCount,
    samples: {
      matched: matched.samples.map(sampleJson),
      not_matched: notMatched.samples.map(sampleJson),
      not_examined: notExamined.samples.map(sampleJson),
    },
    complete: isComplete,
    searched_to: searchedTo === null ? null : formatInstant(searchedTo),
  };
}

function sampleJson({ request, rule }: EvaluatedRequest): object {
  const { id, receivedAt, eventType, originalType } = request;
  return {
    request_id: id,
    received_at: formatInstant(receivedAt),
    event_type: eventType,
    original_type: originalType,
    rule,
  };
}

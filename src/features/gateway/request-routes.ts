import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import {
  requestBookmarkFields,
  requestBookmarkSchema,
  requestFilters,
  requestListSchema,
  requestQuery,
  requestReplayFields,
  requestReplaySchema,
  requestSchema,
  requestSummarySchema,
} from "../../resources/gateway-request.ts";
import { closed, idParam } from "../../resources/schema.ts";
import { boundedSearch } from "../deliveries/routes.ts";

/** A listed request, without headers and body. */
export function gatewayRequestJson(request: ReceivedRequest): object {
  return jsonOf(requestSummarySchema, shownOf(request));
}

function shownOf(request: ReceivedRequest) {
  return { ...request, rejectionCause: request.cause, moreCount: request.more };
}

/** The log of inbound requests. */
export function requestRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), getRoute(options), replayRoute(options), bookmarkRoute(options)];
}

const params = closed({ id: idParam("the request") });

function withBody(request: ReceivedRequest): object {
  const { headers, body } = request;
  const text = body === null ? null : utf8Of(body);
  return jsonOf(requestSchema, {
    ...shownOf(request),
    headers: headers.flatMap((name, at) => (at % 2 === 0 ? [{ name, value: headers[at + 1] ?? "" }] : [])),
    body: text,
    bodyBase64: body === null || text !== null ? null : Buffer.from(body).toString("base64"),
  });
}

function utf8Of(body: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return null;
  }
}

function listRoute({ gateway }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/requests",
    operationId: "listRequests",
    tag: "Gateway",
    summary: "List inbound requests, newest first",
    description: `Accepted, duplicate, rejected and ignored requests of the last seven days; an entry may appear a moment after its response. Bodies are kept for 24 hours, and those of up to 100 rejected requests per source and process; bookmarked requests are kept. ${boundedSearch}`,
    access: "read",
    query: requestQuery,
    answers: { 200: { description: "A page of requests.", schema: requestListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const { rejectionCause: cause, ...others } = filtersOf(requestFilters, query);
      const filters = { ...others, cause };
      const listing = { tenantId: scope.tenantId, route: "requests", filters };
      const page = pager.byId.searchRequest(query, listing);
      const found = await gateway.requests.list(scope, { ...filters, page });
      return { status: 200, body: pager.byId.searchAnswer(found, listing, gatewayRequestJson) };
    },
  });
}

function getRoute({ gateway }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/requests/{id}",
    operationId: "getRequest",
    tag: "Gateway",
    summary: "Get an inbound request with its headers and body",
    access: "read",
    params,
    answers: { 200: { description: "The request.", schema: requestSchema } },
    errors: ["not_found"],
    handle: async (call) => ({
      status: 200,
      body: withBody(await gateway.requests.get(call.scope, call.params.id)),
    }),
  });
}

function replayRoute({ gateway }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/requests/{id}/replay",
    operationId: "replayRequest",
    tag: "Gateway",
    summary: "Replay an inbound request",
    description:
      "Applies the current connections, with the sender's idempotency key and id. A rejected request is verified again first, as of the time it arrived, so it is accepted once its secret has been corrected.",
    access: "manage",
    params,
    body: requestReplaySchema,
    bodyOptional: true,
    answers: { 202: { description: "The request and its outcome.", schema: requestSchema } },
    errors: ["not_found", "conflict", "payload_gone"],
    audit: { action: "request.replay", target: "request" },
    handle: async ({ scope, params: { id }, body }) => {
      const input = inputOf(requestReplayFields, body);
      return { status: 202, body: withBody(await gateway.requests.replay(scope, id, input)) };
    },
  });
}

function bookmarkRoute({ gateway }: ApiOptions): Route {
  return defineRoute({
    method: "PUT",
    path: "/v1/requests/{id}/bookmark",
    operationId: "bookmarkRequest",
    tag: "Gateway",
    summary: "Bookmark a request",
    access: "manage",
    params,
    body: requestBookmarkSchema,
    answers: { 200: { description: "The request.", schema: requestSchema } },
    errors: ["not_found", "limit_reached"],
    audit: { action: "request.bookmark", target: "request" },
    handle: async ({ scope, params: { id }, body }) => {
      const { name = null } = inputOf(requestBookmarkFields, body);
      return { status: 200, body: withBody(await gateway.requests.bookmark(scope, id, name)) };
    },
  });
}

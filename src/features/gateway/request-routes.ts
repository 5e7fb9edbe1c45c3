import type { ApiOptions } from "../../http/context.ts";
import { jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import type { Route } from "../../http/route.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import {
  requestBookmarkFields,
  requestBookmarkSchema,
  requestFilters,
  requestReplayFields,
  requestReplaySchema,
  requestResource,
  requestSchema,
  requestSummarySchema,
} from "../../resources/gateway-request.ts";
import { boundedSearch } from "../deliveries/routes.ts";

/** A listed request, without headers and body. */
export function gatewayRequestJson(request: ReceivedRequest): object {
  return jsonOf(requestSummarySchema, shownOf(request));
}

function shownOf(request: ReceivedRequest) {
  return { ...request, rejectionCause: request.cause, moreCount: request.more };
}

function withBody(request: ReceivedRequest): Record<string, unknown> {
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

/** The log of inbound requests. */
export function requestRoutes({ gateway }: ApiOptions, pager: Pager): readonly Route[] {
  const requests = () => gateway.requests;
  const routes = new PlainRoutes(requestResource, (scope, id) => requests().get(scope, id), withBody);
  return [
    routes.pages(
      {
        access: "read",
        summary: "List inbound requests, newest first",
        description: `Accepted, duplicate, rejected and ignored requests of the last seven days; an entry may appear a moment after its response. Bodies are kept for 24 hours, those of rejected requests for up to 100 requests per source and process; bookmarked requests are kept until the bookmark is removed. ${boundedSearch}`,
      },
      requestFilters,
      async (scope, { rejectionCause: cause, ...others }, query, listing) => {
        const page = pager.byId.searchRequest(query, listing);
        const found = await requests().list(scope, { ...others, cause, page });
        return pager.byId.searchAnswer(found, listing, gatewayRequestJson);
      },
    ),
    routes.get({ access: "read", summary: "Get an inbound request with its headers and body" }),
    routes.action(
      "replay",
      {
        summary: "Replay an inbound request",
        description:
          "Applies the current connections, with the sender's idempotency key and id. A rejected request is verified again first, as of the time it arrived, so it is accepted once its secret has been corrected.",
        takes: requestReplayFields,
        body: requestReplaySchema,
        bodyOptional: true,
        status: 202,
        answer: "The request and its outcome.",
        errors: ["not_found", "conflict", "payload_gone"],
        audit: { action: "request.replay", target: "request" },
      },
      async (scope, id, input) => withBody(await requests().replay(scope, id, input)),
    ),
    routes.action(
      "bookmark",
      {
        method: "PUT",
        summary: "Bookmark a request",
        takes: requestBookmarkFields,
        body: requestBookmarkSchema,
        answer: "The request.",
        errors: ["not_found", "limit_reached"],
        audit: { action: "request.bookmark", target: "request" },
      },
      async (scope, id, { name = null }) => withBody(await requests().bookmark(scope, id, name)),
    ),
  ];
}

import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  deliveryProblemSchema,
  problemChangeFields,
  problemChangeSchema,
  problemFilters,
  problemListSchema,
  problemParams,
  problemQuerySchema,
} from "../../resources/delivery-problem.ts";
import type { DeliveryProblemView } from "../services.ts";

export function deliveryProblemJson(view: DeliveryProblemView): Record<string, unknown> {
  const { problem, mute, state, title, remedy } = view;
  const { category: failureCategory, statusCode: httpStatus, errorCode, answer } = problem.kind;
  const kind = { failureCategory, httpStatus, errorCode, answer };
  const muted = { mutedUntil: mute?.until ?? null, muteReason: mute?.reason ?? null };
  return jsonOf(deliveryProblemSchema, { ...problem, ...kind, ...muted, state, title, remedy });
}

/** Similar failures, grouped into problems. */
export function deliveryProblemRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), getRoute(options), changeRoute(options)];
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/problems",
    operationId: "listProblems",
    tag: "Problems",
    summary: "List problems of webhooks and how to fix them",
    description:
      "Failures of a webhook with the same category, the same status or error code, and the same first line of the response are " +
      "one problem. Sorted by last change. A webhook has up to 50 separate problems.",
    access: "read",
    query: problemQuerySchema,
    answers: { 200: { description: "A page of problems.", schema: problemListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(problemFilters, query);
      const listing = { tenantId: scope.tenantId, route: "problems", filters };
      const page = pager.searchRequest(query, listing);
      const found = await services.problems.list(scope, { ...filters, page });
      return { status: 200, body: pager.searchAnswer(found, listing, deliveryProblemJson) };
    },
  });
}

function getRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/problems/{id}",
    operationId: "getProblem",
    tag: "Problems",
    summary: "Get a problem",
    access: "read",
    params: problemParams,
    answers: { 200: { description: "The problem.", schema: deliveryProblemSchema } },
    errors: ["not_found"],
    handle: async ({ scope, params: { id } }) => ({
      status: 200,
      body: deliveryProblemJson(await services.problems.get(scope, id)),
    }),
  });
}

function changeRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "PATCH",
    path: "/v1/problems/{id}",
    operationId: "changeProblem",
    tag: "Problems",
    summary: "Mute, unmute or annotate a problem",
    description:
      "A muted problem is still counted, and resolves like any other. Its status is `muted` until the mute ends or the " +
      "problem is resolved.",
    access: "manage",
    params: problemParams,
    body: problemChangeSchema,
    answers: { 200: { description: "The changed problem.", schema: deliveryProblemSchema } },
    errors: ["not_found"],
    audit: {
      action: "problem.change",
      target: "problem",
      before: async ({ scope, params }: Call<{ readonly id: string }>) => {
        const view = await services.problems.get(scope, params.id);
        return { ...deliveryProblemJson(view), muted: view.mute !== null };
      },
    },
    handle: async ({ scope, params: { id }, body }) => {
      const change = { ...inputOf(problemChangeFields, body), id };
      return { status: 200, body: deliveryProblemJson(await services.problems.change(scope, change)) };
    },
  });
}

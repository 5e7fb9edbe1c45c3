import { problemChangeFields, problemFilters } from "../../core/fields/delivery-problem.ts";
import type { ApiOptions } from "../context.ts";
import { deliveryProblemJson } from "../mapping/delivery-problem.ts";
import { filtersOf, inputOf } from "../mapping/fields.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import {
  deliveryProblemSchema,
  problemChangeSchema,
  problemListSchema,
  problemParams,
  problemQuerySchema,
} from "../schemas/delivery-problem.ts";

/** Failures that are told as one. */
export function deliveryProblemRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), getRoute(options), changeRoute(options)];
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/problems",
    operationId: "listProblems",
    tag: "Problems",
    summary: "See what is wrong with webhooks, and what to do about it",
    description:
      "Failures of a webhook with the same category, the same status or error code, and the same first line of the answer are " +
      "one problem. What changed last comes first. At most 50 of a webhook are told apart.",
    access: "read",
    query: problemQuerySchema,
    answers: { 200: { description: "A page of problems.", schema: problemListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(problemFilters, query);
      const listing = { tenantId: scope.tenantId, route: "problems", filters };
      const page = pager.searchRequest(query, listing);
      const found = await services.problems.list(scope, { ...filters, page });
      return { status: 200, body: pager.searchAnswer(found, { listing, toJson: deliveryProblemJson }) };
    },
  });
}

function getRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/problems/{id}",
    operationId: "getProblem",
    tag: "Problems",
    summary: "See one problem",
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
    summary: "Mute a problem, end that, or note something",
    description:
      "A muted problem goes on to be counted, and is resolved like any other. It is shown as `muted` until that ends; what is " +
      "resolved is shown as resolved.",
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

import { deadLetterFilters } from "../../core/fields/filters.ts";
import { retryBatchFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { filtersOf, inputOf } from "../mapping/fields.ts";
import { deliveryJson } from "../mapping/delivery.ts";
import { operationJson, retryBatchStartedJson } from "../mapping/operation.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { closed, idParam, pageProperties } from "../schemas/building-blocks.ts";
import {
  deadLetterQuerySchema,
  operationListSchema,
  operationSchema,
  retryBatchInputSchema,
  retryBatchStartedSchema,
} from "../schemas/dead-letter.ts";
import { deliveryListSchema } from "../schemas/delivery.ts";

export function deadLetterRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    listRoute(options, pager),
    retryBatchRoute(options),
    listOperationsRoute(options, pager),
    ...operationRoutes(options),
  ];
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/dlq",
    operationId: "listDeadLetters",
    tag: "Dead letters",
    summary: "List dead letters, newest first",
    access: "read",
    query: deadLetterQuerySchema,
    answers: { 200: { description: "A page of deliveries that were given up.", schema: deliveryListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const asked = filtersOf(deadLetterFilters, query);
      const filters = { ...asked, tenantId: asked.tenantId ?? scope.tenantId };
      const listing = { tenantId: scope.tenantId, route: "dlq", filters };
      const page = await services.deadLetters.list(scope, {
        ...filters,
        page: pager.request(query, listing),
      });
      return { status: 200, body: pager.answer(page, { listing, toJson: deliveryJson }) };
    },
  });
}

function retryBatchRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/dlq/retry-batch",
    operationId: "retryDeadLetters",
    tag: "Dead letters",
    summary: "Retry many dead letters at a steady rate",
    access: "manage",
    body: retryBatchInputSchema,
    bodyOptional: true,
    answers: {
      202: { description: "The operation that does it, or the count.", schema: retryBatchStartedSchema },
    },
    errors: [],
    handle: async ({ scope, body }) => {
      const started = await services.deadLetters.retryBatch(scope, inputOf(retryBatchFields, body));
      return { status: 202, body: retryBatchStartedJson(started) };
    },
  });
}

const operationParams = closed({ id: idParam("the operation") });

function listOperationsRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/operations",
    operationId: "listOperations",
    tag: "Dead letters",
    summary: "List bulk operations, newest first",
    access: "read",
    query: closed(pageProperties),
    answers: { 200: { description: "A page of operations.", schema: operationListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const listing = { tenantId: scope.tenantId, route: "operations", filters: {} };
      const page = await services.deadLetters.operationList(scope, pager.request(query, listing));
      return { status: 200, body: pager.answer(page, { listing, toJson: operationJson }) };
    },
  });
}

/** The second path is that of WDS-112. */
const operationPaths = [
  { path: "/v1/operations/{id}", name: "Operation" },
  { path: "/v1/dlq/batch-operations/{id}", name: "BatchOperation" },
];

function operationRoutes({ services }: ApiOptions): readonly Route[] {
  return operationPaths.flatMap(({ path, name }) => [
    defineRoute({
      method: "GET",
      path,
      operationId: `get${name}`,
      tag: "Dead letters",
      summary: "See how far a bulk operation is",
      access: "read",
      params: operationParams,
      answers: { 200: { description: "The operation.", schema: operationSchema } },
      errors: ["not_found"],
      handle: async ({ scope, params: { id } }) => ({
        status: 200,
        body: operationJson(await services.deadLetters.operation(scope, id)),
      }),
    }),
    defineRoute({
      method: "DELETE",
      path,
      operationId: `cancel${name}`,
      tag: "Dead letters",
      summary: "Cancel a bulk operation",
      description: "What it has queued so far is delivered.",
      access: "manage",
      params: operationParams,
      answers: { 200: { description: "The cancelled operation.", schema: operationSchema } },
      errors: ["not_found", "conflict"],
      handle: async ({ scope, params: { id } }) => ({
        status: 200,
        body: operationJson(await services.deadLetters.cancel(scope, id)),
      }),
    }),
  ]);
}

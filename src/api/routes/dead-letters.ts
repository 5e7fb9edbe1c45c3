import { retryBatchFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf } from "../mapping/fields.ts";
import { deliveryJson } from "../mapping/delivery.ts";
import { operationJson, retryBatchStartedJson } from "../mapping/operation.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { closed, idParam } from "../schemas/building-blocks.ts";
import {
  deadLetterQuerySchema,
  operationSchema,
  retryBatchInputSchema,
  retryBatchStartedSchema,
} from "../schemas/dead-letter.ts";
import { deliveryListSchema } from "../schemas/delivery.ts";
import { instantOf } from "./filters.ts";

export function deadLetterRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), retryBatchRoute(options), ...operationRoutes(options)];
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
      const filters = {
        tenantId: query.tenant_id ?? scope.tenantId,
        webhookIds: query.webhook_id ?? null,
        eventTypes: query.event_type ?? null,
        categories: query.failure_category ?? null,
        from: instantOf(query.from),
        to: instantOf(query.to),
      };
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

function operationRoutes({ services }: ApiOptions): readonly Route[] {
  const params = closed({ id: idParam("the operation") });
  const path = "/v1/dlq/batch-operations/{id}";
  return [
    defineRoute({
      method: "GET",
      path,
      operationId: "getBatchOperation",
      tag: "Dead letters",
      summary: "See how far a batch operation is",
      access: "read",
      params,
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
      operationId: "cancelBatchOperation",
      tag: "Dead letters",
      summary: "Cancel a batch operation",
      description: "What it has queued so far is delivered.",
      access: "manage",
      params,
      answers: { 200: { description: "The cancelled operation.", schema: operationSchema } },
      errors: ["not_found", "conflict"],
      handle: async ({ scope, params: { id } }) => ({
        status: 200,
        body: operationJson(await services.deadLetters.cancel(scope, id)),
      }),
    }),
  ];
}

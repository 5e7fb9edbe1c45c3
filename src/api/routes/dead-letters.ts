import { deadLetterFilters } from "../../core/fields/filters.ts";
import { retryBatchFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { filtersOf, inputOf } from "../mapping/fields.ts";
import { deliveryJson } from "../mapping/delivery.ts";
import { retryBatchStartedJson } from "../mapping/operation.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import {
  deadLetterQuerySchema,
  retryBatchInputSchema,
  retryBatchStartedSchema,
} from "../schemas/dead-letter.ts";
import { deliveryListSchema } from "../schemas/delivery.ts";

export function deadLetterRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listDeadLettersRoute(options, pager), retryBatchRoute(options)];
}

function listDeadLettersRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/dlq",
    operationId: "listDeadLetters",
    tag: "Dead letters",
    summary: "List dead letters, newest first",
    access: "read",
    query: deadLetterQuerySchema,
    answers: { 200: { description: "A page of dead letters.", schema: deliveryListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const asked = filtersOf(deadLetterFilters, query);
      const filters = { ...asked, tenantId: asked.tenantId ?? scope.tenantId };
      const listing = { tenantId: scope.tenantId, route: "dlq", filters };
      const page = await services.deadLetters.list(scope, {
        ...filters,
        page: pager.request(query, listing),
      });
      return { status: 200, body: pager.answer(page, listing, deliveryJson) };
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
      202: { description: "The operation, or the count for a dry run.", schema: retryBatchStartedSchema },
    },
    errors: [],
    audit: { action: "dead_letters.retry", target: "operation", idFrom: "batch_operation_id" },
    handle: async ({ scope, body }) => {
      const started = await services.deadLetters.retryBatch(scope, inputOf(retryBatchFields, body));
      return { status: 202, body: retryBatchStartedJson(started) };
    },
  });
}

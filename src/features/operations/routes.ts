import type { ApiOptions } from "../../http/context.ts";
import { inputOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  bulkStartedSchema,
  cancelDeliveriesFields,
  cancelDeliveriesSchema,
  discardFields,
  discardSchema,
  operationChangeFields,
  operationChangeSchema,
  operationListSchema,
  operationSchema,
  retryDeliveriesFields,
  retryDeliveriesSchema,
} from "../../resources/operation.ts";
import { closed, idParam, pageProperties } from "../../resources/schema.ts";
import { bulkStartedJson, operationJson } from "./views.ts";

/** Bulk actions on deliveries and their progress. */
export function operationRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    retryRoute(options),
    cancelRoute(options),
    discardRoute(options),
    listRoute(options, pager),
    ...oneRoutes(options),
  ];
}

const previewed =
  "Takes either `ids` (up to 1,000) or `filter`, with the filters of the listing. `dry_run` counts, shows five deliveries, and tells " +
  "which would be skipped and why. Operations run in the background, oldest first, at the rate of `rate_limit`. They continue " +
  "after a restart and process each delivery only once.";
const started = { description: "The operation, or the count for a dry run.", schema: bulkStartedSchema };

function retryRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/deliveries/retry-batch",
    operationId: "retryDeliveries",
    tag: "Operations",
    summary: "Retry many deliveries",
    description: previewed,
    access: "manage",
    body: retryDeliveriesSchema,
    answers: { 202: started },
    errors: ["limit_reached"],
    audit: { action: "deliveries.retry", target: "operation", idFrom: "batch_operation_id" },
    handle: async ({ scope, body }) => {
      const done = await services.deliveries.retryBatch(scope, inputOf(retryDeliveriesFields, body));
      return { status: 202, body: bulkStartedJson(done, scope) };
    },
  });
}

function cancelRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/deliveries/cancel-batch",
    operationId: "cancelDeliveries",
    tag: "Operations",
    summary: "Cancel many waiting deliveries",
    description: `${previewed} Deliveries in flight are skipped.`,
    access: "manage",
    body: cancelDeliveriesSchema,
    answers: { 202: started },
    errors: ["limit_reached"],
    audit: { action: "deliveries.cancel", target: "operation", idFrom: "batch_operation_id" },
    handle: async ({ scope, body }) => {
      const done = await services.deliveries.cancelBatch(scope, inputOf(cancelDeliveriesFields, body));
      return { status: 202, body: bulkStartedJson(done, scope) };
    },
  });
}

function discardRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/dlq/discard-batch",
    operationId: "discardDeadLetters",
    tag: "Operations",
    summary: "Discard many dead letters",
    description: `${previewed} They are no longer dead letters and stay in the history as cancelled.`,
    access: "manage",
    body: discardSchema,
    answers: { 202: started },
    errors: ["limit_reached"],
    audit: { action: "dead_letters.discard", target: "operation", idFrom: "batch_operation_id" },
    handle: async ({ scope, body }) => {
      const done = await services.deadLetters.discardBatch(scope, inputOf(discardFields, body));
      return { status: 202, body: bulkStartedJson(done, scope) };
    },
  });
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/operations",
    operationId: "listOperations",
    tag: "Operations",
    summary: "List bulk operations, newest first",
    access: "read",
    query: closed(pageProperties),
    answers: { 200: { description: "A page of operations.", schema: operationListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const listing = { tenantId: scope.tenantId, route: "operations", filters: {} };
      const page = await services.deadLetters.operationList(scope, pager.request(query, listing));
      return { status: 200, body: pager.answer(page, listing, operationJson) };
    },
  });
}

const operationParams = closed({ id: idParam("the operation") });

/** WDS-112 defines the second path. */
const operationPaths = [
  { path: "/v1/operations/{id}", name: "Operation" },
  { path: "/v1/dlq/batch-operations/{id}", name: "BatchOperation" },
];

function oneRoutes(options: ApiOptions): readonly Route[] {
  return operationPaths.flatMap((place) => [
    getRoute(options, place),
    changeRoute(options, place),
    endRoute(options, place),
  ]);
}

type Place = (typeof operationPaths)[number];

function getRoute({ services }: ApiOptions, { path, name }: Place): Route {
  return defineRoute({
    method: "GET",
    path,
    operationId: `get${name}`,
    tag: "Operations",
    summary: "Get a bulk operation and its progress",
    access: "read",
    capability: "endpoints:recover",
    params: operationParams,
    answers: { 200: { description: "The operation.", schema: operationSchema } },
    errors: ["not_found"],
    handle: async ({ scope, params: { id } }) => ({
      status: 200,
      body: operationJson(await services.deadLetters.operation(scope, id)),
    }),
  });
}

function changeRoute({ services }: ApiOptions, { path, name }: Place): Route {
  return defineRoute({
    method: "PATCH",
    path,
    operationId: `change${name}`,
    tag: "Operations",
    summary: "Change the rate of a bulk operation, pause or resume it",
    description: "The change takes effect within about a second.",
    access: "manage",
    params: operationParams,
    body: operationChangeSchema,
    answers: { 200: { description: "The changed operation.", schema: operationSchema } },
    errors: ["not_found", "conflict"],
    audit: {
      action: "operation.change",
      target: "operation",
      before: (call: OperationCall) => shownBefore(services, call),
    },
    handle: async ({ scope, params: { id }, body }) => {
      const change = { ...inputOf(operationChangeFields, body), id };
      return { status: 200, body: operationJson(await services.deadLetters.change(scope, change)) };
    },
  });
}

function endRoute({ services }: ApiOptions, { path, name }: Place): Route {
  return defineRoute({
    method: "DELETE",
    path,
    operationId: `cancel${name}`,
    tag: "Operations",
    summary: "Cancel a bulk operation",
    description: "Completed work is kept: queued deliveries are still sent.",
    access: "manage",
    capability: "endpoints:recover",
    params: operationParams,
    answers: { 200: { description: "The cancelled operation.", schema: operationSchema } },
    errors: ["not_found", "conflict"],
    audit: {
      action: "operation.cancel",
      target: "operation",
      before: (call: OperationCall) => shownBefore(services, call),
      sets: () => ({ status: "cancelled" }),
    },
    handle: async ({ scope, params: { id } }) => ({
      status: 200,
      body: operationJson(await services.deadLetters.cancel(scope, id)),
    }),
  });
}

type OperationCall = Call<{ readonly id: string }>;

/** Includes the rate if the change sets it. */
async function shownBefore(
  { deadLetters }: ApiOptions["services"],
  { scope, params }: OperationCall,
): Promise<object> {
  const operation = await deadLetters.operation(scope, params.id);
  const rate = { requests_per_second: operation.requestsPerSecond };
  return { tenant_id: operation.tenantId, status: operation.status, rate_limit: rate };
}

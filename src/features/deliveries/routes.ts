import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import { deliveryRetryFields, retryBatchFields } from "../../resources/actions.ts";
import {
  deliveryFilterFields,
  deliveryListFields,
  deliveryListQuerySchema,
  deliveryListSchema,
  deliveryQuerySchema,
  deliverySearchSchema,
  deliveryWithAttemptsSchema,
  renderedRequestSchema,
  retriedDeliverySchema,
  retryInputSchema,
} from "../../resources/delivery.ts";
import {
  deadLetterFilters,
  deadLetterQuerySchema,
  retryBatchInputSchema,
  retryBatchStartedSchema,
} from "../../resources/operation.ts";
import { closed, idParam, Type } from "../../resources/schema.ts";
import { retryBatchStartedJson } from "../operations/views.ts";
import type { ListedDelivery, Scope } from "../services.ts";
import { webhookParams } from "../webhooks/routes.ts";
import { deliveryJson, deliveryWithAttemptsJson, listedDeliveryJson, renderedRequestJson } from "./views.ts";

export function deadLetterRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
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
    }),
    defineRoute({
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
    }),
  ];
}

export function deliveryRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/deliveries",
      operationId: "listDeliveries",
      tag: "Deliveries",
      summary: "Find deliveries of all webhooks",
      description: boundedSearch,
      access: "read",
      capability: "deliveries:read",
      query: deliveryListQuerySchema,
      answers: { 200: { description: "A page of deliveries.", schema: deliverySearchSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ scope, query }) => {
        const filters = inputOf(deliveryListFields, query);
        const listing = { tenantId: scope.tenantId, route: "deliveries", filters };
        const page = pager.searchRequest(query, listing);
        const found = await services.deliveries.list(scope, { ...filters, page });
        return { status: 200, body: pager.searchAnswer(found, listing, rowJson(query, scope)) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/webhooks/{id}/deliveries",
      operationId: "listWebhookDeliveries",
      tag: "Deliveries",
      summary: "Find deliveries of a webhook",
      description: boundedSearch,
      access: "read",
      capability: "deliveries:read",
      params: webhookParams,
      query: deliveryQuerySchema,
      answers: { 200: { description: "A page of deliveries.", schema: deliverySearchSchema } },
      errors: ["not_found", "invalid_cursor"],
      handle: async ({ scope, params, query }) => {
        const filters = { ...inputOf(deliveryFilterFields, query), webhookId: params.id };
        const listing = { tenantId: scope.tenantId, route: "webhook deliveries", filters };
        const page = pager.searchRequest(query, listing);
        const found = await services.deliveries.listOfWebhook(scope, { ...filters, page });
        return { status: 200, body: pager.searchAnswer(found, listing, rowJson(query, scope)) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/deliveries/{id}",
      operationId: "getDelivery",
      tag: "Deliveries",
      summary: "Get a delivery with its attempts",
      access: "read",
      capability: "deliveries:read",
      params: closed({ id: idParam("the delivery") }),
      answers: {
        200: {
          description: "The delivery, with the oldest attempt first.",
          schema: deliveryWithAttemptsSchema,
        },
      },
      errors: ["not_found"],
      handle: async ({ scope, params }) => {
        const { view, attempts } = await services.deliveries.get(scope, params.id);
        return { status: 200, body: deliveryWithAttemptsJson(view, attempts, scope) };
      },
    }),
    attemptRequestRoute(services),
    defineRoute({
      method: "POST",
      path: "/v1/webhooks/{id}/deliveries/{delivery_id}/retry",
      operationId: "retryDelivery",
      tag: "Deliveries",
      summary: "Retry a delivery",
      description:
        "Retries the delivery immediately, regardless of its state, and keeps its earlier attempts. `waiting_for` names what " +
        "delays it, such as an open circuit. A successful delivery is not changed; a copy is sent.",
      access: "manage",
      capability: "deliveries:retry",
      params: closed({ id: idParam("the webhook"), delivery_id: idParam("the delivery") }),
      body: retryInputSchema,
      bodyOptional: true,
      answers: { 202: { description: "The delivery that is sent.", schema: retriedDeliverySchema } },
      errors: ["not_found", "delivery_in_flight", "payload_gone", "conflict"],
      audit: {
        action: "delivery.retry",
        target: "delivery",
        idFrom: "delivery_id",
        sets: ({ params }: Call<{ readonly id: string }>) => ({ webhook_id: params.id }),
      },
      handle: async ({ scope, params, body }) => {
        const retried = await services.deliveries.retry(scope, {
          webhookId: params.id,
          deliveryId: params.delivery_id,
          ...inputOf(deliveryRetryFields, body),
        });
        return { status: 202, body: jsonOf(retriedDeliverySchema, retried) };
      },
    }),
  ];
}

export const boundedSearch =
  "A page ends when it is full or after 250 ms of searching. In the latter case `complete` is false, and `searched_to` " +
  "shows how far the search got. Continue with `next_cursor`.";

/** A row with the optional parts requested by `include`. */
export function rowJson({ include = [] }: { readonly include?: readonly string[] }, scope: Scope) {
  const names = include.flatMap((entry) => entry.split(","));
  return (row: ListedDelivery) => listedDeliveryJson(row, names, scope);
}

function attemptRequestRoute(services: ApiOptions["services"]): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/deliveries/{id}/attempts/{n}/request",
    operationId: "getAttemptRequest",
    tag: "Deliveries",
    summary: "Get the request of an attempt",
    description:
      "Reconstructed from stored data: the body byte for byte, the URL and headers from the webhook's configuration, " +
      "signatures and credentials masked. `exact` and `may_differ` show how faithful it is.",
    access: "read",
    capability: "payloads:read",
    params: closed({
      id: idParam("the delivery"),
      n: Type.String({ pattern: "^[1-9][0-9]{0,4}$", description: "Number of the attempt, from 1." }),
    }),
    answers: { 200: { description: "The request.", schema: renderedRequestSchema } },
    errors: ["not_found", "payload_gone", "conflict"],
    handle: async ({ scope, params }) => {
      const name = { deliveryId: params.id, number: Number(params.n) };
      return {
        status: 200,
        body: renderedRequestJson(name, await services.deliveries.request(scope, name)),
      };
    },
  });
}

import { deliveryRetryFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { deliveryJson, deliveryWithAttemptsJson, handleJson } from "../mapping/delivery.ts";
import { inputOf } from "../mapping/fields.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { closed, idParam } from "../schemas/building-blocks.ts";
import {
  deliveryHandleSchema,
  deliveryListSchema,
  deliveryQuerySchema,
  deliveryWithAttemptsSchema,
  retryInputSchema,
} from "../schemas/delivery.ts";
import { instantOf } from "./filters.ts";
import { webhookParams } from "./webhooks.ts";

export function deliveryRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [listRoute(options, pager), getRoute(options), retryRoute(options)];
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries",
    operationId: "listWebhookDeliveries",
    tag: "Deliveries",
    summary: "List the deliveries of a webhook, newest first",
    access: "read",
    params: webhookParams,
    query: deliveryQuerySchema,
    answers: { 200: { description: "A page of deliveries.", schema: deliveryListSchema } },
    errors: ["not_found", "invalid_cursor"],
    handle: async ({ scope, params, query }) => {
      const filters = {
        webhookId: params.id,
        status: query.status ?? null,
        from: instantOf(query.from),
        to: instantOf(query.to),
      };
      const listing = { tenantId: scope.tenantId, route: "deliveries", filters };
      const page = await services.deliveries.list(scope, { ...filters, page: pager.request(query, listing) });
      return { status: 200, body: pager.answer(page, { listing, toJson: deliveryJson }) };
    },
  });
}

function getRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/deliveries/{id}",
    operationId: "getDelivery",
    tag: "Deliveries",
    summary: "Get a delivery with its attempts",
    access: "read",
    params: closed({ id: idParam("the delivery") }),
    answers: {
      200: { description: "The delivery, oldest attempt first.", schema: deliveryWithAttemptsSchema },
    },
    errors: ["not_found"],
    handle: async ({ scope, params }) => {
      const { view, attempts } = await services.deliveries.get(scope, params.id);
      return { status: 200, body: deliveryWithAttemptsJson(view, attempts) };
    },
  });
}

function retryRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/deliveries/{delivery_id}/retry",
    operationId: "retryDelivery",
    tag: "Deliveries",
    summary: "Try a delivery again now",
    description: "Makes a new delivery of the same event; one that still waits is superseded by it.",
    access: "manage",
    params: closed({ id: idParam("the webhook"), delivery_id: idParam("the delivery") }),
    body: retryInputSchema,
    bodyOptional: true,
    answers: { 202: { description: "The new delivery.", schema: deliveryHandleSchema } },
    errors: ["not_found", "delivery_in_flight", "payload_gone"],
    handle: async ({ scope, params, body }) => {
      const handle = await services.deliveries.retry(scope, {
        webhookId: params.id,
        deliveryId: params.delivery_id,
        ...inputOf(deliveryRetryFields, body),
      });
      return { status: 202, body: handleJson(handle) };
    },
  });
}

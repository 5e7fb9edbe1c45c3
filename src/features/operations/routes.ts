import type { ApiOptions } from "../../http/context.ts";
import { inputOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import type { Fields, InputOf } from "../../resources/field.ts";
import {
  batchOperationResource,
  bulkStartedSchema,
  cancelDeliveriesFields,
  cancelDeliveriesSchema,
  discardFields,
  discardSchema,
  operationChangeFields,
  operationChangeSchema,
  operationResource,
  retryDeliveriesFields,
  retryDeliveriesSchema,
} from "../../resources/operation.ts";
import type { BulkStarted, Scope } from "../services.ts";
import { bulkStartedJson, operationJson } from "./views.ts";

const previewed =
  "Takes either `ids` (up to 1,000) or `filter`, with the filters of the listing. `dry_run` counts the deliveries, shows five of them, and reports " +
  "which would be skipped and why. Operations run in the background, oldest first, at the rate of `rate_limit`. They continue " +
  "after a restart and process each delivery only once.";

/** Bulk actions on deliveries and their progress. */
export function operationRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  const { deliveries, deadLetters } = services;
  const routes = plainOf(services, operationResource);
  return [
    bulkRoute(
      {
        path: "/v1/deliveries/retry-batch",
        operationId: "retryDeliveries",
        summary: "Retry many deliveries",
        description: previewed,
        takes: retryDeliveriesFields,
        body: retryDeliveriesSchema,
        action: "deliveries.retry",
      },
      (scope, input) => deliveries.retryBatch(scope, input),
    ),
    bulkRoute(
      {
        path: "/v1/deliveries/cancel-batch",
        operationId: "cancelDeliveries",
        summary: "Cancel many waiting deliveries",
        description: `${previewed} Deliveries in flight are skipped.`,
        takes: cancelDeliveriesFields,
        body: cancelDeliveriesSchema,
        action: "deliveries.cancel",
      },
      (scope, input) => deliveries.cancelBatch(scope, input),
    ),
    bulkRoute(
      {
        path: "/v1/dlq/discard-batch",
        operationId: "discardDeadLetters",
        summary: "Discard many dead letters",
        description: `${previewed} They are no longer dead letters and stay in the history as cancelled.`,
        takes: discardFields,
        body: discardSchema,
        action: "dead_letters.discard",
      },
      (scope, input) => deadLetters.discardBatch(scope, input),
    ),
    routes.pages(
      { access: "read", summary: "List bulk operations, newest first" },
      {},
      async (scope, _, query, listing) => {
        const page = await deadLetters.operationList(scope, pager.request(query, listing));
        return pager.answer(page, listing, operationJson);
      },
    ),
    ...oneRoutes(services, routes),
    ...oneRoutes(services, plainOf(services, batchOperationResource)),
  ];
}

function plainOf({ deadLetters }: ApiOptions["services"], resource: typeof operationResource) {
  return new PlainRoutes(resource, (scope, id) => deadLetters.operation(scope, id), operationJson);
}

interface BulkRoute<Taken extends Fields>
  extends Pick<Route, "path" | "operationId" | "summary" | "description" | "body"> {
  readonly takes: Taken;
  /** As recorded in the audit log. */
  readonly action: string;
}

function bulkRoute<Taken extends Fields>(
  { takes, action, ...route }: BulkRoute<Taken>,
  start: (scope: Scope, input: InputOf<Taken>) => Promise<BulkStarted>,
): Route {
  return defineRoute({
    ...route,
    method: "POST",
    tag: "Operations",
    access: "manage",
    answers: {
      202: { description: "The operation, or the count for a dry run.", schema: bulkStartedSchema },
    },
    errors: ["limit_reached"],
    audit: { action, target: "operation", idFrom: "batch_operation_id" },
    handle: async ({ scope, body }) => {
      const started = await start(scope, inputOf(takes, body));
      return { status: 202, body: bulkStartedJson(started, scope) };
    },
  });
}

function oneRoutes(
  { deadLetters }: ApiOptions["services"],
  routes: ReturnType<typeof plainOf>,
): readonly Route[] {
  /** Includes the rate if the request sets it. */
  const before = async ({ scope, params }: Call<{ readonly id: string }>) => {
    const operation = await deadLetters.operation(scope, params.id);
    const rate = { requests_per_second: operation.requestsPerSecond };
    return { tenant_id: operation.tenantId, status: operation.status, rate_limit: rate };
  };
  const ending = { place: "", errors: ["not_found", "conflict"] } as const;
  return [
    routes.get({
      access: "read",
      capability: "endpoints:recover",
      summary: "Get a bulk operation and its progress",
    }),
    routes.action(
      "change",
      {
        ...ending,
        method: "PATCH",
        summary: "Pause, resume or change the rate of a bulk operation",
        description: "The change takes effect within about a second.",
        takes: operationChangeFields,
        body: operationChangeSchema,
        answer: "The updated operation.",
        audit: { action: "operation.change", target: "operation", before },
      },
      async (scope, id, input) => operationJson(await deadLetters.change(scope, { ...input, id })),
    ),
    routes.action(
      "cancel",
      {
        ...ending,
        method: "DELETE",
        summary: "Cancel a bulk operation",
        description: "Completed work is kept: queued deliveries are still sent.",
        capability: "endpoints:recover",
        answer: "The cancelled operation.",
        audit: {
          action: "operation.cancel",
          target: "operation",
          before,
          sets: () => ({ status: "cancelled" }),
        },
      },
      async (scope, id) => operationJson(await deadLetters.cancel(scope, id)),
    ),
  ];
}

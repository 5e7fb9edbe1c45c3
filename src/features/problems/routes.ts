import type { ApiOptions } from "../../http/context.ts";
import { jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import type { Call, Route } from "../../http/route.ts";
import {
  deliveryProblemSchema,
  problemChangeFields,
  problemChangeSchema,
  problemFilters,
  problemResource,
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
export function deliveryProblemRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  const { problems } = services;
  const routes = new PlainRoutes(
    problemResource,
    (scope, id) => problems.get(scope, id),
    deliveryProblemJson,
  );
  return [
    routes.pages(
      {
        access: "read",
        summary: "List problems of webhooks and how to fix them",
        description:
          "Failures of a webhook with the same category, the same status or error code, and the same first line of the response are " +
          "one problem. Sorted by last change. A webhook has up to 50 separate problems.",
      },
      problemFilters,
      async (scope, filters, query, listing) => {
        const page = pager.searchRequest(query, listing);
        const found = await problems.list(scope, { ...filters, page });
        return pager.searchAnswer(found, listing, deliveryProblemJson);
      },
    ),
    routes.get({ access: "read" }),
    routes.action(
      "change",
      {
        method: "PATCH",
        place: "",
        summary: "Mute, unmute or annotate a problem",
        description:
          "A muted problem is still counted, and resolves like any other. Its status is `muted` until the mute ends or the " +
          "problem is resolved.",
        takes: problemChangeFields,
        body: problemChangeSchema,
        answer: "The updated problem.",
        audit: {
          action: "problem.change",
          target: "problem",
          before: async ({ scope, params }: Call<{ readonly id: string }>) => {
            const view = await problems.get(scope, params.id);
            return { ...deliveryProblemJson(view), muted: view.mute !== null };
          },
        },
      },
      async (scope, id, input) => deliveryProblemJson(await problems.change(scope, { ...input, id })),
    ),
  ];
}

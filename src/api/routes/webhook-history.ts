import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import type { ApiOptions } from "../context.ts";
import { revisionJson, timelineJson } from "../mapping/webhook-history.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { historyQuerySchema, revisionListSchema, timelineSchema } from "../schemas/webhook-history.ts";
import { webhookParams } from "./webhooks.ts";

const kept = "The latest 100 revisions and 100 other entries of each webhook are kept until it is deleted.";

/** The history and the revisions of a webhook. */
export function webhookHistoryRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/timeline",
      operationId: "listWebhookTimeline",
      summary: "List the history of a webhook, newest first",
      description: `Changes, pauses, enabling and disabling, and circuit changes: who did it, when and why. ${kept}`,
      answer: { description: "A page of history entries.", schema: timelineSchema },
      revisionsOnly: false,
      toJson: timelineJson,
    }),
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/revisions",
      operationId: "listWebhookRevisions",
      summary: "List the revisions of a webhook, newest first",
      description: `One entry for each value of \`revision\`: what changed, and who changed it. ${kept}`,
      answer: { description: "A page of revisions.", schema: revisionListSchema },
      revisionsOnly: true,
      toJson: revisionJson,
    }),
  ];
}

interface HistoryRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly answer: {
    readonly description: string;
    readonly schema: typeof timelineSchema | typeof revisionListSchema;
  };
  readonly revisionsOnly: boolean;
  readonly toJson: (entry: StoredHistoryEntry) => Record<string, unknown>;
}

function historyRoute(
  { services }: ApiOptions,
  pager: Pager,
  { answer, revisionsOnly, toJson, ...route }: HistoryRoute,
): Route {
  return defineRoute({
    ...route,
    method: "GET",
    tag: "Webhooks",
    access: "read",
    capability: "endpoints:read",
    params: webhookParams,
    query: historyQuerySchema,
    answers: { 200: answer },
    errors: ["not_found", "invalid_cursor"],
    handle: async ({ scope, params: { id: webhookId }, query }) => {
      const listing = { tenantId: scope.tenantId, route: route.operationId, filters: { webhookId } };
      const page = pager.request(query, listing);
      const found = await services.webhooks.history(scope, { webhookId, revisionsOnly, page });
      return { status: 200, body: pager.answer(found, listing, toJson) };
    },
  });
}

import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import type { ApiOptions } from "../context.ts";
import { revisionJson, timelineJson } from "../mapping/webhook-history.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { historyQuerySchema, revisionListSchema, timelineSchema } from "../schemas/webhook-history.ts";
import { webhookParams } from "./webhooks.ts";

const kept = "Of each webhook the newest 100 revisions and 100 other entries are kept, until it is deleted.";

/** What happened to a webhook, and what it was configured to be. */
export function webhookHistoryRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/timeline",
      operationId: "listWebhookTimeline",
      summary: "What happened to a webhook, newest first",
      description: `Changes, pauses, switching on and off, and its circuit: who did it, when and why. ${kept}`,
      answer: { description: "A page of what happened.", schema: timelineSchema },
      revisionsOnly: false,
      toJson: timelineJson,
    }),
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/revisions",
      operationId: "listWebhookRevisions",
      summary: "How a webhook was configured, newest first",
      description: `One entry for each number that \`revision\` of the webhook has had: what changed, and who changed it. ${kept}`,
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
      return { status: 200, body: pager.answer(found, { listing, toJson }) };
    },
  });
}
